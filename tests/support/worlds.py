"""The machines on which the sandbox must hold: each back end, as root, as another user, and in a container."""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.tools import ToolOutcome
from bot.workspace.sandbox.landlock import OLDEST, version
from tests.support import machines, supervisor
from tests.support.repositories import make_repository

SYSTEM_PYTHON = "/usr/bin/python3"
"""A Python that every account can run."""


@dataclass(frozen=True)
class World:
    """`less` are the restrictions (`tests/support/machines.py`) of its supervisor."""

    back_end: str
    less: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "-".join((self.back_end, *self.less))

    @property
    def account(self) -> int:
        return machines.NOBODY if "nobody" in self.less else os.getuid()

    def missing(self) -> str:
        """Why this machine cannot provide it; empty if it can."""
        if self.back_end == "landlock" and version() < OLDEST:
            return f"this kernel has no Landlock of version {OLDEST}"
        if "nobody" in self.less and os.getuid() != 0:
            return "only root can become another account; this is one already"
        if "nobody" in self.less and not _system_python_will_do():
            return f"{SYSTEM_PYTHON} is older than 3.11"
        return ""

    def python(self) -> str:
        return SYSTEM_PYTHON if "nobody" in self.less else sys.executable

    def command(self, *arguments: object) -> list[str]:
        """A Python command line on this machine."""
        before = machines.restricted(*self.less, python=self.python()) if self.less else []
        return [*before, self.python(), "-I", "-S", *map(str, arguments)]


WORLDS = (
    World("bubblewrap"),
    World("landlock"),
    World("bubblewrap", ("nobody",)),
    World("landlock", ("nobody",)),
    World("landlock", ("docker",)),
    World("landlock", ("docker", "nobody")),
)


def _marks(world: World) -> list[pytest.MarkDecorator]:
    conditions = {"bubblewrap": world.back_end == "bubblewrap", "slow": bool(world.less)}
    return [getattr(pytest.mark, name) for name, applies in conditions.items() if applies]


worlds = pytest.mark.parametrize(
    "world",
    [pytest.param(one, id=one.name, marks=_marks(one)) for one in WORLDS],
    scope="module",
    indirect=True,
)
"""For a whole module: runs each of its tests in each world, with one tool host for each."""


class Inside:
    """A tool host whose supervisor is a separate process. `folder` contains the tree."""

    def __init__(self, world: World, folder: Path, process: subprocess.Popen[str]) -> None:
        self.world = world
        self.folder = folder
        self.tree = folder / "tree"
        self.process = process
        self.facts = SimpleNamespace(**self._answer())

    def call(self, tool: str, arguments: Mapping[str, Any], cancel: CancelToken | None = None) -> ToolOutcome:
        assert self.process.stdin is not None
        print(json.dumps({"tool": tool, "arguments": arguments}), file=self.process.stdin, flush=True)
        return ToolOutcome(**self._answer())

    def run(self, command: str, **more: Any) -> ToolOutcome:
        return self.call("bash", {"command": command, **more})

    def python(self, script: str) -> str:
        """The output of a Python script in the sandbox, without the exit code line."""
        command = f"{os.path.realpath(self.world.python())} -I - <<'END-OF-SCRIPT'\n{script}\nEND-OF-SCRIPT"
        return self.run(command).content.rsplit("[exit code", 1)[0].strip()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None and self.process.stderr is not None
        line = self.process.stdout.readline()
        if not line:
            self.process.wait(120)
            raise AssertionError(f"the supervisor ended: {self.process.stderr.read()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def opened(world: World, **environment: str) -> Iterator[Inside]:
    """A supervisor in `world` with one tool host on a tree of one file. Skips the test if `world` is missing."""
    if reason := world.missing():
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="world-")).resolve()
    try:
        make_repository(folder / "tree", {"a.txt": "one\n"})
        (folder / "run").mkdir()
        if world.account != os.getuid():
            subprocess.run(["chown", "-R", str(world.account), folder], check=True)
        command = world.command(supervisor.__file__, world.back_end, folder / "tree", folder / "run")
        with subprocess.Popen(
            command,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "LC_CANARY": "supervisor", **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield Inside(world, folder, process)
            finally:
                assert process.stdin is not None
                process.stdin.close()
                process.wait(120)
    finally:
        shutil.rmtree(folder)


@functools.cache
def _system_python_will_do() -> bool:
    command = [SYSTEM_PYTHON, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    return os.path.exists(SYSTEM_PYTHON) and subprocess.run(command, check=False).returncode == 0
