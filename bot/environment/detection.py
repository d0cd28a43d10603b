"""Results of detection: checks, the setup that they need where nothing is installed, and what was left out, and why."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bot.ecosystems.record import Setup, Use
from bot.ecosystems.services import Service
from bot.parsing.parser import ParseError, Parser


class CIStep(NamedTuple):
    """A step of CI with known expressions filled in: `script` if it runs one, `name` for people, `folder` relative to
    the root, `raw` its keys for another job, with `reason` why none can take it."""

    name: str
    source: str
    script: str = ""
    folder: str = ""
    environment: Mapping[str, str] = {}
    raw: Mapping[str, Any] = {}
    reason: str = ""
    versions: Mapping[str, str] = {}
    """Those in the files that its inputs name, by input."""


class DetectedCheck(NamedTuple):
    """`command` is CI's own; `source` names the file. A `fallback` is the usual command for a manifest, for when no
    test of CI can run here; a `part` is from another leg of the matrix than the plainest."""

    name: str
    command: str
    use: Use
    source: str
    fallback: bool = False
    part: bool = False


class Omission(NamedTuple):
    """A step of CI that is no check here, and why."""

    what: str
    reason: str
    source: str


@dataclass(frozen=True, slots=True)
class Read:
    """The files of one commit: a `bot.ecosystems.record.Files`."""

    paths: frozenset[str]
    text: Callable[[str], str | None]
    parser: Parser
    unread: dict[str, Omission] = field(default_factory=dict)
    """Files that could not be parsed, by path."""
    _values: dict[tuple[str, str], Any] = field(default_factory=dict)

    def parsed(self, path: str, function: Callable[[str], Any]) -> Any:
        """Return what `function` returns for the file; `None` if there is no file or it cannot be parsed. The value is
        the repository's, and may be anything that JSON can hold."""
        content = self.text(path)
        if not content:
            return None
        key = (path, function.__qualname__)
        if key not in self._values:
            try:
                self._values[key] = self.parser.parse(function, content)
            except ParseError as error:
                source, self._values[key] = source_of(path), None
                reason = f"it could not be parsed, and was left out: {error}"
                self.unread[path] = Omission(source, reason, source)
        return self._values[key]


class Detection(NamedTuple):
    setup: tuple[Setup, ...] = ()
    checks: tuple[DetectedCheck, ...] = ()
    omissions: tuple[Omission, ...] = ()
    unread: tuple[Omission, ...] = ()
    """Files that could not be parsed. The rest is as if they were not there."""
    prepare: tuple[CIStep, ...] = ()
    """CI's own set-up steps."""
    services: tuple[Service, ...] = ()
    """The servers that the checks need."""


def source_of(file: str, detail: str = "") -> str:
    """Return a position for people and for YAML comments. Other characters become question marks."""
    return re.sub(r"[^\w -~]", "?", f"{file}, {detail}" if detail else file)[:120]
