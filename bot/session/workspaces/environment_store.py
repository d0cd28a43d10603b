"""The environment that `prepare: auto` installs, at a fixed path, from which the action's cache saves it.

Its key is a hash of all its inputs. What is restored under another key is not used."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot import __version__
from bot.checkout.clone import Checkout
from bot.environment.detection import guarded_folder
from bot.session.context.base import Preparation
from bot.session.run_folder import RunFolder

_FORMAT = 1
_PROGRAMS = ("python3", "node", "npm", "go", "cargo", "java", "mvn", "gradle", "gcc")
_NO_INPUT = r"(?:\.github|docs?)/.*|(?!(?:.*/)?setup\.py\Z).*\.(?:pyi?|[cm]?jsx?|[cm]?tsx?|md|rst{more})"
"""Files that no setup depends on: the project is installed in editable mode."""
_UNLESS_MADE = {".venv": "rs|java|kts?", "vendor": "go"}
"""Sources that setup reads only to make that folder: extensions are compiled, `go mod vendor` reads imports."""


@dataclass(frozen=True, slots=True)
class EnvironmentRecord:
    """The record of a setup: `made` are its files that git does not ignore, `failure` is why it failed."""

    made: frozenset[str] = frozenset()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class EnvironmentStore:
    """`folder` has the prepared tree and the HOME of its setup; `key` identifies the inputs of the environment."""

    folder: RunFolder
    key: str

    def read(self) -> EnvironmentRecord | None:
        """The record, or `None` if there is none with this key."""
        try:
            content = json.loads(self._file.read_bytes())
            if content["key"] == self.key:
                return EnvironmentRecord(frozenset(map(str, content["made"])), str(content["failure"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return None

    def write(self, record: EnvironmentRecord) -> None:
        content = {"key": self.key, "made": sorted(record.made), "failure": record.failure}
        self._file.write_text(json.dumps(content))

    @property
    def _file(self) -> Path:
        return self.folder.root / "prepared.json"


def environment_store(
    preparation: Preparation, checkout: Checkout, mount: Path | None, environment: Mapping[str, str]
) -> EnvironmentStore | None:
    """The store that the action names. `mount` is where commands see the tree, since programs in an environment name
    it; without a fixed one there is no store."""
    path = environment.get("SLASH_AGENT_PREPARED", "")
    if not path or mount is None:
        return None
    folder = RunFolder(Path(os.path.realpath(path)))
    return EnvironmentStore(folder, _key(preparation, checkout, mount, environment))


def _key(preparation: Preparation, checkout: Checkout, mount: Path, environment: Mapping[str, str]) -> str:
    steps = [(step.command, step.egress) for step in preparation.setup]
    folders = {guarded_folder(command).rpartition("/")[2] for command, _ in steps}
    more = "".join(f"|{names}" for folder, names in _UNLESS_MADE.items() if folder not in folders)
    no_input = re.compile(_NO_INPUT.format(more=more), re.DOTALL)
    listing = checkout.git.run("ls-tree", "-r", "-z", preparation.sha)
    files = [
        line
        for line in os.fsdecode(listing).split("\0")
        if line and not no_input.fullmatch(line.partition("\t")[2])
    ]
    machine = (
        platform.machine(),
        platform.libc_ver(),
        environment.get("ImageOS"),
        environment.get("ImageVersion"),
        *(_program(name, environment.get("PATH", "")) for name in _PROGRAMS),
    )
    parts = json.dumps([_FORMAT, __version__, str(mount), machine, steps, preparation.versions, files])
    return f"slash-agent-environment-{hashlib.sha256(parts.encode()).hexdigest()}"


def _program(name: str, path: str) -> tuple[str, int]:
    """Which one it is: a version is part of the path or of the file's size."""
    program = os.path.realpath(shutil.which(name, path=path) or "/")
    return program, os.stat(program).st_size
