"""Commands in the background within a whole run: what they change is journalled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.session.conftest import Cli
from tests.support.fix_script import DONE, shell
from tests.support.model_script import Step
from tests.support.model_server import ModelServer
from tests.support.repositories import make_repository
from tests.support.workspaces import eventually, running

pytestmark = pytest.mark.bubblewrap

MODEL = "anthropic/claude-sonnet-5-5"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "small", {"a.txt": "one\n"})


def test_nothing_of_it_outlives_the_run(cli: Cli, repo: Path, tmp_path: Path) -> None:
    seconds = f"6{abs(hash(str(tmp_path))) % 10**9}"
    steps: list[Step] = [shell(f"setsid sleep {seconds} & sleep {seconds}", background=True), DONE]
    with ModelServer(steps) as server:
        cli("fix", "--repo", repo, "--model", MODEL, "x", model=server)
    assert eventually(lambda: running(f"sleep\0{seconds}") == [])
