"""`todo`: the whole list each time, at most one item in progress, recalled when it was forgotten (S-125, S-162)."""

from __future__ import annotations

from typing import Any

import pytest

from bot.agent.todo import MAX_ITEMS, MAX_TEXT, REMINDER_ROUNDS, Todo
from bot.agent.toolbox import CallExecution
from bot.contracts.messages import ToolCall
from tests.support.sessions import execute

LOOK = (ToolCall("b", "view", "{}"),)


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
    assert [len(one.text) for one in todo.items] == [MAX_TEXT]


def test_half_a_character_does_not_reach_the_conversation() -> None:
    todo = Todo()
    assert give(todo, item("a\ud800b")).result.content.startswith("1. [ ] a\ufffdb")


def test_a_list_forgotten_for_ten_rounds_is_recalled_and_again_after_ten() -> None:
    todo = Todo()
    give(todo, item("Mend it", "in_progress"))
    quiet = [todo.reminder(LOOK) for _ in range(REMINDER_ROUNDS - 1)]
    assert quiet == [""] * (REMINDER_ROUNDS - 1)
    assert "1. [>] Mend it" in todo.reminder(LOOK)
    assert todo.reminder(LOOK) == ""


def test_an_update_and_an_answer_without_calls_do_not_count_as_quiet() -> None:
    todo = Todo()
    give(todo, item("Mend it"))
    for _ in range(REMINDER_ROUNDS - 1):
        todo.reminder(LOOK)
    assert todo.reminder(()) == ""
    assert todo.reminder((*LOOK, ToolCall("t", "todo", "{}"))) == ""
    assert todo.reminder(LOOK) == ""


@pytest.mark.parametrize("items", [(), (item("Done", "completed"),)])
def test_nothing_is_recalled_where_nothing_is_open(items: tuple[dict[str, str], ...]) -> None:
    todo = Todo()
    give(todo, *items)
    assert [todo.reminder(LOOK) for _ in range(3 * REMINDER_ROUNDS)] == [""] * 3 * REMINDER_ROUNDS
