"""Every version of every file of a run, from its journal: what tools and commands made of it, one after the other.

Version 0 is the file as it was before its first change. Edits are journalled as diffs between hashes, what commands
changed with its bytes: nothing is kept twice, so a version's bytes are worked out from the one before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.agent.journal_file import JournalFile
from bot.agent.unified import patched
from bot.contracts.errors import UsageError
from bot.contracts.journal import FilesChanged, FileVersion, Response, Result
from bot.contracts.messages import ToolCall

BASE = "base"
OUTSIDE = "outside"
"""The `by` of a version that nothing in the journal made: a file that scans leave out, or one they had no time for."""


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a file. `sha256` is `None` where it is absent, empty where it is not known; `by` names the tool.

    The bytes are `content` where the journal has them, else `diff` over the version `parent` (a path and a number).
    `link` is the target where it became a symbolic link. `at` is in seconds since the run began. `call_id` and `agent`
    name the call that made it, and whose.
    """

    path: str
    number: int
    sha256: str | None
    by: str
    turn: int = 0
    at: float = 0.0
    diff: str = ""
    additions: int = 0
    removals: int = 0
    parent: tuple[str, int] | None = None
    content: bytes | None = None
    mode: int | None = None
    link: str | None = None
    oversize: bool = False
    call_id: str = ""
    agent: str = ""

    @property
    def what(self) -> str:
        """What became of the file, in a word or two."""
        if self.link is not None:
            return "became a link"
        if self.sha256 is None:
            return "absent" if self.number == 0 else "deleted"
        if self.by == OUTSIDE:
            return "changed outside"
        if self.additions or self.removals:
            return f"+{self.additions} -{self.removals}"
        return (
            "as it was" if self.number == 0 else "moved here" if "rename to" in self.diff[:500] else "changed"
        )


Versions = Mapping[str, Sequence[Version]]


def changed_files(metadata: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """What an edit's metadata says of each file it changed, whether it was one or several."""
    files = metadata.get("files", [metadata])
    found = files if isinstance(files, list) else []
    return tuple(file for file in found if isinstance(file, Mapping) and _is_change(file))


def _is_change(file: Mapping[str, Any]) -> bool:
    return isinstance(file.get("path"), str) and ("after_hash" in file or "diff" in file)


def versions(journal: JournalFile) -> Versions:
    """All of them, by path, in the order in which the files first changed."""
    history = _History()
    tools: dict[tuple[str, int, str], str] = {}
    for line in journal.everything:
        record = line.record
        if isinstance(record, Response):
            calls = (part for part in record.parts if isinstance(part, ToolCall))
            tools |= {(line.agent, record.turn, call.id): call.name for call in calls}
        elif isinstance(record, Result) and not record.is_error:
            # A move's source first: its last version is what the new file is made of.
            hashed = [file for file in changed_files(record.metadata) if "after_hash" in file]
            for file in sorted(hashed, key=lambda file: "moved_to" not in file):
                history.edited(file, record.name, record.turn, line.at, (record.call_id, line.agent))
        elif isinstance(record, FilesChanged):
            by = (
                tools.get((line.agent, record.turn, record.call_id), "a command")
                if record.turn
                else "the run before"
            )
            for changed in record.files:
                history.found(changed, by, record.turn, line.at, (record.call_id, line.agent))
    return history.versions


class _History:
    def __init__(self) -> None:
        self.versions: dict[str, list[Version]] = {}

    def edited(self, file: Mapping[str, Any], by: str, turn: int, at: float, call: tuple[str, str]) -> None:
        path = file["path"]
        mode = _number(file, "mode")
        known = self._before(path, file.get("before_hash"), mode=mode)
        parent = (path, len(known) - 1)
        source = file.get("moved_from")
        if isinstance(source, str) and len(self.versions.get(source, ())) > 1:
            parent = (source, len(self.versions[source]) - 2)
        known.append(
            Version(
                path, len(known), file["after_hash"], by, turn, at, str(file.get("diff", "")),
                _number(file, "additions") or 0, _number(file, "removals") or 0, parent, mode=mode,
                call_id=call[0], agent=call[1],
            )
        )  # fmt: skip

    def found(self, file: FileVersion, by: str, turn: int, at: float, call: tuple[str, str]) -> None:
        # A scan says nothing of a file that was not there, nor of one that it had not read before.
        known = self._before(file.path, file.before or "", file.before_content)
        known.append(
            Version(
                file.path, len(known), file.after, by, turn, at, content=file.content, mode=file.mode,
                link=file.link, oversize=file.oversize, call_id=call[0], agent=call[1],
            )
        )  # fmt: skip

    def _before(
        self, path: str, sha256: str | None, content: bytes | None = None, mode: int | None = None
    ) -> list[Version]:
        """The file's versions so far, the last of them being what it was just before a change."""
        known = self.versions.setdefault(path, [])
        if not known:
            known.append(Version(path, 0, sha256, BASE, content=content, mode=mode))
        elif sha256 != "" and known[-1].sha256 != sha256:
            known.append(Version(path, len(known), sha256, OUTSIDE, content=content, mode=mode))
        return known


def content(history: Versions, version: Version, base: Callable[[str], bytes | None]) -> bytes | None:
    """The version's bytes, `None` where the file is absent. `base` gives those of a path before the run.

    Raises `UsageError` where they cannot be had, and says why: no byte is ever guessed.
    """
    # Not by recursion: a file can have more versions than Python has stack.
    chain: list[Version] = [version]
    while (last := chain[-1]).parent is not None and last.content is None and last.sha256 is not None:
        path, number = last.parent
        chain.append(history[path][number])
    data: bytes | None = None
    for one in reversed(chain):
        data = _content(one, data, base)
    return data


def _content(version: Version, before: bytes | None, base: Callable[[str], bytes | None]) -> bytes | None:
    name = f"Version {version.number} of {version.path}"
    if version.sha256 is None:
        return None
    if version.link is not None:
        raise UsageError(f"{name} is a link to {version.link}, and links are not restored.")
    data = version.content
    if data is None and version.parent is not None and version.sha256:
        data = patched(before or b"", version.diff, version.sha256)
        if data is None:
            raise UsageError(
                f"{name} cannot be worked out: its diff was masked by the redactor, or cut for its size."
            )
    elif data is None and version.number == 0:
        data = base(version.path)
        if data is None and not version.sha256:
            return None
    if data is None:
        why = "was too large to record" if version.oversize else "was made by nothing that the journal holds"
        raise UsageError(f"{name} {why}.")
    if version.sha256 and hashlib.sha256(data).hexdigest() != version.sha256:
        raise UsageError(f"{name} lacks what the redactor masked, or is of another repository.")
    return data


def _number(file: Mapping[str, Any], name: str) -> int | None:
    value = file.get(name)
    return value if isinstance(value, int) else None
