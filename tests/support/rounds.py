"""Rounds of checks over a repository of a test, without a model or a sandbox."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bot.checkout.clone import Checkout, Source, prepare
from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import NoSandboxError
from bot.contracts.outcome import CheckResult
from bot.evidence.check import Check
from bot.session.checks.before_round import RoundsContext
from bot.session.checks.rounds import Rounds
from bot.session.context.git_trees import GitTrees
from bot.session.progress.waits import Waits
from bot.session.run_folder import RunFolder
from bot.session.workspaces.trees import Trees
from bot.workspace.client import Answer, Workspace
from bot.workspace.sandbox.backends import Off
from bot.workspace.start import StartOptions
from tests.support.repositories import make_repository

PYTHON = sys.executable
PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {PYTHON} -m pytest -q"


@dataclass
class Trial:
    checkout: Checkout
    rounds: Rounds
    records: list[lines.CheckRecord]
    opened: list[str]
    failing_starts: list[str] = field(default_factory=list)
    """A workspace with one of these names does not start, once for each."""

    def results(self, changed: Mapping[str, str | None]) -> tuple[CheckResult, ...]:
        self.tree = self.tree_with(changed)
        return self.rounds.results(self.tree)

    def tree_with(self, changed: Mapping[str, str | None]) -> str:
        """The base's tree with these files written or, where `None`, gone."""
        git, index = self.checkout.git, {"GIT_INDEX_FILE": str(self.checkout.tree.parent / "index")}
        git.run("read-tree", self.checkout.base_sha, env=index)
        for path, text in changed.items():
            if text is None:
                gone = f"0 {'0' * 40}\t{path}\n".encode()
                git.run("update-index", "--index-info", input=gone, env=index)
                continue
            blob = git.run("hash-object", "-w", "--stdin", input=text.encode()).decode().strip()
            git.run("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", env=index)
        return git.run("write-tree", env=index).decode().strip()


Begin = Callable[..., Trial]


def trial(folder: Path, files: Mapping[str, str], *checks: Check | str, minutes: float = 5.0) -> Trial:
    repository = make_repository(folder / "repository", files)
    checkout = prepare(Source(str(repository), "HEAD"), folder / "checkout")
    run = RunFolder(folder / "run")
    run.root.mkdir()
    opened: list[str] = []
    failing_starts: list[str] = []

    def open_workspace(name: str, tree: Path, read_only: object) -> Workspace:
        if name in failing_starts:
            failing_starts.remove(name)
            raise NoSandboxError("The sandbox could not be started: no answer within the time limit.")
        opened.append(name)
        return Workspace.start(
            Off(),
            StartOptions(tree, run.workspace(name), {"PATH": os.environ["PATH"]}),
            lambda question: Answer(False),
        )

    trees = Trees(checkout, run, open_workspace)
    records: list[lines.CheckRecord] = []

    def write(record: lines.Record) -> None:
        assert isinstance(record, lines.CheckRecord)
        records.append(record)

    all_checks = [check if isinstance(check, Check) else Check(check, check, 60) for check in checks]
    context = RoundsContext(
        trees,
        write,
        CancelToken(),
        Waits(lambda line: None),
        history=GitTrees(checkout),
        minutes=minutes,
    )
    return Trial(checkout, Rounds(all_checks, context), records, opened, failing_starts)
