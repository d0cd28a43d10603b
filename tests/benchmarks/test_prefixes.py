"""Whether a request extends the one before it: found broken where it is, and nowhere else."""

import json
from typing import Any

from benchmarks.prefixes import described, prefixes

_MARK = {"cache_control": {"type": "ephemeral"}}


def _body(*texts: str, marked: int = -1, choice: str = "") -> bytes:
    rows: list[dict[str, Any]] = []
    for place, text in enumerate(texts):
        block = {"type": "text", "text": text, **(_MARK if place == marked % len(texts) else {})}
        rows.append({"role": "assistant" if place % 2 else "user", "content": [block]})
    body: dict[str, Any] = {"model": "m", "tools": [{"name": "one"}], "messages": rows}
    if choice:
        body["tool_choice"] = {"type": choice}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def test_a_conversation_that_only_grows_extends_itself_whatever_its_marks_and_parameters() -> None:
    first = _body("task", marked=0)
    second = _body("task", "call", "result", choice="none")
    third = _body("task", "call", "result", "call", "ü")
    found = prefixes([first, second, third], ())
    assert (found.conversations, found.followers, found.extending, found.broken) == (1, 2, 2, ())


def test_a_message_that_was_changed_is_found_with_its_place() -> None:
    bodies = [_body("task", "call", "result"), _body("task", "call", "RESULT", "call", "result")]
    found = prefixes(bodies, ())
    assert [one.number for one in found.violations] == [1]
    assert "RESULT" in next(described(bodies, found.violations))


def test_only_the_first_request_after_a_summary_is_excused() -> None:
    start, summary = _body("task", "call", "result"), _body("sum up")
    short, grown = _body("task", "so far"), _body("task", "so far", "result")
    wrong = _body("task", "SO FAR", "result")
    assert prefixes([start, summary, short, grown], {1}).violations == ()
    found = prefixes([start, summary, short, wrong], {1})
    assert [one.number for one in found.violations] == [3]
    assert [one.number for one in prefixes([start, summary, short], {1}).broken] == [2]


def test_conversations_are_told_apart_by_what_they_begin_with() -> None:
    bodies = [_body("task"), _body("part"), _body("task", "call", "result"), _body("part", "call", "result")]
    found = prefixes(bodies, ())
    assert (found.conversations, found.extending) == (2, 2)
