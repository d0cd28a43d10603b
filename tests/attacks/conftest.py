"""The attacks: the real program as a process, a model that obeys an attacker, and everything else hostile too."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.session.conftest import Cli, checks, cli, model, stage
from tests.support.attacks import AttackResult, fix_with
from tests.support.model_script import Step
from tests.support.repositories import make_repository

__all__ = ["checks", "cli", "model", "stage"]

Attack = Callable[..., AttackResult]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Small, and without checks, so that a run takes a second."""
    files = {
        "README.md": "# App\n",
        "src/app.py": "print(1)\n",
        ".gitignore": "*.log\n",
        "run.sh": "echo 1\n",
    }
    return make_repository(tmp_path / "app", files)


@pytest.fixture
def attack(cli: Cli, repo: Path) -> Attack:
    """`attack(*steps)`: a run on `repo` in which the model takes these steps, a text being a command. The program is
    forked: for what looks at the tree and at the diff, never at the program."""

    def run(*steps: Step | str, **environment: str) -> AttackResult:
        return fix_with(cli.home, repo, steps, cli.environment(**environment), cold=False)

    return run
