"""Results of detection: setup steps, checks, and omissions with their reasons."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from bot.parsing.parser import ParseError, Parser

LONGEST_COMMAND = 1_500
_SOURCE = re.compile(r"[^\w ./,:()\[\]-]")


class Kind(StrEnum):
    TESTS = "tests"
    TYPES = "types"
    LINT = "lint"


@dataclass(frozen=True, slots=True)
class Step:
    """One command of the setup. `egress` names the presets of the registries that it uses. `makes` is the folder that
    it creates; if that exists, the step is skipped."""

    command: str
    source: str
    egress: tuple[str, ...] = ()
    makes: str = ""

    @property
    def guarded(self) -> str:
        """The command, guarded by a test for `makes`."""
        return f"[ -d {self.makes} ] || ({self.command})" if self.makes else self.command


@dataclass(frozen=True, slots=True)
class DetectedCheck:
    """`command` works after our setup; `plain` is for an environment with the tools on PATH."""

    name: str
    command: str
    plain: str
    kind: Kind
    source: str


@dataclass(frozen=True, slots=True)
class Omission:
    """A command or step that detection skipped, and why."""

    what: str
    reason: str
    source: str


@dataclass(frozen=True, slots=True)
class Read:
    """Reads the files of one commit below `prefix`. A call returns the text of one, `None` if there is none."""

    text: Callable[[str], str | None]
    parser: Parser
    prefix: str = ""
    unread: dict[str, Omission] = field(default_factory=dict)
    """Files that could not be parsed, by path."""
    _values: dict[tuple[str, str], Any] = field(default_factory=dict)

    def __call__(self, path: str) -> str | None:
        return self.text(self.prefix + path)

    def below(self, folder: str) -> Read:
        return replace(self, prefix=f"{folder}/" if folder else "")

    def parsed(self, path: str, function: Callable[[str], Any], text: str | None = None) -> Any:
        """Return what `function` returns for the file, or for `text`, which stands in it; `None` if there is no file or
        it cannot be parsed. The value is the repository's, and may be anything that JSON can hold."""
        path, content = self.prefix + path, self(path) if text is None else text
        if not content:
            return None
        key = (path, function.__qualname__)
        if key not in self._values:
            try:
                self._values[key] = self.parser.parse(function, content)
            except ParseError as error:
                source = source_of(path)
                self._values[key] = None
                self.unread[path] = Omission(
                    source, f"it could not be parsed, and was left out: {error}", source
                )
        return self._values[key]


@dataclass(frozen=True, slots=True)
class Detection:
    setup: tuple[Step, ...] = ()
    bring: tuple[str, ...] = ()
    """Folders that the setup creates. `bring:` can provide them instead."""
    checks: tuple[DetectedCheck, ...] = ()
    omissions: tuple[Omission, ...] = ()
    unread: tuple[Omission, ...] = ()
    """Files that could not be parsed. The rest is as if they were not there."""
    history: str = ""
    """The tool that computes the version from git tags and needs the whole history; empty for none."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command of CI or of a manifest. `words` are without leading assignments; `folder` is relative to the root;
    `source` names the file. `text` is the original text."""

    words: tuple[str, ...]
    source: str
    folder: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    text: str = ""

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)


def guarded_folder(command: str) -> str:
    """Return the folder in the guard of `Step.guarded`; empty for any other command."""
    match = re.match(r"\[ -d ([\w./-]+) \] \|\| \(", command)
    return match[1] if match else ""


def source_of(file: str, detail: str = "") -> str:
    """Return a position for people and for YAML comments. Other characters become question marks."""
    return _SOURCE.sub("?", f"{file}, {detail}" if detail else file)[:120]


def is_writable(command: str) -> bool:
    """Whether a command can go into a policy: printable, on one line, without expressions of Actions."""
    return 0 < len(command) <= LONGEST_COMMAND and command.isprintable() and "${{" not in command
