"""What a run says of the limits that its commands met."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

from bot.contracts.cancel import CancelToken
from bot.contracts.outcome import CheckState
from bot.evidence.check import Check
from bot.session.workspaces.start import LIMIT_NAMES, limit_notes
from bot.toolhost import exit_messages
from tests.support.rounds import run_checks
from tests.support.workspaces import Bench, bash, make_tree


def test_each_limit_is_counted_and_named_and_what_is_none_passed_over() -> None:
    assert limit_notes(["memory", "file", "<script>", "memory"]) == (
        "Commands met limits of the sandbox: the size of one file (1 ×), memory (2 ×).",
    )
    assert limit_notes([""]) == ()


def test_every_limit_that_the_host_names_has_words_here() -> None:
    tables = [
        node for node in ast.walk(ast.parse(inspect.getsource(exit_messages))) if isinstance(node, ast.Dict)
    ]
    named = {key.value for key in tables[0].keys if isinstance(key, ast.Constant)}
    assert named == set(LIMIT_NAMES)


def test_commands_checks_and_background_commands_are_counted_once_each(tmp_path: Path) -> None:
    bench = Bench(tmp_path, make_tree(tmp_path / "tree", {"a.txt": "one\n"}))
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
