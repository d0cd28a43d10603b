"""Every version of every file of a run, from its journal, and the bytes of each.

Version 0 is the file before its first change. The journal has the text of files changed by edits, and the bytes of
files changed by commands.
"""

import codecs
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from bot.agent.journal import JournalFile, JournalLine
from bot.contracts.errors import UsageError
from bot.contracts.journal import FilesChanged, Response, Result
from bot.contracts.messages import ToolCall

BASE = "base"
OUTSIDE = "outside"
"""The `by` of a version that no journal line explains: the file is excluded from scans, or the scan ran out of
time."""


class Version(NamedTuple):
    """One state of a file. `sha256` is `None` for absent, empty for unknown; `by` names the tool.

    `content` are the bytes if the journal has them. `link` is the target of a symbolic link. `at` is in seconds since
    the start of the run. `call_id` and `agent` name the call.
    """

    path: str
    number: int
    sha256: str | None
    by: str
    turn: int = 0
    at: float = 0.0
    additions: int = 0
    removals: int = 0
    moved: bool = False
    content: bytes | None = None
    mode: int | None = None
    link: str | None = None
    call_id: str = ""
    agent: str = ""

    @property
    def what(self) -> str:
        """A short description of the change."""
        if self.link is not None:
            return "became a link"
        if self.sha256 is None:
            return "absent" if self.number == 0 else "deleted"
        if self.by == OUTSIDE:
            return "changed outside"
        if self.additions or self.removals:
            return f"+{self.additions} -{self.removals}"
        return "as it was" if self.number == 0 else "moved here" if self.moved else "changed"


Versions = Mapping[str, Sequence[Version]]
_History = dict[str, list[Version]]
_File = Mapping[str, Any]
"""A changed file in the metadata of an edit."""


def changed_files(metadata: Mapping[str, Any]) -> tuple[_File, ...]:
    """Return the changed files in an edit's metadata, which names one or several."""
    files = metadata.get("files", [metadata])
    return tuple(
        file
        for file in (files if isinstance(files, list) else ())
        if isinstance(file, Mapping)
        and isinstance(file.get("path"), str)
        and ("after_hash" in file or "diff" in file)
    )


def versions(journal: JournalFile) -> Versions:
    """Return all versions by path, in the order of the files' first changes."""
    history: _History = {}
    tools: dict[tuple[str, int, str], str] = {}
    for line in journal.everything:
        record = line.record
        if isinstance(record, Response):
            calls = (part for part in record.parts if isinstance(part, ToolCall))
            tools |= {(line.agent, record.turn, call.id): call.name for call in calls}
        elif isinstance(record, Result) and not record.is_error:
            for file in changed_files(record.metadata):
                if "after_hash" in file:
                    _add_edit(history, file, _origin(line, record, record.name))
        elif isinstance(record, FilesChanged):
            origin = _origin(line, record, tools.get((line.agent, record.turn, record.call_id), "a command"))
            for path, before, after, mode, content, link, old in record.files:
                # A scan says nothing of a file that was not there, nor of one that it had not read before.
                states = _before(history, path, before or "", old)
                states.append(
                    Version(path, len(states), after, content=content, mode=mode, link=link, **origin)
                )
    return history


def _origin(line: JournalLine, record: Result | FilesChanged, by: str) -> dict[str, Any]:
    """Return the fields of a version that say where it comes from."""
    return {"by": by, "turn": record.turn, "at": line.at, "call_id": record.call_id, "agent": line.agent}


def _add_edit(history: _History, file: _File, origin: Mapping[str, Any]) -> None:
    path, mode, content = file["path"], _number(file, "mode"), file.get("content")
    states = _before(history, path, file.get("before_hash"), mode=mode)
    states.append(
        Version(
            path,
            len(states),
            file["after_hash"],
            additions=_number(file, "additions") or 0,
            removals=_number(file, "removals") or 0,
            moved="moved_from" in file,
            content=_encoded(content, file["after_hash"]) if isinstance(content, str) else None,
            mode=mode,
            **origin,
        )
    )


def _before(
    history: _History, path: str, sha256: str | None, content: bytes | None = None, mode: int | None = None
) -> list[Version]:
    """Return the file's versions so far; the last one is its state just before a change."""
    states = history.setdefault(path, [])
    if not states:
        states.append(Version(path, 0, sha256, BASE, content=content, mode=mode))
    elif sha256 != "" and states[-1].sha256 != sha256:
        states.append(Version(path, len(states), sha256, OUTSIDE, content=content, mode=mode))
    return states


def version_content(version: Version, base: Callable[[str], bytes | None]) -> bytes | None:
    """Return the version's bytes, `None` if the file is absent. `base` returns those of a path before the run.

    Raises `UsageError` with the reason if they are unknown; no byte is guessed.
    """
    name = f"Version {version.number} of {version.path}"
    if version.sha256 is None:
        return None
    if version.link is not None:
        raise UsageError(f"{name} is a link to {version.link}, and links are not restored.")
    data = version.content
    if data is None and version.number == 0:
        data = base(version.path)
        if data is None and not version.sha256:
            return None
    if data is None:
        unknown = version.by in (BASE, OUTSIDE)
        why = "was made by nothing that the journal holds" if unknown else "was too large to record"
        raise UsageError(f"{name} {why}.")
    if version.sha256 and hashlib.sha256(data).hexdigest() != version.sha256:
        raise UsageError(f"{name} lacks what the redactor masked, or is of another repository.")
    return data


# As the tool host reads files: a mark decides, else UTF-8, else Latin-1, in which every byte survives.
_CODECS = ((b"", "utf-8"), (codecs.BOM_UTF8, "utf-8"), (b"", "latin-1"))


def _encoded(text: str, sha256: str | None) -> bytes:
    """Return the bytes of `text` in the encoding in which they have the hash `sha256`; in UTF-8 if in none, since
    a part of it was masked."""
    for mark, codec in _CODECS:
        with suppress(UnicodeEncodeError):
            data = mark + text.encode(codec)
            if hashlib.sha256(data).hexdigest() == sha256:
                return data
    return text.encode("utf-8", "replace")


def _number(file: _File, name: str) -> int | None:
    value = file.get(name)
    return value if isinstance(value, int) else None
