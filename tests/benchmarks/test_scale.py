from __future__ import annotations

import os
from pathlib import Path

import bot.tasks
from benchmarks.scale import TASKS, simulate, table
from bot.tasks.file import read_task

DOCS = Path(__file__).parents[2] / "docs" / "scale.md"


def test_the_table_in_the_docs_is_what_the_simulation_prints() -> None:
    assert table() in DOCS.read_text()


def test_it_simulates_the_tasks_that_are_shipped() -> None:
    folder = Path(bot.tasks.__file__).parent / "examples"
    shipped = [read_task((folder / name).read_text(), name) for name in os.listdir(folder)]
    assert {task.name: task.schedule for task in shipped} == TASKS


def test_few_runners_make_runs_wait() -> None:
    assert simulate(10_000, runners=500).waited == 0
    assert simulate(10_000, runners=20).waited > 60


def test_three_weekly_tasks_and_a_monthly_one_make_so_many_runs_a_day() -> None:
    day = simulate(7_000, runners=500)
    assert 2_900 <= day.runs - 7_000 / 28 <= 3_100
