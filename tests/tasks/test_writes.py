"""`threads` and `writes` of a task's file."""

from __future__ import annotations

import pytest

from bot.contracts.writes import WriteCaps
from bot.policy.errors import PolicyError
from bot.tasks.file import read_task
from bot.tasks.task import Task, TaskWrites, ThreadFilter


def read(*lines: str) -> Task:
    return read_task("\n".join(["---", *lines, "---", "Look after the issues."]), "stale.md")


def test_both_keys() -> None:
    task = read(
        "threads: { state: open, kind: all, labels: [bug], without: [pinned], idle_days: 60, limit: 50 }",
        "writes: { comment: 20, label: 40, close: 5, close_pulls: 1, edit: 1, labels: [stale], close_after_days: 7 }",
    )
    assert task.threads == ThreadFilter("open", "all", ("bug",), ("pinned",), 60, 50)
    assert task.writes == TaskWrites(WriteCaps(20, 0, 40, 5, 1, 1), ("stale",), 7)
    assert not task.opens_pulls


def test_what_is_not_said_is_not_allowed() -> None:
    task = read("threads: {}", "writes: { comment: 3 }")
    assert task.threads == ThreadFilter()
    assert task.writes == TaskWrites(WriteCaps(comment=3))
    assert read_task("Tidy up.", "tidy.md").opens_pulls


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["writes: { comment: 1 }"], "says which `threads`"),
        (["threads: {}"], "says what it `writes`"),
        (["threads: {}", "writes: { reply: 1 }"], "unknown key `reply`"),
        (["threads: {}", "writes: { comment: 51 }"], "from 0 to 50"),
        (["threads: {}", "writes: { label: 1, labels: ['agent:fix'] }"], "starts this bot"),
        (["threads: {}", "writes: { label: 1 }"], "give both or neither"),
        (["threads: {}", "writes: { comment: 1, labels: [stale] }"], "give both or neither"),
        (["threads: {}", "writes: { close: 1 }"], "days after this task commented"),
        (["threads: {}", "writes: { comment: 1 }", "paths: [docs]"], "`paths` means nothing"),
        (["threads: {}", "writes: { comment: 1 }", "labels: [docs]"], "`labels` means nothing"),
        (["threads: { limit: 101 }", "writes: { comment: 1 }"], "from 1 to 100"),
        (["threads: { state: all }", "writes: { comment: 1 }"], "`all` is not one of open, closed"),
    ],
)
def test_a_mistake_is_named_with_its_place(lines: list[str], why: str) -> None:
    with pytest.raises(PolicyError, match=r"stale.md:\d+:\d+: ") as caught:
        read(*lines)
    assert why in str(caught.value)


def test_closing_without_a_word_before_has_to_be_asked_for() -> None:
    task = read("threads: {}", "writes: { close: 1, close_after_days: 0 }")
    assert task.writes == TaskWrites(WriteCaps(close=1), (), 0)
