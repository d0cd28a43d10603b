from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from bot.maintenance.due_tasks import (
    MOST_JOBS,
    SHORT_LIST,
    Decision,
    EndedPull,
    OpenPull,
    RemainingCaps,
    RepositoryState,
    Start,
    TaskState,
    decide_all,
    due_windows,
    matrix,
)
from bot.maintenance.schedule import WORDS, checked_schedule, cron
from bot.maintenance.task import Task, TaskWrites, ThreadFilter
from bot.policy.load import load_policy
from bot.policy.tiers_and_budget import Budget
from bot.policy.triggers import MaintenancePolicy

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
LINKS = Task("links", "Mend links.", "0 12 * * *")
AN_HOUR = timedelta(hours=1)
POLICY = load_policy(None)


def planned(
    tasks: Iterable[Task],
    state: RepositoryState,
    *,
    since: datetime = NOW - AN_HOUR,
    started: int = 0,
    **caps: int,
) -> list[Decision]:
    room = RemainingCaps(replace(POLICY, maintenance=MaintenancePolicy(**caps)), state, started)
    return decide_all(tasks, room, repository="a/b", since=lambda _: since, now=NOW, started={})


def running(plan: Iterable[Decision]) -> list[str]:
    return [decision.task.name for decision in plan if decision.run]


def test_a_task_that_is_due_runs():
    [decision] = planned([LINKS], {})
    assert decision == Decision(LINKS, True, "It was due at 2026-11-22 12:00 UTC.", due=NOW)


MINE, THEIRS = OpenPull(7), OpenPull(7, touched=True)
NO = EndedPull(NOW - timedelta(days=1), 3)


@pytest.mark.parametrize(
    ("pulls", "runs", "room", "why"),
    [
        ((), "schedule workflow tick hand", (1, 1), ""),
        ((MINE,), "schedule workflow tick hand", (1, 0), ""),
        ((THEIRS,), "", (1, 1), "People have committed to #7: it is theirs until it is closed."),
        ((NO,), "tick hand", (1, 1), "People closed #3: it waits until 2026-12-05."),
        ((), "hand", (1, 0), "There are or will be 5 open pull requests of tasks, the most allowed."),
        ((), "hand", (0, 1), "The daily limit of 20 scheduled runs is used up."),
        ((MINE, NO), "tick hand", (1, 1), "People closed #3: it waits until 2026-12-05."),
    ],
)
def test_one_decision_for_the_plan_a_workflow_and_a_person(
    pulls: tuple[OpenPull | EndedPull, ...], runs: str, room: tuple[int, int], why: str
):
    decided = []
    for start in Start:
        opened = [one for one in pulls if isinstance(one, OpenPull)]
        ended = [one for one in pulls if isinstance(one, EndedPull)]
        caps = RemainingCaps(POLICY, {"links": TaskState(opened, ended)})
        caps.runs, caps.pulls = room
        decided.append(caps.decide(LINKS, start, NOW, NOW))
    assert [start.name.lower() for start, one in zip(Start, decided, strict=True) if one.run] == runs.split()
    assert {one.why for one in decided if not one.run} == ({why} if why else set())
    assert {one.pull for one in decided if one.run} <= {7 if MINE in pulls else 0}


@pytest.mark.parametrize(
    ("days_ago", "runs"),
    [((13,), False), ((14,), True), ((55, 70, 80), False), ((56, 70, 80), True), (range(180, 400, 10), True)],
)
def test_each_no_in_a_row_doubles_two_weeks_of_waiting_up_to_half_a_year(days_ago: Iterable[int], runs: bool):
    closed = [EndedPull(NOW - timedelta(days=days), 10 + days) for days in days_ago]
    [decision] = planned([LINKS], {"links": TaskState(ended=closed)})
    assert decision.run is runs


def test_no_more_are_opened_than_may_be_open_and_refreshing_is_not_opening():
    tasks = [Task(name, "x", "0 12 * * *") for name in "abcdefg"]
    state = {name: TaskState([OpenPull(n)]) for n, name in enumerate("ab", 1)}
    assert running(planned(tasks, state, open_pulls=3)) == ["a", "b", "c"]


def test_a_task_that_writes_on_threads_takes_no_pull_requests_place():
    keeper = Task("a", "x", "0 12 * * *", threads=ThreadFilter(), writes=TaskWrites())
    assert running(planned([keeper, Task("b", "x", "0 12 * * *")], {}, open_pulls=1)) == ["a", "b"]
    assert running(planned([keeper], {}, open_pulls=0)) == ["a"]


def test_who_waits_longest_goes_first():
    tasks = [Task("a", "x", "0 12 * * *"), Task("b", "x", "0 9 * * *")]
    assert running(planned(tasks, {}, since=NOW - timedelta(days=1), open_pulls=1)) == ["b"]


@pytest.mark.parametrize(("started", "run"), [(18, ["a", "b"]), (19, ["a"]), (20, []), (21, [])])
def test_the_schedule_starts_no_more_a_day_than_its_tier_may(started: int, run: list[str]):
    assert running(planned([Task(name, "x", "0 12 * * *") for name in "ab"], {}, started=started)) == run


def test_the_matrix_has_a_job_for_each_task_that_runs():
    """The job's limit is the agent's and what goes on around it, and no more than a runner gives."""
    run, skip = Decision(LINKS, True, ""), Decision(Task("other", "x"), False, "")
    slow = Decision(Task("slow", "x", limits=Budget(minutes=15)), True, "")
    jobs = [
        {"repository": "a/b.c", "task": "links", "name": "a.b.c.links", "minutes": 60},
        {"repository": "a/b.c", "task": "slow", "name": "a.b.c.slow", "minutes": 45},
        {"repository": "a/b", "task": "links", "name": "a.b.links", "minutes": 360},
    ]
    entries = [("a/b.c", 30, run), ("a/b.c", 30, skip), ("a/b.c", 30, slow), ("a/b", 1_000, run)]
    assert matrix(entries) == {"count": 3, "left": 0, "matrix": {"include": jobs}}


def test_a_matrix_holds_what_github_takes_and_what_was_due_first_goes_first():
    many = [
        ("a/many", 30, Decision(Task(f"t{n}", "x"), True, "", due=NOW - timedelta(minutes=n)))
        for n in range(300)
    ]
    plan = matrix([("a/few", 30, Decision(LINKS, True, "", due=NOW)), *many])
    assert (plan["count"], plan["left"]) == (MOST_JOBS, 45)
    assert [job["task"] for job in plan["matrix"]["include"]] == [f"t{n}" for n in range(299, 43, -1)]


NOON = datetime(2026, 11, 22, 12, 17, tzinfo=UTC)
MANY = [f"octo/repository-{n}" for n in range(SHORT_LIST + 1)]


def test_in_a_day_each_of_a_long_list_has_one_turn():
    plans = [due_windows(MANY, NOON + n * AN_HOUR, NOON + (n + 1) * AN_HOUR) for n in range(24)]
    assert Counter(turn.repository for plan in plans for turn in plan) == Counter(MANY)
    assert max(map(len, plans)) < SHORT_LIST / 4


def test_a_look_that_comes_late_takes_in_what_it_missed():
    late = {turn.repository: turn for turn in due_windows(MANY, NOON - timedelta(hours=60), NOON)}
    assert set(late) == set(MANY)
    for turn in late.values():
        assert turn.since <= NOON - timedelta(hours=60)
        assert turn.since > NOON - timedelta(hours=60) - timedelta(days=1)


def test_a_turn_belongs_to_one_look_alone():
    first = due_windows(MANY, NOON - AN_HOUR, NOON)
    moment = first[0].until
    assert first[0].repository in {turn.repository for turn in due_windows(MANY, moment - AN_HOUR, moment)}
    assert first[0].repository not in {
        turn.repository for turn in due_windows(MANY, moment, moment + AN_HOUR)
    }


# Schedules


@pytest.mark.parametrize(
    "schedule",
    ["", "daily-ish", "* * * *", "0 0 0 * * *", "61 * * * *", "* 24 * * *", "0 0 31 2 *", "@daily"],
)
def test_what_is_no_schedule_is_named(schedule: str):
    with pytest.raises(PydanticCustomError, match="cron"):
        checked_schedule(schedule)


@pytest.mark.parametrize("schedule", [*WORDS, "*/15 * * * *", "0 3 * * 1-5", "0 0 L * *"])
def test_what_is_one_has_no_flaw(schedule: str):
    assert checked_schedule(schedule) == schedule


@given(st.sampled_from(WORDS), st.text(max_size=60))
def test_a_word_is_a_cron_line_that_is_the_same_every_time(word: str, key: str):
    assert cron(word, key) == cron(word, key)
    assert checked_schedule(cron(word, key))


def test_repositories_are_scattered_over_the_minutes_of_an_hour():
    minutes = {cron("daily", f"owner/repository-{n}").split()[0] for n in range(2_000)}
    assert len(minutes) == 60
