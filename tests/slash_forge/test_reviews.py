"""Reviews: all or nothing, on lines that the diff really has, and what becomes of them after a push."""

from collections.abc import Callable
from typing import Any

import pytest

from slash_forge import Forge
from tests.slash_forge.conftest import REPO, Answer, Wire

WireTo = Callable[..., Wire]

BEFORE = "".join(f"line {number}\n" for number in range(1, 41))
# Lines 3 and 30 change: two hunks, 1-6 and 27-33.
AFTER = BEFORE.replace("line 3\n", "line three\n").replace("line 30\n", "line thirty\n")


@pytest.fixture
def number(forge: Forge) -> int:
    forge.commit(REPO, {"a.txt": BEFORE, "still.txt": "x\n", "gone.txt": "one\ntwo\n"})
    forge.commit(REPO, {"a.txt": AFTER, "gone.txt": None, "new.txt": "n\n", "bin": b"\0"}, branch="topic")
    return forge.open_pull(REPO, "ada", "topic")


@pytest.fixture
def ask(forge: Forge, wire: WireTo, number: int, bot_token: str) -> Callable[..., Answer]:
    one = wire(bot_token)
    return lambda method, path="", body=None: one.api(method, f"/repos/{REPO}/pulls/{number}{path}", body)


def comment(**fields: Any) -> dict[str, Any]:
    return {"path": "a.txt", "body": "Why?", **fields}


def post(ask: Callable[..., Answer], *comments: Any, **fields: Any) -> Answer:
    return ask("POST", "/reviews", {"event": "COMMENT", "comments": list(comments), **fields})


@pytest.mark.parametrize(
    ("fields", "hunk_end", "position"),
    [
        ({"line": 3}, "+line three", 4),
        ({"line": 3, "side": "LEFT"}, "-line 3", 3),
        ({"line": 6, "side": "RIGHT"}, " line 6", 7),
        ({"line": 6, "start_line": 2}, " line 6", 7),
        ({"line": 3, "start_line": 3, "start_side": "LEFT"}, "+line three", 4),
        ({"position": 4}, "+line three", 4),
        ({"path": "gone.txt", "line": 2, "side": "LEFT"}, "-two", 2),
        ({"path": "new.txt", "line": 1}, "+n", 1),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_line_of_the_diff_takes_a_comment(
    ask: Callable[..., Answer], fields: dict[str, Any], hunk_end: str, position: int
):
    assert post(ask, comment(**fields)).status == 200
    (result,) = ask("GET", "/comments").json
    assert result["diff_hunk"].startswith("@@ -")
    assert result["diff_hunk"].endswith(hunk_end)
    assert (result["position"], result["original_position"]) == (position, position)
    assert result["line"] == result["original_line"] == fields.get("line", 3)
    assert result["start_line"] == fields.get("start_line")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"line": 7}, "Line could not be resolved"),
        ({"line": 2, "side": "LEFT"}, "Line could not be resolved"),
        ({"line": 0}, "Line could not be resolved"),
        ({"path": "still.txt", "line": 1}, "Path could not be resolved"),
        ({"path": "bin", "line": 1}, "Line could not be resolved"),
        ({"path": "gone.txt", "line": 1}, "Line could not be resolved"),
        ({"line": 30, "start_line": 3}, "same hunk"),
        ({"line": 3, "start_line": 6}, "must precede"),
        ({"line": 3, "side": "LEFT", "start_line": 3, "start_side": "RIGHT"}, "must precede"),
        ({"line": 30, "start_line": 12}, "Start line could not be resolved"),
        ({"line": 3, "body": "  "}, "blank"),
        ({"line": 3, "body": "x" * 65_537}, "65536"),
        ({"line": "3"}, "not an integer"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_any_other_place_refuses_the_whole_review(
    ask: Callable[..., Answer], fields: dict[str, Any], words: str
):
    answer = post(ask, comment(line=3), comment(**fields))
    assert (answer.status, words in str(answer.json)) == (422, True), answer.json
    assert ask("GET", "/comments").json == ask("GET", "/reviews").json == []


def test_a_review_names_a_commit_of_the_pull_request(forge: Forge, ask: Callable[..., Answer]):
    old = forge.branch_sha(REPO, "topic")
    forge.commit(REPO, {"a.txt": "top\n" + AFTER}, branch="topic")
    review = post(ask, comment(line=3), commit_id=old).json
    assert review["commit_id"] == old
    (result,) = ask("GET", "/comments").json
    assert (result["original_line"], result["line"], result["original_commit_id"]) == (3, 4, old)
    for wrong in (forge.branch_sha(REPO), "0" * 40, "topic"):
        answer = post(ask, comment(line=3), commit_id=wrong)
        assert (answer.status, "commit_id" in str(answer.json)) == (422, True)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("top\n" + AFTER, 4),
        (AFTER.replace("line 2\n", ""), 2),
        (AFTER.replace("line three", "line 3!"), None),
        (AFTER.replace("line thirty", "line 30!"), 3),
        (BEFORE.replace("line 30\n", "x\n"), None),
    ],
    ids=["moved down", "moved up", "changed", "another hunk", "undone"],
)
def test_a_thread_moves_with_its_line_or_is_outdated(
    forge: Forge, ask: Callable[..., Answer], number: int, text: str, line: int | None
):
    forge.review_comment(REPO, number, "ada", "a.txt", 3, body="Why?")
    old = forge.branch_sha(REPO, "topic")
    new = forge.commit(REPO, {"a.txt": text}, branch="topic")
    (result,) = ask("GET", "/comments").json
    assert (result["line"], result["original_line"]) == (line, 3)
    assert (result["position"] is None) == (line is None)
    assert (result["commit_id"], result["original_commit_id"]) == (old if line is None else new, old)
    assert result["diff_hunk"].endswith("+line three")
