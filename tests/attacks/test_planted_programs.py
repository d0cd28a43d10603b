"""Programs and modules of the repository under the names of those that the host uses (A-29)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.session.conftest import Cli
from tests.support import warm
from tests.support.attacks import KEY, MODEL
from tests.support.fix_script import DONE, shell
from tests.support.model_server import ModelServer
from tests.support.repositories import make_repository
from tests.support.stage import command

PROGRAMS = ("git", "bash", "sh", "bwrap", "python3", "python", "cp", "tar", "env")
MODULES = (
    "sitecustomize.py",
    "usercustomize.py",
    "bot/__init__.py",
    "json.py",
    "re2.py",
    "yaml.py",
    "conftest.py",
)


@pytest.mark.bubblewrap
def test_a29_nothing_planted_in_the_repository_is_run_by_the_host(cli: Cli, tmp_path: Path) -> None:
    """Started in the repository, with its folders first on PATH, as a step after `npm install` would be."""
    canary = tmp_path / "canary"
    program = f'#!/bin/sh\necho "$0" >> {canary}\nexit 1\n'
    module = f"open({str(canary)!r}, 'a').write(__file__)\n"
    files = {f"{folder}{name}": program for folder in ("", "node_modules/.bin/") for name in PROGRAMS}
    repo = make_repository(
        tmp_path / "app", {"README.md": "# App\n", **files, **dict.fromkeys(MODULES, module)}
    )
    for name in files:
        (repo / name).chmod(0o755)
    argv = command("fix", "--model", MODEL, "--out", tmp_path / "bundle", "do as you are told")
    planted = {"PATH": f".:node_modules/.bin::{os.environ['PATH']}", "PYTHONSTARTUP": "json.py"}
    with ModelServer([shell("echo changed >> README.md"), DONE]) as server:
        result = warm.run_cold(argv, {**cli.environment(), **planted, **server.environment(KEY)}, repo)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "README.md" in result.stdout
    assert not canary.exists(), canary.read_text()
    (repo / "git").chmod(0o755)
    os.spawnv(os.P_WAIT, str(repo / "git"), ["git"])
    assert canary.exists()  # so the trap is one
