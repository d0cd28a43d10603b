"""`todo`: the whole list each time, at most one item in progress (S-125, S-162)."""

from typing import Any

import pytest

from bot.agent.submission_tools import MAX_ITEM_TEXT, MAX_ITEMS, Todo
from bot.agent.toolbox import CallExecution
from tests.support.sessions import execute


def give(todo: Todo, *items: dict[str, str]) -> CallExecution:
    return execute(todo, items=list(items))


def item(text: str, status: str = "pending") -> dict[str, str]:
    return {"text": text, "status": status}


def test_the_list_comes_back_whole_and_the_last_one_counts() -> None:
    todo = Todo()
    give(todo, item("Old"))
    result = give(
        todo, item(" Read\nit ", "completed"), item("Mend it", "in_progress"), item("Test it")
    ).result
    assert result.content == "1. [x] Read it\n2. [>] Mend it\n3. [ ] Test it\n(1 of 3 done)"
    assert [one.text for one in todo.open] == ["Mend it", "Test it"]


def test_an_empty_list_is_a_list() -> None:
    todo = Todo()
    give(todo, item("Old"))
    assert give(todo).result.content == "The list is empty."
    assert todo.open == ()


WRONG: dict[str, tuple[list[Any], str]] = {
    "two in progress": ([item("a", "in_progress"), item("b"), item("c", "in_progress")], "items 1 and 3"),
    "an unknown status": ([item("a", "done")], "items[0].status"),
    "no text": ([{"status": "pending"}], "items[0].text"),
    "a blank text": ([item("ok"), item(" \n")], "item 2 has no text"),
    "too many": ([item(str(n)) for n in range(MAX_ITEMS + 1)], f"{MAX_ITEMS} are the most"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_list_is_refused_and_the_one_before_stands(name: str) -> None:
    items, said = WRONG[name]
    todo = Todo()
    give(todo, item("Old"))
    result = give(todo, *items).result
    assert result.is_error
    assert said in result.content
    assert [one.text for one in todo.items] == ["Old"]


def test_a_long_text_is_cut() -> None:
    todo = Todo()
    give(todo, item("x" * 300))
    assert [len(one.text) for one in todo.items] == [MAX_ITEM_TEXT]


def test_half_a_character_does_not_reach_the_conversation() -> None:
    todo = Todo()
    assert give(todo, item("a\ud800b")).result.content.startswith("1. [ ] a\ufffdb")
