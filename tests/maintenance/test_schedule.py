import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from bot.maintenance.schedule import WORDS, checked_schedule, cron


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
