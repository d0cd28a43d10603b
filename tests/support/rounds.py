"""Rounds of checks over a repository of a test, without a model or a sandbox."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bot.checkout.clone import Checkout, Source, check_out
from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import NoSandboxError
from bot.contracts.evidence import CheckerComparison
from bot.contracts.outcome import CheckResult
from bot.evidence.check import Check
from bot.evidence.reruns import CheckExecution
from bot.session.checks.rounds import Rounds
from bot.session.checks.runner import CheckRunner
from bot.session.workspaces.prepared_trees import Trees
from bot.workspace.client import Answer, Workspace
from bot.workspace.sandbox.backends import Off
from bot.workspace.start import StartOptions
from tests.support.repositories import commit_all, make_repository
from tests.support.runs import make_run
from tests.support.trees import Bench

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

    def compare(self, tree_sha: str | None) -> dict[str, CheckerComparison]:
        """The checkers on both sides of a tree, by name."""
        self.rounds.results(tree_sha)
        return {each.tool: each for each in self.rounds.inspection.results(tree_sha)}

    def changed_tree(self, files: Mapping[str, str | None]) -> str:
        """The agent's tree after it wrote these files or, where `None`, removed them, as the gate takes it."""
        for name, text in files.items():
            path = self.checkout.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True) if text is None else path.write_text(text)
        return Bench(self.checkout, None).judge().tree_sha  # type: ignore[arg-type]

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


def run_checks(
    workspace: Workspace, checks: Sequence[Check], cancel: CancelToken | None = None, origin: str = ""
) -> list[CheckExecution]:
    runner = CheckRunner(workspace, cancel or CancelToken(), origin)
    return [runner.run(check) for check in checks]


Begin = Callable[..., Trial]


def trial(
    folder: Path, files: Mapping[str, str], *checks: Check | str, minutes: float = 5.0, checkers: str = "none"
) -> Trial:
    repository = make_repository(folder / "repository", files)
    for program in repository.glob("**/node_modules/.bin/*"):
        program.chmod(0o755)
    if (repository / "node_modules").is_dir():
        commit_all(repository)
    checkout = check_out(Source(str(repository), "HEAD"), folder / "checkout")
    opened: list[str] = []
    failing_starts: list[str] = []

    def open_workspace(name: str, tree: Path, environment: object, *, checks: bool) -> Workspace:
        if name in failing_starts:
            failing_starts.remove(name)
            raise NoSandboxError("The sandbox could not be started: no answer within the time limit.")
        opened.append(name)
        return Workspace.start(
            Off(),
            StartOptions(tree, run.folder.workspace(name), run.environment),
            lambda question: Answer(False),
        )

    records: list[lines.CheckRecord] = []

    def write(record: lines.Record) -> None:
        assert isinstance(record, lines.CheckRecord)
        records.append(record)

    diagnostics = f"diagnostics: {{checkers: {checkers}}}\n" if checkers else ""
    policy = f"version: 1\nbudget: {{check_minutes: {minutes}}}\n{diagnostics}"
    run = make_run(folder / "run", checkout, policy, journal=SimpleNamespace(write=write))
    workspaces: Any = SimpleNamespace(start=open_workspace)
    all_checks = [check if isinstance(check, Check) else Check(check, check, 60) for check in checks]
    rounds = Rounds(run, Trees(run, workspaces), all_checks)
    return Trial(checkout, rounds, records, opened, failing_starts)
