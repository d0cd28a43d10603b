"""The workspace of a run's calls: a sandbox that does not start, the order in which changes are told, limits met."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.agent.journal import Journal
from bot.checkout.clone import Checkout
from bot.checkout.git import Git
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import NoSandboxError
from bot.contracts.journal import FilesChanged, FileVersion
from bot.contracts.outcome import CheckState
from bot.evidence.check import Check
from bot.session.workspaces.agent_workspace import AgentWorkspace, within_limits
from bot.session.workspaces.start_workspaces import CallPosition
from bot.session.workspaces.usage_notes import limit_notes
from bot.workspace.client import ScanResult, Workspace
from tests.support.repositories import make_repository
from tests.support.rounds import run_checks
from tests.support.runs import make_run
from tests.support.workspaces import Bench, ScriptedWorkspace, allow, bash, eventually


def test_a_sandbox_that_does_not_start_fails_the_call_and_the_third_time_the_run():
    def start(number: int) -> Workspace:
        raise NoSandboxError(f"bwrap: no more namespaces ({number})")

    workspace = ScriptedWorkspace(start)
    for _ in range(2):
        outcome = workspace.call("bash", {"command": "true"}, CancelToken(), CallPosition(1, "c"))
        assert outcome.is_error
        assert outcome.content.startswith(
            "Nothing was run: the sandbox did not start. bwrap: no more namespaces (0)"
        )
    with pytest.raises(NoSandboxError):
        workspace.call("bash", {"command": "true"}, CancelToken(), CallPosition(1, "c"))


def test_changes_are_told_after_each_command_and_at_the_end(tmp_path: Path):
    bench = Bench(tmp_path, make_repository(tmp_path / "tree", {"a.txt": "one\n"}))
    workspace = ScriptedWorkspace(lambda number: bench.start())

    def call(command: str, *, background: bool = False) -> None:
        arguments = {"command": command, "background": background}
        workspace.call("bash", arguments, CancelToken(), position=CallPosition(1, "a"))

    try:
        call("touch one")
        call("until [ -e go ]; do sleep 0.01; done; touch two; sleep 600", background=True)
        (tmp_path / "tree" / "go").touch()
        assert eventually((tmp_path / "tree" / "two").exists)
        workspace.close()
    finally:
        workspace.kill()
        bench.close()
    assert [{"one", "two"} & paths for paths in workspace.changed] == [{"one"}, set(), {"two"}]


def test_a76_many_files_of_one_command_are_counted_and_not_all_listed(tmp_path: Path):
    tree = make_repository(tmp_path / "tree", {"old.txt": "one\n"})
    git = Git(tree / ".git")
    checkout = Checkout(git, tree, git.run("rev-parse", "HEAD").decode().strip(), ())
    new = [FileVersion(f"new/{n}", None, "aa", 0o644, b"x") for n in range(60_000)]
    old = FileVersion("old.txt", "aa", "bb", 0o644, b"y")
    same = FileVersion("old.txt", "", "cc", 0o644, b"one\n")  # only written again
    written: list[FilesChanged] = []
    with Journal(tmp_path / "journal", str) as journal:
        run = make_run(tmp_path, checkout, journal=journal)
        unused: Any = None
        workspace = AgentWorkspace(run, unused, allow, unused, unused, ())
        journal.write = lambda record, agent="": written.append(record)  # type: ignore[method-assign,assignment,arg-type]  # no header
        workspace.record_changes(CallPosition(1, "a"), ScanResult((*new, same, old), "as the host said"))
    assert [file.path for file in written[0].files] == ["old.txt", *(change.path for change in new[:1_998])]
    assert written[0].files[0].before_content == b"one\n"
    assert written[0].note == "as the host said; 58,002 more files changed, which the journal does not list"


def test_a76_large_contents_of_one_command_are_not_all_kept():
    files = [FileVersion(f"{n}", None, "aa", 0o644, bytes(1 << 20)) for n in range(20)]
    kept = within_limits(ScanResult(tuple(files)))
    assert [change.content is None for change in kept.files] == [False] * 16 + [True] * 4
    assert kept.note == "of 4 files it does not hold the contents"


def met(*names: str) -> list[Any]:
    return [SimpleNamespace(limits_met=names)]


def test_each_limit_is_counted_and_named_and_what_is_none_passed_over():
    assert limit_notes(met("memory", "file", "<script>", "memory")) == (
        "Commands met limits of the sandbox: the size of one file (1 ×), memory (2 ×).",
    )
    assert limit_notes(met("")) == ()


def test_commands_checks_and_background_commands_are_counted_once_each(tmp_path: Path):
    bench = Bench(tmp_path, make_repository(tmp_path / "tree", {"a.txt": "one\n"}))
    try:
        workspace = bench.start(limits={"file": 1 << 20, "open_files": 64})
        bash(workspace, "truncate -s 1T sparse")
        bash(workspace, "exec truncate -s 1T sparse", background=True)
        for _ in range(2):
            workspace.call("bash_output", {"id": 1, "wait": 20}, CancelToken())
        (ran,) = run_checks(workspace, [Check("bomb", "truncate -s 1T sparse", 20.0)])
        assert list(workspace.limits_met) == ["file"] * 3
        assert ran.run.state is CheckState.FAILED
        assert ran.run.note == "it met a limit of the sandbox: the size of one file"
    finally:
        bench.close()
