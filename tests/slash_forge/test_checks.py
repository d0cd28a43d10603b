"""Check runs with their annotations, suites and commit statuses."""

from __future__ import annotations

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


def remark(line: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "path": "x", "start_line": line, "end_line": line, "annotation_level": "warning", "message": "m", **fields
    }  # fmt: skip


def output(*annotations: object, **fields: Any) -> dict[str, Any]:
    return {"title": "T", "summary": "S", "annotations": list(annotations), **fields}


def test_a_check_run_grows_by_fifty_annotations_a_request(ask: Callable[..., Answer], sha: str) -> None:
    first = [remark(line) for line in range(1, 51)]
    body = {"name": "review", "head_sha": sha, "conclusion": "neutral", "output": output(*first)}
    created = ask("POST", "/check-runs", body)
    assert (created.status, created.json["status"], created.json["conclusion"]) == (
        201,
        "completed",
        "neutral",
    )
    path = f"/check-runs/{created.json['id']}"
    more = ask("PATCH", path, {"output": output(remark(51))})
    assert more.json["output"]["annotations_count"] == 51
    listed = ask("GET", f"{path}/annotations?per_page=50&page=2").json
    assert [one["start_line"] for one in listed] == [51]
    refused = ask("PATCH", path, {"output": output(*[remark()] * 51)})
    assert (refused.status, "No more than 50" in refused.json["message"]) == (422, True)
    assert ask("GET", path).json["output"]["annotations_count"] == 51


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"head_sha": "0" * 40}, "No commit found"),
        ({"conclusion": "fine"}, "not a member"),
        ({"status": "completed"}, "conclusion"),
        ({"output": {"title": "T"}}, "summary"),
        ({"output": {"title": "T", "summary": "x" * 65_536}}, "65535"),
        ({"output": output(remark(0))}, "start_line"),
        ({"output": output(remark(end_line=2, start_column=1))}, "columns"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_makes_no_sense_is_refused(
    ask: Callable[..., Answer], sha: str, fields: dict[str, Any], words: str
) -> None:
    answer = ask("POST", "/check-runs", {"name": "review", "head_sha": sha, **fields})
    assert (answer.status, words in answer.json["message"]) == (422, True), answer.json
    assert ask("GET", f"/commits/{sha}/check-runs").json["total_count"] == 0
