import os
from pathlib import Path

import pytest

import bot.maintenance
from benchmarks.scale import LIST_CALLS, LOOK_CALLS, TASKS, TOKEN_CALLS, tables
from bot.maintenance.task import read_task
from slash_forge import Forge
from slash_forge.forge import ACTIONS_BOT
from tests.support.apps import make_app
from tests.support.stage import open_stage

DOCS = Path(__file__).parents[2] / "docs" / "scale.md"


@pytest.mark.slow
def test_the_tables_in_the_docs_are_what_the_simulation_prints():
    """The row of 100,000 repositories takes three seconds."""
    page = DOCS.read_text()
    assert [table for table in tables().split("\n\n") if table not in page] == []


def test_it_simulates_the_tasks_that_are_shipped():
    folder = Path(bot.maintenance.__file__).parent / "examples"
    shipped = [read_task((folder / name).read_text(), name) for name in os.listdir(folder)]
    assert {task.name: task.schedule for task in shipped} == TASKS


@pytest.mark.slow
def test_a_look_costs_as_many_calls_as_are_counted(tmp_path: Path):
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
