"""When a write fits its thread: by the conditions of the task, and each reason why not."""

from dataclasses import replace

import pytest

from bot.contracts.request import ThreadState
from bot.contracts.writes import Write
from bot.maintenance.task import Task, TaskWrites, ThreadFilter
from bot.maintenance.thread_fit import mismatch

THREADS = ThreadFilter(without=("pinned",), idle_days=60)
TASK = Task("keeper", "Look.", threads=THREADS, writes=TaskWrites(labels=("stale",)))
NOW = "2026-06-30T12:00:00Z"
QUIET = ThreadState(7, False, "open", False, ("bug",), "2026-03-01T00:00:00Z")
TOLD = QUIET._replace(told_at="2026-06-10T00:00:00Z", labels=("stale",))
ANSWERED = TOLD._replace(quiet_since="2026-06-11T00:00:00Z")


@pytest.mark.parametrize(
    ("write", "seen", "why"),
    [
        (Write("comment", 7, "a"), QUIET, ""),
        (Write("add_label", 7, label="stale"), QUIET, ""),
        (Write("add_label", 7, label="stale"), TOLD, "taken off by somebody"),
        (Write("add_label", 7, label="stale"), TOLD._replace(told_at="2026-06-30T00:00:00Z"), ""),
        (Write("close", 7), TOLD._replace(labels=("bug",)), "does not carry a label of this task's"),
        (Write("comment", 7, "a"), QUIET._replace(locked=True), "locked"),
        (Write("remove_label", 7, label="stale"), QUIET._replace(locked=True), "locked"),
        (Write("comment", 7, "a"), QUIET._replace(state="closed"), "closed now"),
        (Write("comment", 7, "a"), QUIET._replace(labels=("Pinned",)), "has the label `pinned`"),
        (
            Write("comment", 7, "a"),
            QUIET._replace(is_pull_request=True),
            "a pull request, and the task is about issues",
        ),
        (Write("comment", 7, "a"), QUIET._replace(quiet_since="2026-06-01T00:00:00Z"), "within 60 days"),
        (Write("comment", 7, "a"), TOLD, "a comment of this task's already"),
        (Write("close", 7), QUIET, "it has not yet"),
        (Write("close", 7), TOLD, ""),
        (Write("close", 7), TOLD._replace(told_at="2026-06-20T00:00:00Z"), "that was on 2026-06-20"),
        (Write("close", 7), ANSWERED, "within 60 days"),
        (Write("remove_label", 7, label="stale"), ANSWERED, ""),
        (Write("comment", 7, "a"), ANSWERED, "within 60 days"),
    ],
)
def test_a_thread_must_stand_as_the_task_says(write: Write, seen: ThreadState, why: str):
    said = mismatch(write, seen, TASK, at=NOW)
    assert why in said
    assert bool(why) == bool(said)


def test_an_answer_is_an_answer_even_where_no_idle_time_is_asked_for():
    task = replace(TASK, threads=replace(THREADS, idle_days=0))
    assert "since this task commented" in mismatch(Write("close", 7), ANSWERED, task, at=NOW)
    assert mismatch(Write("comment", 7, "a"), ANSWERED, task, at=NOW) == ""
    assert (
        mismatch(Write("close", 7), QUIET, replace(task, writes=TaskWrites(close_after_days=0)), at=NOW) == ""
    )


def test_what_happened_after_the_run_looked_was_not_thought_of():
    since = "2026-02-01T00:00:00Z"
    assert "since the run looked" in mismatch(
        Write("add_label", 7, label="stale"), QUIET, TASK, at=NOW, since=since
    )
    assert mismatch(Write("remove_label", 7, label="stale"), QUIET, TASK, at=NOW, since=since) == ""
    assert mismatch(Write("comment", 7, "a"), QUIET, None, at=NOW, since="2026-03-01T00:00:00Z") == ""
