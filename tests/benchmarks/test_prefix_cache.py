"""The model of a vendor's prefix cache: each of its rules, on requests of a few blocks."""

from collections.abc import Collection
from typing import Any

import pytest

from benchmarks.prefix_cache import LIFETIME, LOOK_BACK, PrefixCache

_LONG = "word " * 400
_MINIMUM = 100


def _body(*texts: str, marks: Collection[int] = (-1,), system: str = "system") -> dict[str, Any]:
    """Each text is a message of one block; `marks` are the places of those with a mark."""
    wanted = {mark % len(texts) for mark in marks}
    messages = []
    for place, text in enumerate(texts):
        block: dict[str, Any] = {"type": "text", "text": text}
        if place in wanted:
            block["cache_control"] = {"type": "ephemeral"}
        messages.append({"role": "assistant" if place % 2 else "user", "content": [block]})
    first = {"type": "text", "text": system}
    return {"model": "m", "tools": [{"name": "t"}], "system": [first], "messages": messages}


def _share(second: dict[str, Any], *, first: dict[str, Any], arrived: float = 10.0) -> float:
    """How much of `second` is served after `first`, which was sent at 0."""
    cache = PrefixCache(_MINIMUM)
    cache.serve(first, 0.0, 1.0)
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


def test_a_lookup_goes_back_twenty_blocks_and_no_further() -> None:
    def after(blocks: int) -> float:
        return _share(_body(_LONG, *map(str, range(blocks))), first=_body(_LONG))

    assert after(LOOK_BACK - 1) > 0.5
    assert after(LOOK_BACK) == 0


def test_an_entry_lives_five_minutes_after_its_last_use() -> None:
    first, again = _body(_LONG), _body(_LONG, "call", "result")
    assert _share(again, first=first, arrived=LIFETIME + 1) > 0.9
    assert _share(again, first=first, arrived=LIFETIME + 2) == 0

    cache = PrefixCache(_MINIMUM)
    cache.serve(first, 0.0, 1.0)
    cache.serve(first, 200.0, 201.0)
    assert cache.serve(again, 450.0, 451.0).read > 0
    assert cache.serve(again, 2000.0, 2001.0).read == 0
