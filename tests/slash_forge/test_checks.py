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
        ({"head_sha": "topic"}, "No commit found"),
        ({"conclusion": "fine"}, "not a member"),
        ({"status": "done"}, "not a member"),
        ({"status": "completed"}, "conclusion"),
        ({"output": {"title": "T"}}, "summary"),
        ({"output": {"summary": "S"}}, "title"),
        ({"output": {"title": 3, "summary": "S"}}, "not a string"),
        ({"output": {"title": "T", "summary": "x" * 65_536}}, "65535"),
        ({"output": "x"}, "not an object"),
        ({"output": output(3)}, "not an object"),
        ({"output": output(remark(annotation_level="bad"))}, "not a member"),
        ({"output": output(remark(0))}, "start_line"),
        ({"output": output(remark(end_line=0))}, "start_line"),
        ({"output": output(remark(end_line=2, start_column=1))}, "columns"),
        ({"output": output(remark(message=None))}, "message"),
        ({"output": {"title": "T", "summary": "S", "annotations": {}}}, "not an array"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_makes_no_sense_is_refused(
    ask: Callable[..., Answer], sha: str, fields: dict[str, Any], words: str
) -> None:
    answer = ask("POST", "/check-runs", {"name": "review", "head_sha": sha, **fields})
    assert (answer.status, words in answer.json["message"]) == (422, True), answer.json
    assert ask("GET", f"/commits/{sha}/check-runs").json["total_count"] == 0


def test_only_apps_make_check_runs(forge: Forge, wire: WireTo, sha: str, bot_token: str) -> None:
    body = {"name": "review", "head_sha": sha}
    answer = wire(forge.token("ada")).api("POST", f"/repos/{REPO}/check-runs", body)
    assert (answer.status, "GitHub App" in answer.json["message"]) == (403, True)
    answer = wire(bot_token).api("POST", f"/repos/{REPO}/check-runs", body)
    assert answer.json["message"] == "Resource not accessible by integration"


def test_the_latest_of_a_name_counts(forge: Forge, ask: Callable[..., Answer], sha: str) -> None:
    forge.add_check_run(REPO, sha, "build", "failure")
    again = forge.add_check_run(REPO, sha, "build", "success")
    other = forge.add_check_run(REPO, sha, "build", None, app="other[bot]")

    def listed(query: str) -> list[int]:
        answer = ask("GET", f"/commits/topic/check-runs{query}").json
        assert answer["total_count"] == len(answer["check_runs"])
        return [one["id"] for one in answer["check_runs"]]

    assert listed("") == [other, again]
    assert len(listed("?filter=all")) == 3
    assert listed("?check_name=lint") == []


def test_statuses_are_combined(forge: Forge, ask: Callable[..., Answer], sha: str) -> None:
    assert ask("GET", f"/commits/{sha}/status").json["state"] == "pending"
    forge.add_status(REPO, sha, "ci/a", "failure", description="No", target_url="https://ci.example.org/1")
    assert ask("GET", "/commits/topic/status").json["state"] == "failure"
    forge.add_status(REPO, sha, "ci/a", "success", description="Yes")
    combined = ask("GET", f"/commits/{sha}/status").json
    assert (combined["state"], combined["total_count"]) == ("success", 1)
