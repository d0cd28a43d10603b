from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bot.maintenance.due_tasks import (
    Caps,
    EndedPull,
    OpenPull,
    RepositoryState,
    decide_all,
    group_by_task,
    render_dashboard,
)
from bot.maintenance.task import Task
from bot.policy.values import MaintenancePolicy

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
TASKS = [Task("links", "x", "0 12 * * *"), Task("tidy", "x"), Task("deps", "x", "0 3 * * 1")]


def page(state: RepositoryState, now: datetime = NOW) -> str:
    since = now - timedelta(hours=1)
    caps = Caps(MaintenancePolicy(), 20)
    decisions = decide_all(TASKS, state, caps, repository="a/b", since=lambda _: since, now=now)
    return render_dashboard(decisions, state, repository="a/b", now=now)


def test_each_task_has_a_row_by_name() -> None:
    rows = [line for line in page(RepositoryState()).splitlines() if line.startswith("| [")]
    assert rows == [
        "| [deps](../blob/HEAD/.github/agent/deps.md) | `0 3 * * 1`, next 2026-11-23 03:00 | nothing open |",
        "| [links](../blob/HEAD/.github/agent/links.md) | `0 12 * * *`, next 2026-11-23 12:00 | nothing open |",
        "| [tidy](../blob/HEAD/.github/agent/tidy.md) | by hand | nothing open |",
    ]


def test_it_says_what_is_open_and_whose_and_what_people_said_no_to() -> None:
    state = group_by_task(
        [("links", OpenPull(4, "", True)), ("tidy", OpenPull(5, "", False))],
        [("deps", EndedPull(3, NOW - timedelta(days=1), merged=False))],
    )
    text = page(state)
    assert "#4 is open and in the hands of people" in text
    assert "#5 is open |" in text
    assert "#3 was closed on 2026-11-21; People closed #3: it waits until 2026-12-05" not in text
    assert "#3 was closed on 2026-11-21" in text


def test_a_task_that_waits_after_a_no_says_until_when() -> None:
    state = group_by_task([], [("links", EndedPull(3, NOW - timedelta(days=1), merged=False))])
    assert "#3 was closed on 2026-11-21; People closed #3: it waits until 2026-12-05 |" in page(state)


def test_an_hour_in_which_nothing_happened_changes_no_letter() -> None:
    assert page(RepositoryState(), NOW + timedelta(minutes=1)) == page(
        RepositoryState(), NOW + timedelta(hours=1)
    )
