"""A long list is looked at once a day, each repository at its own time; whatever happens, none is left out."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

from bot.tasks.turns import SHORT, turns

NOON = datetime(2026, 11, 22, 12, 17, tzinfo=UTC)
AN_HOUR = timedelta(hours=1)
MANY = [f"octo/repository-{n}" for n in range(SHORT + 1)]


def test_all_of_a_short_list_are_looked_at_each_time() -> None:
    found = turns(MANY[:SHORT], NOON - AN_HOUR, NOON)
    assert [turn.repository for turn in found] == MANY[:SHORT]
    assert {(turn.since, turn.until) for turn in found} == {(NOON - AN_HOUR, NOON)}


def test_in_a_day_each_of_a_long_list_has_one_turn() -> None:
    looks = [turns(MANY, NOON + n * AN_HOUR, NOON + (n + 1) * AN_HOUR) for n in range(24)]
    assert Counter(turn.repository for look in looks for turn in look) == Counter(MANY)
    assert max(map(len, looks)) < SHORT / 4


def test_its_tasks_are_due_since_its_last_turn() -> None:
    days = [turns(MANY, NOON + n * timedelta(days=1), NOON + (n + 1) * timedelta(days=1)) for n in range(2)]
    before, after = ({turn.repository: turn for turn in look} for look in days)
    assert all(after[name].since == before[name].until for name in MANY)
    assert all(turn.until - turn.since == timedelta(days=1) for turn in after.values())


def test_a_look_that_comes_late_takes_in_what_it_missed() -> None:
    late = {turn.repository: turn for turn in turns(MANY, NOON - timedelta(hours=60), NOON)}
    assert set(late) == set(MANY)
    for turn in late.values():
        assert turn.since <= NOON - timedelta(hours=60)
        assert turn.since > NOON - timedelta(hours=60) - timedelta(days=1)


def test_a_turn_belongs_to_one_look_alone() -> None:
    first = turns(MANY, NOON - AN_HOUR, NOON)
    moment = first[0].until
    assert first[0].repository in {turn.repository for turn in turns(MANY, moment - AN_HOUR, moment)}
    assert first[0].repository not in {turn.repository for turn in turns(MANY, moment, moment + AN_HOUR)}
