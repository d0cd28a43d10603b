"""The model of a vendor's prefix cache: each of its rules, on requests of a few blocks."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from benchmarks.prefix_cache import LIFETIME, LOOK_BACK, PrefixCache, TooManyMarksError

_LONG = "word " * 400
_MINIMUM = 100


def _body(*texts: str, marks: Collection[int] = (-1,), system: str = "system", **more: Any) -> dict[str, Any]:
    """Each text is a message of one block; `marks` are their places, `"system"` is marked with -100."""
    wanted = {mark % len(texts) for mark in marks if mark != -100}
    messages = []
    for place, text in enumerate(texts):
        block: dict[str, Any] = {"type": "text", "text": text}
        if place in wanted:
            block["cache_control"] = {"type": "ephemeral"}
        messages.append({"role": "assistant" if place % 2 else "user", "content": [block]})
    first: dict[str, Any] = {"type": "text", "text": system}
    if -100 in marks:
        first["cache_control"] = {"type": "ephemeral"}
    return {"model": "m", "tools": [{"name": "t"}], "system": [first], "messages": messages, **more}


def _share(
    second: dict[str, Any], *, first: dict[str, Any], arrived: float = 10.0, began: float = 1.0
) -> float:
    """How much of `second` is served after `first`, which was sent at 0."""
    cache = PrefixCache(_MINIMUM)
    cache.serve(first, 0.0, began)
    served = cache.serve(second, arrived, arrived + 1)
    return served.read / served.tokens


def test_what_was_marked_is_served_to_a_request_that_goes_on_from_it() -> None:
    assert _share(_body(_LONG, "call", "result"), first=_body(_LONG)) > 0.9


def test_without_a_mark_nothing_is_kept_and_nothing_looked_up() -> None:
    unmarked = _body(_LONG, marks=())
    assert _share(_body(_LONG, "call", "result"), first=unmarked) == 0
    assert _share(_body(_LONG, "call", "result", marks=()), first=_body(_LONG)) == 0


@pytest.mark.parametrize(
    "second",
    [
        _body("WORD " * 400, "call", "result"),
        _body(_LONG, "call", "result", system="another system"),
        {**_body(_LONG, "call", "result"), "tools": [{"name": "another"}]},
        {**_body(_LONG, "call", "result"), "model": "another"},
    ],
)
def test_a_byte_that_changed_before_the_mark_loses_it(second: dict[str, Any]) -> None:
    assert _share(second, first=_body(_LONG)) == 0


def test_the_choice_of_tools_belongs_to_the_messages_and_not_to_what_comes_before() -> None:
    first = _body(_LONG, system=_LONG, marks=(-100, -1))
    same = _body(_LONG, "call", "result", system=_LONG, marks=(-100, -1))
    other = {**same, "tool_choice": {"type": "none"}}
    assert _share(same, first=first) > 0.9
    assert 0.4 < _share(other, first=first) < 0.6


def test_a_lookup_goes_back_twenty_blocks_and_no_further() -> None:
    def after(blocks: int) -> float:
        return _share(_body(_LONG, *map(str, range(blocks))), first=_body(_LONG))

    assert after(LOOK_BACK - 1) > 0.5
    assert after(LOOK_BACK) == 0


def test_a_second_mark_bridges_a_turn_of_many_blocks() -> None:
    many = _body(_LONG, *map(str, range(40)), marks=(0, -1))
    assert _share(many, first=_body(_LONG)) > 0.5


def test_a_short_prefix_is_not_kept() -> None:
    assert _share(_body("short", "call", "result"), first=_body("short")) == 0


def test_more_than_four_marks_are_refused() -> None:
    texts = ("a", "b", "c", "d", "e")
    PrefixCache(_MINIMUM).serve(_body(*texts, marks=range(4)), 0, 1)
    with pytest.raises(TooManyMarksError, match="5 marks"):
        PrefixCache(_MINIMUM).serve(_body(*texts, marks=range(5)), 0, 1)


def test_an_entry_is_there_once_the_response_has_begun() -> None:
    second = _body(_LONG, "call", "result")
    assert _share(second, first=_body(_LONG), arrived=4.0, began=5.0) == 0
    assert _share(second, first=_body(_LONG), arrived=5.0, began=5.0) > 0.9


def test_an_entry_lives_five_minutes_after_its_last_use() -> None:
    first, again = _body(_LONG), _body(_LONG, "call", "result")
    assert _share(again, first=first, arrived=LIFETIME + 1) > 0.9
    assert _share(again, first=first, arrived=LIFETIME + 2) == 0

    cache = PrefixCache(_MINIMUM)
    cache.serve(first, 0.0, 1.0)
    cache.serve(first, 200.0, 201.0)
    assert cache.serve(again, 450.0, 451.0).read > 0
    assert cache.serve(again, 2000.0, 2001.0).read == 0


def test_marks_themselves_are_no_part_of_what_is_kept() -> None:
    assert _share(_body(_LONG, "call", "result", marks=(-1,)), first=_body(_LONG, marks=(0,))) > 0.9
