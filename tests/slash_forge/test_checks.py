"""Check runs, suites and commit statuses."""

from collections.abc import Callable
from typing import Any

import pytest

from slash_forge import Forge
from tests.slash_forge.conftest import REPO, Answer, Wire

WireTo = Callable[..., Wire]


@pytest.fixture
def sha(forge: Forge) -> str:
    return forge.commit(REPO, {"x": "y"}, branch="topic")


@pytest.fixture
def ask(forge: Forge, wire: WireTo) -> Callable[..., Answer]:
    one = wire(forge.token(permissions={"checks": "write", "statuses": "write"}, repo=REPO))
    return lambda method, path, body=None: one.api(method, f"/repos/{REPO}{path}", body)


def test_a_check_run_is_read_as_it_was_created(ask: Callable[..., Answer], sha: str) -> None:
    output = {"title": "T", "summary": "S"}
    body = {"name": "review", "head_sha": sha, "conclusion": "neutral", "output": output}
    created = ask("POST", "/check-runs", body)
    assert (created.status, created.json["status"]) == (201, "completed")
    found = ask("GET", f"/check-runs/{created.json['id']}").json
    assert (found["conclusion"], found["output"]["title"]) == ("neutral", "T")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"head_sha": "0" * 40}, "No commit found"),
        ({"conclusion": "fine"}, "not a member"),
        ({"status": "completed"}, "conclusion"),
        ({"output": {"title": "T"}}, "summary"),
        ({"output": {"title": "T", "summary": "x" * 65_536}}, "65535"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_makes_no_sense_is_refused(
    ask: Callable[..., Answer], sha: str, fields: dict[str, Any], words: str
) -> None:
    answer = ask("POST", "/check-runs", {"name": "review", "head_sha": sha, **fields})
    assert (answer.status, words in answer.json["message"]) == (422, True), answer.json
    assert ask("GET", f"/commits/{sha}/check-runs").json["total_count"] == 0
