"""Seeded variation: the same call of the same session in the same words, errors and figures never in others."""

from __future__ import annotations

import pytest

from bot.agent.todo import MAX_ITEMS, Todo, rendered
from bot.agent.variation import Variation
from bot.contracts.cancel import CancelToken

PHRASINGS = ("", "one", "two")


def test_the_choice_hangs_on_session_and_call_alone_and_uses_all() -> None:
    chosen = [Variation("s1").pick(PHRASINGS, number) for number in range(40)]
    assert chosen == [Variation("s1").pick(PHRASINGS, number) for number in range(40)]
    assert set(chosen) == set(PHRASINGS)
    assert chosen != [Variation("s2").pick(PHRASINGS, number) for number in range(40)]
    # The figure itself is fixed: a journal of another day, machine or hash seed is worded the same.
    assert [Variation("s1").pick(PHRASINGS, number) for number in range(1, 5)] == ["one", "one", "", "two"]


def test_without_a_session_nothing_varies() -> None:
    assert {Variation().pick(PHRASINGS, number) for number in range(40)} == {""}


@pytest.mark.parametrize("session", ["", "s1"])
def test_a_list_ends_as_it_always_does_whatever_its_head_says(session: str) -> None:
    todo, heads = Todo(Variation(session)), set()
    for _ in range(20):
        items = [{"text": "Read 3 of a/b.py", "status": "completed"}, {"text": "Mend", "status": "pending"}]
        said = todo({"items": items}, CancelToken()).content
        assert said.endswith(rendered(todo.items))
        assert said.endswith("1. [x] Read 3 of a/b.py\n2. [ ] Mend\n(1 of 2 done)")
        heads.add(said.removesuffix(rendered(todo.items)))
    assert (len(heads) > 1) is bool(session)


def test_an_error_is_always_in_the_same_words() -> None:
    todo = Todo(Variation("s1"))
    two = [{"text": text, "status": "in_progress"} for text in "ab"]
    assert len(two) < MAX_ITEMS
    assert len({todo({"items": two}, CancelToken()).content for _ in range(20)}) == 1


def test_a_list_that_is_empty_has_no_head() -> None:
    todo = Todo(Variation("s1"))
    assert {todo({"items": []}, CancelToken()).content for _ in range(20)} == {"The list is empty."}
