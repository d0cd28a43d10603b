"""The text of the dashboard: pure."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.maintenance.due_tasks import EndedPull, OpenPull, RemainingCaps, TaskState, decide_all
from bot.maintenance.schedule import schedule_words
from bot.maintenance.task import Task
from bot.policy.load import load_policy
from bot.session.event.dashboard import LastResult, RepositoryPlan, render_dashboard, ticked_tasks

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
TASKS = [Task("links", "x", "0 12 * * *"), Task("tidy", "x"), Task("deps", "x", "0 3 * * 1")]
STATE = {
    "deps": TaskState([OpenPull(4, touched=True)]),
    "tidy": TaskState([OpenPull(5)]),
    "links": TaskState(ended=[EndedPull(NOW - timedelta(days=1), 3)]),
}
RESULTS = {
    "tidy": LastResult("changed", "2026-11-20", 0.31, 77),
    "links": LastResult("failed", "2026-11-21", 0.02, 78),
    "deps": LastResult("answered", "2026-11-16", 0.0, 79, held=2, made=3),
}
BROKEN = {".github/agent/tz.md": ".github/agent/tz.md:2:1: unknown key `timezone`"}


def page(now: datetime = NOW) -> str:
    since, room = now - timedelta(hours=1), RemainingCaps(load_policy(None), STATE)
    decisions = decide_all(TASKS, room, repository="a/b", since=lambda _: since, now=now, started={})
    return render_dashboard(RepositoryPlan("a/b", tuple(decisions), STATE, 30, BROKEN), RESULTS, "..")


def test_each_task_has_a_row_with_a_checkbox_its_last_result_and_what_is_next():
    links = "[`links`](../blob/HEAD/.github/agent/links.md)"
    rows = page().partition("## Tasks\n\n")[2].splitlines()
    assert rows == [
        "- [ ] [`deps`](../blob/HEAD/.github/agent/deps.md): waits until #4 is closed",
        "  - last: done in [this run](../actions/runs/79) on 2026-11-16, $0.00, 3 writes made, **2 held back**",
        "  - open: #4 (people have committed to it)",
        f"- [ ] {links}: `0 12 * * *` (UTC), but not before 2026-12-05, since people closed #3",
        "  - last: **failed** in [this run](../actions/runs/78) on 2026-11-21, $0.02",
        "  - closed: #3 on 2026-11-21",
        "- [ ] [`tidy`](../blob/HEAD/.github/agent/tidy.md): by hand",
        "  - last: changed files in [this run](../actions/runs/77) on 2026-11-20, $0.31",
        "  - open: #5",
    ]


def test_files_that_cannot_be_read_come_first_with_their_line():
    row = "- [`.github/agent/tz.md`](../blob/HEAD/.github/agent/tz.md), line 2:1: unknown key `timezone`\n"
    assert page().index(row) < page().index("## Tasks")


@pytest.mark.parametrize("hours", [1, 24, 24 * 30])
def test_time_that_passes_changes_no_letter(hours: int):
    assert page(now=NOW + timedelta(hours=hours)) == page()


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ("", "by hand"), ("hourly", "hourly at minute "), ("daily", "daily at "), ("weekly", "days at "),
        ("monthly", "of each month at "), ("0 3 * * 1", "`0 3 * * 1` (UTC)"),
    ],
)  # fmt: skip
def test_a_schedule_is_put_in_words_that_stay(schedule: str, words: str):
    assert words in schedule_words(schedule, "a/b/links")


def test_ticked_boxes_are_read_and_nothing_else():
    text = page().replace("- [ ] [`links`]", "- [x] [`links`]")
    assert ticked_tasks(text) == ("links",)
    assert ticked_tasks("- [x] links\n  - [x] [`tidy`](x)\n- [x] [`a/b`](x)\n") == ()
