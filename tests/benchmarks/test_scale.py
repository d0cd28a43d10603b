from __future__ import annotations

import os
from pathlib import Path

import pytest

import bot.maintenance
from benchmarks.scale import (
    LIST_CALLS,
    LOOK_CALLS,
    SIZES,
    TASKS,
    TOKEN_CALLS,
    app_calls_an_hour,
    simulate,
    tables,
)
from bot.maintenance.task_file import read_task
from slash_forge import Forge
from slash_forge.forge import ACTIONS_BOT
from tests.support.apps import make_app
from tests.support.stage import open_stage

DOCS = Path(__file__).parents[2] / "docs" / "scale.md"


def test_the_smaller_rows_of_the_tables_in_the_docs_are_what_the_simulation_prints() -> None:
    lines = DOCS.read_text().splitlines()
    assert [line for line in tables(SIZES[:-1]).splitlines() if line not in lines] == []


@pytest.mark.slow
def test_the_tables_in_the_docs_are_what_the_simulation_prints() -> None:
    """With the row of 100,000 repositories, which takes three seconds."""
    page = DOCS.read_text()
    assert [table for table in tables().split("\n\n") if table not in page] == []


def test_it_simulates_the_tasks_that_are_shipped() -> None:
    folder = Path(bot.maintenance.__file__).parent / "examples"
    shipped = [read_task((folder / name).read_text(), name) for name in os.listdir(folder)]
    assert {task.name: task.schedule for task in shipped} == TASKS


@pytest.mark.slow
def test_a_look_costs_as_many_calls_as_are_counted(tmp_path: Path) -> None:
    """One repository with the shipped tasks, planned by an app from a workflow's run: no look, list or token is
    dearer than the simulation has it."""
    folder = Path(bot.maintenance.__file__).parent / "examples"
    with Forge() as forge:
        stage = open_stage(forge, tmp_path)
        tasks = {f".github/agent/{name}": (folder / name).read_text() for name in os.listdir(folder)}
        forge.commit(stage.repo, tasks)
        app = make_app(forge, "riverbend", {"contents": "read", "issues": "read", "pull_requests": "read"})
        forge.add_run(stage.repo, workflow=".github/workflows/maintenance.yml", event="schedule")
        before = len(forge.requests)
        ran = stage.cli(
            "maintain", "--plan",
            GITHUB_TOKEN=forge.token(ACTIONS_BOT, {"actions": "read"}, repo=stage.repo),
            GITHUB_RUN_ID="4711",
            GITHUB_WORKFLOW_REF=f"{stage.repo}/.github/workflows/maintenance.yml@refs/heads/main",
            **app.environment,
        )  # fmt: skip
        paths = [entry.path for entry in forge.requests[before:]]
    assert ran.code == 0, ran.output
    of_list = [path for path in paths if "/actions/" in path]
    of_tokens = [path for path in paths if "/installation" in path]
    assert len(of_list) <= LIST_CALLS
    assert len(of_tokens) == TOKEN_CALLS
    assert len(paths) - len(of_list) - len(of_tokens) <= LOOK_CALLS


def test_an_app_is_granted_more_by_repository_up_to_an_end() -> None:
    assert [app_calls_an_hour(n) for n in (1, 20, 21, 170, 1_000)] == [5_000, 5_000, 5_050, 12_500, 12_500]


def test_few_runners_make_runs_wait() -> None:
    assert simulate(2_000, runners=500).waited == 0
    assert simulate(2_000, runners=5).waited > 60


def test_the_shipped_tasks_make_so_many_runs_a_day() -> None:
    """One a day, three a week and one a month that is scattered over 28 days."""
    assert abs(simulate(2_800, runners=500).runs - 2_800 * (1 + 3 / 7 + 1 / 28)) < 150


def test_a_long_list_is_spread_over_the_day_and_a_short_one_looked_at_each_hour() -> None:
    short, long = simulate(100, 500), simulate(101, 500)
    assert long.central_calls < short.central_calls / 4
