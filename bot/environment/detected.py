"""What detection reads from a repository: setup commands, folders, checks, and what it left out and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Read = Callable[[str], str | None]
"""The text of a file, `None` if there is none."""

LONGEST_COMMAND = 1_500
_SOURCE = re.compile(r"[^\w ./,:()\[\]-]")


class Kind(StrEnum):
    TESTS = "tests"
    TYPES = "types"
    LINT = "lint"


@dataclass(frozen=True, slots=True)
class Step:
    """One command of the setup. `egress` names the presets of registries that it downloads from, `makes` the folder
    that it creates: if that folder is there already, the step has nothing to do."""

    command: str
    source: str
    egress: tuple[str, ...] = ()
    makes: str = ""

    @property
    def guarded(self) -> str:
        """The command, skipped if `makes` exists."""
        return f"[ -d {self.makes} ] || ({self.command})" if self.makes else self.command


@dataclass(frozen=True, slots=True)
class DetectedCheck:
    """`command` works after the setup of this package; `plain` is for an environment whose tools are on PATH."""

    name: str
    command: str
    plain: str
    kind: Kind
    source: str


@dataclass(frozen=True, slots=True)
class Version:
    """`version` of `tool` (python, node, go, rust, java) that CI uses or the manifest asks for."""

    tool: str
    version: str
    source: str


@dataclass(frozen=True, slots=True)
class Omission:
    """A command or step that was not taken over, and why, in a few words for people."""

    what: str
    reason: str
    source: str


@dataclass(frozen=True, slots=True)
class Detected:
    setup: tuple[Step, ...] = ()
    bring: tuple[str, ...] = ()
    """Folders that the setup creates: they can be prepared elsewhere and brought instead."""
    checks: tuple[DetectedCheck, ...] = ()
    versions: tuple[Version, ...] = ()
    omissions: tuple[Omission, ...] = ()
    history: str = ""
    """What computes the version from git's tags, and so needs the whole history; empty if nothing does."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command line of CI or of a manifest: `words` without the assignments before them, `folder` relative to the
    root, `source` where it stands. `script` is set for a block that only makes sense as a whole."""

    words: tuple[str, ...]
    source: str
    folder: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    text: str = ""

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)


def guarded_folder(command: str) -> str:
    """The folder without which alone a command of `Step.guarded` has something to do; empty for any other command."""
    match = re.match(r"\[ -d ([\w./-]+) \] \|\| \(", command)
    return match[1] if match else ""


def source_of(file: str, detail: str = "") -> str:
    """A place for people and for comments in YAML: whatever else a name holds becomes a question mark."""
    return _SOURCE.sub("?", f"{file}, {detail}" if detail else file)[:120]


def is_writable(command: str) -> bool:
    """Whether a command may be put into a policy: printable, on one line, and without expressions of Actions."""
    return 0 < len(command) <= LONGEST_COMMAND and command.isprintable() and "${{" not in command
