"""Runs of the real command line against a scripted model: what a person would type, with nothing inherited."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.evidence.check import Check
from slash_forge import Forge
from tests.support import warm
from tests.support.model_script import Say
from tests.support.model_server import ModelServer
from tests.support.repositories import sample_repository
from tests.support.rounds import Begin, Trial, trial
from tests.support.stage import MODEL, CommandResult, Model, Stage, command, open_stage, served

__all__ = ["Cli", "CommandResult", "command"]


@dataclass(frozen=True)
class Cli:
    """`slash-agent` with an environment of its own. `home` holds what it leaves behind; `cold` as a stage's."""

    home: Path
    cold: bool = False

    def environment(self, **more: str) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", **more}

    @property
    def journal(self) -> str:
        """What its runs have recorded so far."""
        journals = self.home.glob(".local/state/slash-agent/runs/*/journal.jsonl")
        return "".join(file.read_text(errors="replace") for file in journals)

    def __call__(
        self, *args: object, model: Model = None, inside: Sequence[str] = (), **environment: str
    ) -> CommandResult:
        """`model` as of a stage's `run`. `inside` is put before the command: another machine to run it on."""
        start = warm.run_cold if self.cold else warm.run
        with served(model) as (variables, requests):
            done = start([*inside, *command(*args)], self.environment(**{**variables, **environment}))
        return CommandResult(done.returncode, done.stdout, done.stderr, requests)

    def on(self, repo: Path, verb: str, *args: object, **more: Any) -> CommandResult:
        """A verb on a repository, with the usual model unless `args` name another."""
        chosen = () if "--model" in args else ("--model", MODEL)
        return self(verb, "--repo", repo, *chosen, *args, **more)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    home = tmp_path / "home"
    home.mkdir()
    return Cli(home)


@pytest.fixture
def checks(request: pytest.FixtureRequest) -> bool:
    return request.node.get_closest_marker("checks") is not None


@pytest.fixture
def repo(tmp_path: Path, checks: bool) -> Path:
    return sample_repository(tmp_path / "tidytime", checks=checks)


@pytest.fixture
def stage(tmp_path: Path, checks: bool) -> Iterator[Stage]:
    with Forge() as forge:
        yield open_stage(forge, tmp_path / "stage", checks=checks)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model that would answer, and must not be asked."""
    with ModelServer([Say("Asked!")]) as server:
        yield server
        assert server.requests == []


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    started: list[Trial] = []

    def begun(files: Mapping[str, str], *checks: Check | str, **more: Any) -> Trial:
        started.append(trial(tmp_path, files, *checks, **more))
        return started[-1]

    yield begun
    for one in started:
        one.rounds.stop()
