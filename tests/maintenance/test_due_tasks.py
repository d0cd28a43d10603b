from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from bot.maintenance import due_tasks
from bot.maintenance.due_tasks import (
    MOST_JOBS,
    SHORT_LIST,
    Caps,
    Decision,
    EndedPull,
    OpenPull,
    RepositoryState,
    Room,
    Start,
    TaskState,
    decide_all,
    due_windows,
    group_by_task,
    matrix,
    matrix_json,
)
from bot.maintenance.task import Task, TaskWrites, ThreadFilter
from bot.policy.limits import Budget
from bot.policy.values import MaintenancePolicy

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
LINKS = Task("links", "Mend links.", "0 12 * * *")
AN_HOUR = timedelta(hours=1)


def decide(state: TaskState | None = None, task: Task = LINKS, since: datetime = NOW - AN_HOUR) -> Decision:
    state = RepositoryState({task.name: state} if state else {})
    [decision] = planned([task], state, since=since)
    return decision


def planned(
    tasks: Iterable[Task],
    state: RepositoryState,
    *,
    since: datetime = NOW - AN_HOUR,
    started: int = 0,
    **caps: int,
) -> list[Decision]:
    every = Caps(MaintenancePolicy(**caps), 20, started)
    return decide_all(tasks, state, every, repository="a/b", since=lambda _: since, now=NOW)


def test_a_task_that_is_due_runs() -> None:
    assert decide() == Decision(LINKS, True, "It was due at 2026-11-22 12:00 UTC.", due=NOW)


MINE, THEIRS = OpenPull(7, "", touched=False), OpenPull(7, "", touched=True)
NO = EndedPull(3, NOW - timedelta(days=1), merged=False)
FULL = Room(runs=1, pulls=0)
USED_UP = Room(runs=0, pulls=1)
FREE = Room(runs=1, pulls=1)


@pytest.mark.parametrize(
    ("state", "room", "runs"),
    [
        (TaskState(), FREE, "schedule workflow tick hand"),
        (TaskState(open=(MINE,)), FULL, "schedule workflow tick hand"),
        (TaskState(open=(THEIRS,)), FREE, ""),
        (TaskState(ended=(NO,)), FREE, "tick hand"),
        (TaskState(), FULL, "hand"),
        (TaskState(), USED_UP, "hand"),
        (TaskState(open=(MINE,), ended=(NO,)), FREE, "tick hand"),
    ],
)
def test_one_decision_for_the_plan_a_workflow_and_a_person(state: TaskState, room: Room, runs: str) -> None:
    caps = Caps(MaintenancePolicy(), 20)
    decided = {start: due_tasks.decide(LINKS, state, start, caps, room, now=NOW, due=NOW) for start in Start}
    assert [start.value for start, decision in decided.items() if decision.run] == runs.split()
    assert all(decision.why.endswith(".") for decision in decided.values())
    assert {decision.pull for decision in decided.values() if decision.run} <= {
        0,
        state.open[0].number if state.open else 0,
    }


def test_an_open_pull_request_that_only_the_bot_wrote_is_refreshed() -> None:
    decision = decide(TaskState(open=(OpenPull(7, "", touched=False),)))
    assert (decision.run, decision.pull) == (True, 7)


def test_one_that_people_committed_to_is_theirs() -> None:
    decision = decide(TaskState(open=(OpenPull(7, "", touched=True),)))
    assert not decision.run
    assert decision.why == "People have committed to #7: it is theirs until it is closed."


def closed(*days_ago: int, merged: bool = False) -> tuple[EndedPull, ...]:
    return tuple(EndedPull(10 + days, NOW - timedelta(days=days), merged) for days in days_ago)


def test_a_closed_one_is_a_no_that_is_remembered_for_two_weeks() -> None:
    assert not decide(TaskState(ended=closed(13))).run
    assert decide(TaskState(ended=closed(14))).run


def test_each_no_in_a_row_doubles_the_wait_up_to_half_a_year() -> None:
    assert not decide(TaskState(ended=closed(55, 70, 80))).run
    assert decide(TaskState(ended=closed(56, 70, 80))).run
    assert decide(TaskState(ended=closed(*range(180, 400, 10)))).run


def test_no_more_are_opened_than_may_be_open_and_refreshing_is_not_opening() -> None:
    tasks = [Task(name, "x", "0 12 * * *") for name in "abcdefg"]
    state = group_by_task([(name, OpenPull(n, "", False)) for n, name in enumerate("ab", 1)], [])
    plan = planned(tasks, state, open_pulls=3)
    assert [decision.task.name for decision in plan if decision.run] == ["a", "b", "c"]
    assert "the most allowed" in plan[-1].why


def test_a_task_that_writes_on_threads_takes_no_pull_requests_place() -> None:
    keeper = Task("a", "x", "0 12 * * *", threads=ThreadFilter(), writes=TaskWrites())
    plan = planned([keeper, Task("b", "x", "0 12 * * *")], RepositoryState(), open_pulls=1)
    assert [decision.task.name for decision in plan if decision.run] == ["a", "b"]
    assert planned([keeper], RepositoryState(), open_pulls=0)[0].run


def test_who_waits_longest_goes_first() -> None:
    tasks = [Task("a", "x", "0 12 * * *"), Task("b", "x", "0 9 * * *")]
    plan = planned(tasks, RepositoryState(), since=NOW - timedelta(days=1), open_pulls=1)
    assert [decision.task.name for decision in plan if decision.run] == ["b"]


def test_the_schedule_starts_no_more_a_day_than_its_tier_may() -> None:
    tasks = [Task(name, "x", "0 12 * * *") for name in "ab"]
    for started, run in ((18, ["a", "b"]), (19, ["a"]), (20, []), (21, [])):
        plan = planned(tasks, RepositoryState(), started=started)
        assert [decision.task.name for decision in plan if decision.run] == run
    assert plan[0].why == "Today's 20 runs by the schedule are used up."


def test_the_matrix_is_one_line_that_actions_reads() -> None:
    """The job's limit is the agent's and what goes on around it."""
    run, skip = Decision(LINKS, True, ""), Decision(Task("other", "x"), False, "")
    slow = Decision(Task("slow", "x", limits=Budget(minutes=15)), True, "")
    jobs, left = matrix([("a/b.c", 30, run), ("a/b.c", 30, skip), ("a/b.c", 30, slow)])
    assert json.loads(matrix_json(jobs, left)) == {
        "count": 2,
        "left": 0,
        "matrix": {
            "include": [
                {"repository": "a/b.c", "task": "links", "name": "a.b.c.links", "minutes": 60},
                {"repository": "a/b.c", "task": "slow", "name": "a.b.c.slow", "minutes": 45},
            ]
        },
    }


def test_no_job_asks_for_more_time_than_a_runner_gives() -> None:
    [job], _ = matrix([("a/b", 1_000, Decision(LINKS, True, ""))])
    assert job.minutes == 360


def test_a_matrix_holds_what_github_takes_and_what_was_due_first_goes_first() -> None:
    many = [
        ("a/many", 30, Decision(Task(f"t{n}", "x"), True, "", due=NOW - timedelta(minutes=n)))
        for n in range(300)
    ]
    jobs, left = matrix([("a/few", 30, Decision(LINKS, True, "", due=NOW)), *many])
    assert (len(jobs), left) == (MOST_JOBS, 45)
    assert [job.task for job in jobs] == [f"t{n}" for n in range(299, 43, -1)]


NOON = datetime(2026, 11, 22, 12, 17, tzinfo=UTC)
MANY = [f"octo/repository-{n}" for n in range(SHORT_LIST + 1)]


def test_in_a_day_each_of_a_long_list_has_one_turn() -> None:
    plans = [due_windows(MANY, NOON + n * AN_HOUR, NOON + (n + 1) * AN_HOUR) for n in range(24)]
    assert Counter(turn.repository for plan in plans for turn in plan) == Counter(MANY)
    assert max(map(len, plans)) < SHORT_LIST / 4


def test_a_look_that_comes_late_takes_in_what_it_missed() -> None:
    late = {turn.repository: turn for turn in due_windows(MANY, NOON - timedelta(hours=60), NOON)}
    assert set(late) == set(MANY)
    for turn in late.values():
        assert turn.since <= NOON - timedelta(hours=60)
        assert turn.since > NOON - timedelta(hours=60) - timedelta(days=1)


def test_a_turn_belongs_to_one_look_alone() -> None:
    first = due_windows(MANY, NOON - AN_HOUR, NOON)
    moment = first[0].until
    assert first[0].repository in {turn.repository for turn in due_windows(MANY, moment - AN_HOUR, moment)}
    assert first[0].repository not in {
        turn.repository for turn in due_windows(MANY, moment, moment + AN_HOUR)
    }
