"""Whole runs whose checks before the change outlast the vendor's cache: what the requests say of it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from bot.session.checks import rounds
from tests.support.fix_script import DESCRIBE, DONE, EDITS, VIEW
from tests.support.model_script import ScriptRequest, Step, Turn
from tests.support.stage import Stage
from tests.support.verb_runs import request_in, run_verb

pytestmark = pytest.mark.bubblewrap

# Anthropic's own server alone takes an hour: it is reached by its name, through a proxy that answers for it.
ANTHROPIC = {
    "ANTHROPIC_BASE_URL": "http://api.anthropic.com",
    "HTTP_PROXY": "{model}",
    "NO_PROXY": "127.0.0.1,localhost",
}


def lives(body: Any) -> set[str]:
    """How long the marks of a request keep what is before them; without a word that is five minutes."""
    blocks = [*body["system"], *(block for message in body["messages"] for block in message["content"])]
    return {block["cache_control"].get("ttl", "5m") for block in blocks if "cache_control" in block}


@pytest.mark.parametrize(("limit", "after"), [(1.0, {"1h"}), (rounds.SLOW_SECONDS, {"5m"})])
def test_marks_are_for_an_hour_from_the_first_edit_on_if_the_checks_were_slow(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, limit: float, after: set[str]
) -> None:
    monkeypatch.setattr(rounds, "SLOW_SECONDS", limit)
    stage.forge.commit(stage.repo, {".github/agent.yml": "checks: ['sleep 1.2']\n"})

    def checked() -> bool:
        journals = stage.folder.glob("run-*/journal.jsonl")
        return any('"type":"check"' in file.read_text() for file in journals)

    steps = [VIEW, VIEW, Turn(EDITS), VIEW, DESCRIBE, DONE]

    def script(request: ScriptRequest) -> Step:
        deadline = time.monotonic() + 60
        while request.number == 1 and not checked():
            assert time.monotonic() < deadline, "the check before the change has no result"
            time.sleep(0.05)
        return steps[request.number]

    ran = run_verb(stage, request_in(stage, "fix"), script, more=ANTHROPIC)
    assert [lives(body) for body in ran.model_requests[:3]] == [{"5m"}] * 3
    assert [lives(body) for body in ran.model_requests[3:5]] == [after] * 2
