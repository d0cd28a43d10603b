"""Commands in the background within a whole run: what they change is journalled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bot.agent.journal_file import read_journal
from bot.contracts.journal import FilesChanged, Result
from tests.session.conftest import Cli
from tests.support.fix_script import DONE, shell
from tests.support.model_script import Call, ScriptRequest, Step, Turn
from tests.support.model_server import ModelServer
from tests.support.repositories import make_repository
from tests.support.workspaces import eventually, running

pytestmark = pytest.mark.bubblewrap

MODEL = "anthropic/claude-sonnet-5-5"

WATCHER = """
sleep 0.5; rm a.txt; echo 'x = 1' > late.py
until grep -q 'y = 2' late.py; do sleep 0.05; done
echo 'z = 3' >> late.py
while :; do date +%N >> ticking.txt; sleep 0.01; done
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "small", {"a.txt": "one\n"})


def thinking(steps: Sequence[Step], home: Path) -> Callable[[ScriptRequest], Step]:
    """The model's steps, each once the watcher has come as far as it can by then."""
    until = {1: ("late.py", ""), 2: ("late.py", "z = 3"), 3: ("ticking.txt", "")}

    def came(name: str, text: str) -> bool:
        return any(
            text in found.read_text() for found in home.glob(f".local/state/slash-agent/runs/*/tree/{name}")
        )

    def step(asked: ScriptRequest) -> Step:
        if asked.number in until:
            assert eventually(lambda: came(*until[asked.number]))
        return steps[asked.number]

    return step


@pytest.mark.slow
def test_what_it_wrote_between_two_calls_is_journalled(cli: Cli, repo: Path, tmp_path: Path) -> None:
    """It works while the model thinks, goes on after an edit, and is still at it when the model is done."""
    out = tmp_path / "bundle"
    edits = (
        Call("write", {"path": "a.txt", "content": "new\n"}),
        Call("view", {"path": "late.py"}),
        Call("edit", {"path": "late.py", "old": "x = 1\n", "new": "x = 1\ny = 2\n"}),
    )
    steps = [shell(WATCHER, background=True), Turn(edits), Call("bash_output", {"id": 1}), DONE]
    with ModelServer(thinking(steps, cli.home)) as server:
        ran = cli("fix", "--repo", repo, "--model", MODEL, "--out", out, "x", model=server)
    assert ran.code == 0, ran.out + ran.err
    journal = out / "journal.jsonl"
    recorded = read_journal(journal)
    results = list(recorded.records(Result))
    assert [result.is_error for result in results] == [False] * 5, results
    changed = [file.path for line in recorded.records(FilesChanged) if line.turn == 1 for file in line.files]
    assert set(changed) == {"a.txt", "late.py"}, "before the write that found a.txt gone"
    patch = (out / "changes.patch").read_bytes()
    assert b"+x = 1\n+y = 2\n+z = 3\n" in patch
    assert b"ticking.txt" in patch


def test_nothing_of_it_outlives_the_run(cli: Cli, repo: Path, tmp_path: Path) -> None:
    seconds = f"6{abs(hash(str(tmp_path))) % 10**9}"
    steps: list[Step] = [shell(f"setsid sleep {seconds} & sleep {seconds}", background=True), DONE]
    with ModelServer(steps) as server:
        cli("fix", "--repo", repo, "--model", MODEL, "x", model=server)
    assert eventually(lambda: running(f"sleep\0{seconds}") == [])
