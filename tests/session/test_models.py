"""Models through a whole run: all three wire formats, and what a policy knows better of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.session.conftest import Cli
from tests.support.fix_script import fix_steps
from tests.support.model_server import ModelServer
from tests.support.repositories import commit_all

pytestmark = pytest.mark.bubblewrap


@pytest.mark.slow
def test_a_fix_goes_through_the_responses_api(cli: Cli, repo: Path) -> None:
    with ModelServer(fix_steps()) as server:
        model = "openai-responses/gpt-6.2-sol"
        ran = cli("fix", "--repo", repo, "--model", model, "--json", "fix the rounding", model=server)
        sent = [request.json for request in server.requests if request.path == "/v1/responses"]
    assert ran.code == 0, ran.err
    assert ran.json["branch"] == "agent/round-durations-before-splitting-them"
    assert len({request["prompt_cache_key"] for request in sent}) == 1, "one session, one key"
    assert all(request["store"] is False for request in sent)
    assert ran.json["outcome"]["notes"] == []


@pytest.mark.slow
def test_a_model_nobody_listed_is_said_to_be_a_guess_unless_the_policy_knows_it(cli: Cli, repo: Path) -> None:
    model = "anthropic/model-of-next-year"
    with ModelServer(fix_steps()) as server:
        ran = cli("fix", "--repo", repo, "--model", model, "--json", "fix it", model=server)
    (note,) = [note for note in ran.json["outcome"]["notes"] if "model-of-next-year" in note]
    assert "took its context window for 128,000 tokens" in note
    policy = repo / ".github" / "agent.yml"
    policy.parent.mkdir(exist_ok=True)
    price = "{ input: 1, output: 2 }"
    policy.write_text(f"models:\n  {model}: {{ window: 90000, max_output: 7000, price: {price} }}\n")
    commit_all(repo, "Say what the model is")
    with ModelServer(fix_steps()) as server:
        ran = cli("fix", "--repo", repo, "--model", model, "--json", "fix it", model=server)
        assert server.requests[0].json["max_tokens"] == 7_000
    assert not [note for note in ran.json["outcome"]["notes"] if "model-of-next-year" in note]
