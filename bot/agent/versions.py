"""Every version of every file of a run, from its journal, and the bytes of each.

Version 0 is the file before its first change. The journal has edits as diffs between hashes and files changed
by commands as bytes, so a version's bytes are computed from the version before.
"""

import codecs
import hashlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
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

    The bytes are `content` if the journal has them, else `diff` applied to the version `parent` (a path and a
    number). `link` is the target of a symbolic link. `at` is in seconds since the start of the run. `call_id`
    and `agent` name the call.
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
        return (
            "as it was" if self.number == 0 else "moved here" if "rename to" in self.diff[:500] else "changed"
        )


Versions = Mapping[str, Sequence[Version]]


def changed_files(metadata: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
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
    history: dict[str, list[Version]] = {}
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


def _add_edit(history: dict[str, list[Version]], file: Mapping[str, Any], origin: Mapping[str, Any]) -> None:
    path, mode = file["path"], _number(file, "mode")
    states = _before(history, path, file.get("before_hash"), mode=mode)
    parent = (path, len(states) - 1)
    source = file.get("moved_from")
    if isinstance(source, str) and len(history.get(source, ())) > 1:
        parent = (source, len(history[source]) - 2)
    states.append(
        Version(
            path,
            len(states),
            file["after_hash"],
            diff=str(file.get("diff", "")),
            additions=_number(file, "additions") or 0,
            removals=_number(file, "removals") or 0,
            parent=parent,
            mode=mode,
            **origin,
        )
    )


def _before(
    history: dict[str, list[Version]],
    path: str,
    sha256: str | None,
    content: bytes | None = None,
    mode: int | None = None,
) -> list[Version]:
    """Return the file's versions so far; the last one is its state just before a change."""
    states = history.setdefault(path, [])
    if not states:
        states.append(Version(path, 0, sha256, BASE, content=content, mode=mode))
    elif sha256 != "" and states[-1].sha256 != sha256:
        states.append(Version(path, len(states), sha256, OUTSIDE, content=content, mode=mode))
    return states


def version_content(history: Versions, version: Version, base: Callable[[str], bytes | None]) -> bytes | None:
    """Return the version's bytes, `None` if the file is absent. `base` returns those of a path before the run.

    Raises `UsageError` with the reason if they cannot be computed; no byte is guessed.
    """
    # Not by recursion: a file can have more versions than Python has stack.
    chain: list[Version] = [version]
    while (last := chain[-1]).parent is not None and last.content is None and last.sha256 is not None:
        path, number = last.parent
        chain.append(history[path][number])
    data: bytes | None = None
    for one in reversed(chain):
        data = _content_after(one, data, base)
    return data


def _content_after(
    version: Version, before: bytes | None, base: Callable[[str], bytes | None]
) -> bytes | None:
    name = f"Version {version.number} of {version.path}"
    if version.sha256 is None:
        return None
    if version.link is not None:
        raise UsageError(f"{name} is a link to {version.link}, and links are not restored.")
    data = version.content
    if data is None and version.parent is not None and version.sha256:
        data = apply_verified(before or b"", version.diff, version.sha256)
        if data is None:
            raise UsageError(
                f"{name} cannot be worked out: its diff was masked by the redactor, or cut for its size."
            )
    elif data is None and version.number == 0:
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


def _number(file: Mapping[str, Any], name: str) -> int | None:
    value = file.get(name)
    return value if isinstance(value, int) else None


_HUNK = re.compile(r"@@ -(\d+),(\d+) \+\d+,(\d+) @@\n\Z")
_NO_END = "\\ No newline at end of file"

# As the tool host reads files: a mark decides, else UTF-8, else Latin-1, in which every byte survives.
_CODECS = ((codecs.BOM_UTF8, "utf-8"), (b"", "utf-8"), (b"", "latin-1"))


def apply_verified(before: bytes, diff: str, sha256: str) -> bytes | None:
    """Return `before` with `diff` applied if the result has the hash `sha256`, else `None`."""
    for mark, codec in _CODECS:
        if not before.startswith(mark):
            continue
        try:
            after = mark + apply_diff(before[len(mark) :].decode(codec), diff).encode(codec)
        except ValueError:
            continue
        if hashlib.sha256(after).hexdigest() == sha256:
            return after
    return None


def apply_diff(text: str, diff: str) -> str:
    """Return `text` with the diff applied. The caller recognises by a hash what comes of a diff that is not whole, or
    of another text."""
    lines = io.StringIO(text, newline="\n").readlines()
    rows: list[str] = []
    for row in io.StringIO(diff, newline="\n"):
        if row.startswith(_NO_END) and rows:
            rows[-1] = rows[-1].removesuffix("\n")
        else:
            rows.append(row)
    output: list[str] = []
    position, old, new = 0, 0, 0
    for row in rows:
        if old or new:
            if row[0] in " -":
                position, old = position + 1, old - 1
            if row[0] in " +":
                output.append(row[1:])
                new -= 1
        elif hunk := _HUNK.match(row):
            first, old, new = map(int, hunk.groups())
            start = first - 1 if old else first
            output += lines[position:start]
            position = start
    return "".join(output + lines[position:])
