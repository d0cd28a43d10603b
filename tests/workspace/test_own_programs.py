"""Of our own installation those inside see the programs that they need, and no folder of it."""

import os
import sys
from pathlib import Path

import pytest

from bot.workspace import start
from bot.workspace.sandbox.backends import bubblewrap, landlock
from tests.support.files import write_file
from tests.support.workspaces import Bench, bash

HERE = Path(os.path.realpath(os.path.join(sys.prefix, "bin")))


@pytest.mark.parametrize("wall", [pytest.param("bubblewrap", marks=pytest.mark.bubblewrap), "landlock"])
def test_ruff_and_ty_run_inside_and_what_lies_beside_them_is_not_there(bench: Bench, wall: str):
    confinement = bubblewrap() if wall == "bubblewrap" else landlock()
    workspace = bench.start(confinement)
    programs = start.find_own_programs(moved=confinement.moves, writable=())
    places = {name: inside for name, (_, inside) in programs.items()}
    command = f"{places['ruff']} --version && {places['ty']} --version"
    said = bash(
        workspace, f"{command}; cat {HERE}/activate; ls {HERE.parent}; touch {places['ruff']}"
    ).content
    assert "ruff 0" in said
    assert "ty 0" in said
    assert "deactivate" not in said
    assert "pyvenv.cfg" not in said
    # The last where another process runs it just then.
    assert any(why in said for why in ("Permission denied", "Read-only file system", "Text file busy"))


def test_what_commands_could_change_is_not_run_as_ours():
    assert start.find_own_programs(moved=False, writable=(Path(os.path.realpath(sys.prefix)),)) == {}


def test_a_script_of_that_name_is_no_program_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "bin").mkdir()
    for name in start.CHECKERS:
        write_file(tmp_path / "bin" / name, "#!/bin/sh\n", 0o755)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert start.find_own_programs(moved=True, writable=()) == {}
