"""Workspaces on small real repositories, for tests of everything that runs in one."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.tools import ToolOutcome
from bot.workspace.client import Answer, Question, Workspace
from bot.workspace.sandbox.choose import Off, bubblewrap, landlock
from bot.workspace.sandbox.confinement import Confinement
from bot.workspace.sandbox.landlock import OLDEST, version

GIT = ["git", "-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main"]

BACK_ENDS = {"bubblewrap": bubblewrap, "landlock": landlock}
EACH_BACK_END = (
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param(
        "landlock", marks=pytest.mark.skipif(version() < OLDEST, reason="this kernel has no Landlock")
    ),
)


def make_tree(folder: Path, files: Mapping[str, str]) -> Path:
    """A repository with one commit that holds `files`."""
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "Base"]):
        subprocess.run([*GIT, *arguments], cwd=folder, check=True, env={"PATH": os.environ["PATH"]})
    return folder


def allow(_: Question) -> Answer:
    return Answer(True)


class Bench:
    """A tree, and workspaces on it that all end with the test."""

    def __init__(self, folder: Path, tree: Path) -> None:
        self.folder = folder
        self.tree = tree
        self._open: list[Workspace] = []

    def start(self, confinement: Confinement | None = None, **options: Any) -> Workspace:
        folder = self.folder / f"workspace-{len(self._open)}"
        folder.mkdir()
        settings = {"environment": os.environ, "ask": allow} | options
        workspace = Workspace.start(confinement or Off(), tree=self.tree, folder=folder, **settings)
        self._open.append(workspace)
        return workspace

    def close(self) -> None:
        for workspace in self._open:
            workspace.close()


def bash(workspace: Workspace, command: str, **more: Any) -> ToolOutcome:
    return workspace.call("bash", {"command": command, **more}, CancelToken())


def running(mark: str) -> list[int]:
    """The processes on this machine with `mark` on their command line, zombies apart."""
    found: list[int] = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                if mark.encode() in Path(f"/proc/{entry}/cmdline").read_bytes():
                    found.append(int(entry))
            except OSError:
                continue
    return found


def eventually(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether `condition` comes true within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
