"""Each figure's harness, once and tiny: that it measures what it says; the table of peers; the tables of scale. What is
found is nobody's test."""

import os
from pathlib import Path

import pytest

import bot.maintenance
from benchmarks import figures
from benchmarks.figures import FIGURES, Bench, Scale
from benchmarks.peers.catalogue import PEERS, Peer
from benchmarks.scale import LIST_CALLS, LOOK_CALLS, TASKS, TOKEN_CALLS, tables
from benchmarks.session import ROOT, VENDORS
from bot.maintenance.task import read_task
from slash_forge import Forge
from slash_forge.forge import ACTIONS_BOT
from tests.support.apps import make_app
from tests.support.stage import open_stage

TINY = Scale(
    runs=1,
    warm_up=False,
    turns=2,
    early=2,
    late=4,
    spread=1,
    diff_files=4,
    reviews=4,
    comments=30,
    patched_files=3,
    masked_mb=1,
    session_turns=52,
    session_window=40_000,
    context_turns=30,
    context_window=24_000,
    checked_package="responses",
    environment_files=200,
    server_edits=5,
    large_python="responses/__init__.py",
    trees={50_000: 40, 300_000: 60},
    report_turns={200: 6, 2000: 8},
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """One for all figures, as in the command: its repositories and the bare program's requests are made once."""
    return Bench(TINY, tmp_path_factory.mktemp("bench"), lambda progress: None)


ROWS = {
    "first-request": 1, "turn": 2, "growth": 1, "memory": 1, "version": 1, "request-size": 3, "search": 4,
    "anchors": 1, "reviews": 1, "patch": 1, "masking": 7, "sandbox": 7, "session": 4, "context": 3, "checkers": 2,
    "last-word": 2, "refusals": 3, "thread": 1, "language-servers": 2, "report": 4,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.chromium] if one == "report" else []) for one in ROWS]
)
def test_every_figure_can_be_measured(bench: Bench, name: str, monkeypatch: pytest.MonkeyPatch):
    if name != "turn":  # which has a row for each vendor
        monkeypatch.setattr(figures, "VENDORS", {"anthropic": VENDORS["anthropic"]})
    found = list(FIGURES[name](bench))
    assert len(found) == ROWS[name]
    assert all(row.ours and row.target and row.met is not None for row in found)


def test_the_figures_tested_are_all_there_are():
    assert set(FIGURES) == set(ROWS)


def test_the_page_has_a_row_for_every_target():
    page = (ROOT / "docs" / "bench.md").read_text()
    for words in (
        "first request,",
        "turn with one command,",
        "turn 200,",
        "peak memory,",
        "--version",
        "grep,",
        "glob,",
        "anchors of a review,",
        "reviews refused,",
        "requests that extend the one before,",
        "input served by a prefix cache,",
        "context held over",
        "turns of equal size",
        "a MB of body more,",
    ):
        assert f"| {words}" in page or f"| slash-agent {words}" in page


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_every_peer_is_pinned(peer: Peer):
    pins = [package.rpartition("==" if peer.registry == "pypi" else "@")[2] for package in peer.packages]
    assert all(pin[:1].isdigit() for pin in pins)
    assert not peer.registry or pins[0] == peer.version


def test_the_page_shows_every_peer_in_its_pinned_version():
    page = (ROOT / "docs" / "bench.md").read_text()
    assert [peer.name for peer in PEERS if f"| {peer.name} ({peer.language})" not in page] == []
    assert [peer.name for peer in PEERS if f"| {peer.version} " not in page] == []


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
