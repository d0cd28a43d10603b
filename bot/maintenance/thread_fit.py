"""Whether a write fits the current state of its thread, by the conditions of the task.

Checked twice: when the model proposes a write, and when it is published. A run without a task has no conditions.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import chain

from bot.contracts.request import ThreadState
from bot.contracts.writes import Write
from bot.maintenance.task import Task, TaskWrites, ThreadFilter


def mismatch(write: Write, seen: ThreadState, task: Task | None, *, at: str, since: str = "") -> str:
    """Return why `write` does not fit the current state of the thread, as a clause; empty if it does.

    `at` is now, `since` the time at which the run read the thread.
    """
    if seen.locked:
        return "it is locked"
    threads, writes = (task.threads, task.writes) if task else (None, None)
    if threads is not None and (why := _unlike(seen, threads)):
        return why
    if write.kind == "remove_label":
        # Reverts the bot's own action, so it fits any state.
        return ""
    if since and seen.quiet_since > since:
        return "something has happened on it since the run looked"
    if threads is not None and not is_idle(seen, threads, at):
        return f"something happened on it within {threads.idle_days} days, so a label may be taken off and no more"
    if write.kind == "comment" and seen.told_at and not seen.answered:
        return "there is a comment of this task's already, and nothing has happened since"
    may_label = not seen.told_at or seen.answered or days_between(seen.told_at, at) <= 1  # with a new comment
    if write.kind == "add_label" and not may_label:
        return "this task commented on it before, and a label that is not there was taken off by somebody"
    if write.kind == "close" and writes is not None:
        return reason_not_to_close(seen, writes, at)
    return ""


def is_idle(seen: ThreadState, threads: ThreadFilter, at: str) -> bool:
    return not threads.idle_days or days_between(seen.quiet_since, at) >= threads.idle_days


def days_between(earlier: str, later: str) -> float:
    """Times are RFC 3339."""
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)) / timedelta(days=1)


def reason_not_to_close(seen: ThreadState, writes: TaskWrites, at: str) -> str:
    """Return why the thread is not closed yet, as a clause; empty if it may be."""
    after = writes.close_after_days
    if not after:
        return ""
    if not seen.told_at:
        return f"a thread is closed {after} days after this task commented on it, and it has not yet"
    if seen.answered:
        return "something has happened on it since this task commented"
    if writes.labels and not folded(seen.labels) & folded(writes.labels):
        return "it does not carry a label of this task's, so somebody may have taken it off"
    if days_between(seen.told_at, at) < after:
        return f"a thread is closed {after} days after this task commented on it, and that was on {seen.told_at[:10]}"
    return ""


def _unlike(seen: ThreadState, threads: ThreadFilter) -> str:
    """Return how the thread differs from the conditions of the task's file; empty if it does not."""
    if seen.state != threads.state:
        return f"it is {seen.state} now"
    if threads.kind != "all" and seen.is_pull_request != (threads.kind == "pulls"):
        return f"it is {'a pull request' if seen.is_pull_request else 'an issue'}, and the task is about {threads.kind}"
    there = folded(seen.labels)
    lacks = (f"it lacks the label `{label}`" for label in threads.labels if label.casefold() not in there)
    has = (f"it has the label `{label}`" for label in threads.without if label.casefold() in there)
    return next(chain(lacks, has), "")


def folded(labels: Iterable[str]) -> set[str]:
    """Return the labels for a comparison: GitHub's are unique ignoring case."""
    return {label.casefold() for label in labels}
