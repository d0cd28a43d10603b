"""A change as suggestions on a pull request's diff: all of it, or a reason why it cannot be said in them.

What comes of applying them is held against what the change makes of each file, byte for byte. Line ends other than
LF, and a last line without one, are left to a commit: what a server does with them is not written down anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from bot.contracts.pulls import Side
from bot.contracts.review import Finding, Severity
from bot.findings.anchors import Span, anchor, lines_at
from bot.findings.hunks import Diff, FileDiff, FileStatus, Hunk

MOST = 40
# Lines between two edits that become one suggestion: fewer to read, and to click.
_NEAR = 3


class Suggestion(NamedTuple):
    """`text` are the lines `first` to `last` of the head; `suggestion` is what they become, empty for nothing."""

    path: str
    first: int
    last: int
    text: str
    suggestion: str


@dataclass(frozen=True, slots=True)
class Changed:
    """One file of the change: its part of the diff, its bytes at the head and with the change."""

    diff: FileDiff
    before: bytes
    after: bytes


class _Edit(NamedTuple):
    """The lines `first` to `last` become `lines`; `last` is `first - 1` where lines are put in between."""

    first: int
    last: int
    lines: tuple[str, ...]


def as_suggestions(changes: Iterable[Changed], shown: Diff) -> tuple[Suggestion, ...] | str:
    """In the order of files and lines; or a clause that says what cannot be suggested. `shown` is the pull request's
    diff."""
    made: list[Suggestion] = []
    for change in changes:
        found = _of_file(change, shown)
        if isinstance(found, str):
            return found
        made += found
        if len(made) > MOST:
            return f"it would be more than {MOST} suggestions"
    return tuple(made) or "it changes nothing"


def applied(text: str, suggestions: Iterable[Suggestion]) -> str:
    """`text` with the suggestions for it applied."""
    lines = text.split("\n")
    for one in sorted(suggestions, key=lambda one: one.first, reverse=True):
        lines[one.first - 1 : one.last] = one.suggestion.split("\n") if one.suggestion else []
    return "\n".join(lines)


def _of_file(change: Changed, shown: Diff) -> list[Suggestion] | str:
    diff, path = change.diff, change.diff.path
    if not path.isprintable():
        return "a file's name holds what does not show"
    if diff.status is not FileStatus.MODIFIED or diff.old_mode != diff.new_mode or diff.binary:
        return f"it does more with {path} than to change its lines"
    file = shown.find(path)
    if file is None or file.path != path:
        return f"{path} is not in the diff"
    try:
        before, after = change.before.decode(), change.after.decode()
    except UnicodeDecodeError:
        return f"{path} is not UTF-8"
    lines = before.split("\n")
    edits: list[_Edit] = []
    for edit in (edit for hunk in diff.hunks for edit in _edits(hunk)):
        _join(edits, edit, lines, file)
    widened = [_widened(edit, lines, file) for edit in edits]
    if None in widened:
        return f"it changes lines of {path} that the diff does not show"
    edits = [edit for edit in widened if edit is not None]
    made = [_suggestion(path, edit, lines) for edit in edits]
    if "\r" in before or "\r" in after or any(edit.last >= len(lines) for edit in edits):
        return f"the line ends of {path} would not be safe in a suggestion"
    if applied(before, made) != after:
        return f"the change to {path} cannot be said in suggestions"
    for one in made:
        if reason := _misplaced(one, shown):
            return reason
    return made


def _edits(hunk: Hunk) -> Iterator[_Edit]:
    seen = hunk.old_start - 1 if hunk.old_count else hunk.old_start
    for is_context, rows in groupby(hunk.rows(), key=lambda row: row.kind == " "):
        run = list(rows)
        removed = sum(row.kind != "+" for row in run)
        if not is_context:
            yield _Edit(seen + 1, seen + removed, tuple(row.text for row in run if row.kind == "+"))
        seen += removed


def _join(edits: list[_Edit], edit: _Edit, lines: Sequence[str], file: FileDiff) -> None:
    """Add `edit`, as a part of the last one where it is near and between them all is shown."""
    last = edits[-1] if edits else None
    if (
        last is None
        or edit.first - last.last - 1 > _NEAR
        or not _shows(file, min(last.first, last.last + 1), max(edit.first - 1, edit.last))
    ):
        edits.append(edit)
        return
    between = lines[last.last : edit.first - 1]
    edits[-1] = _Edit(last.first, edit.last, (*last.lines, *between, *edit.lines))


def _widened(edit: _Edit, lines: Sequence[str], file: FileDiff) -> _Edit | None:
    """`edit` on lines that the diff shows, by a line of context where it has none or would be an empty line; `None`
    where there is no such line."""
    first, last, text = edit
    if first <= last and text != ("",):
        return edit if _shows(file, first, last) else None
    if _shows(file, first - 1, last):
        return _Edit(first - 1, last, (lines[first - 2], *text))
    if _shows(file, first, last + 1):
        return _Edit(first, last + 1, (*text, lines[last]))
    return None


def _shows(file: FileDiff, first: int, last: int) -> bool:
    return lines_at(file, Side.RIGHT, Span(first, last)) is not None


def _suggestion(path: str, edit: _Edit, lines: Sequence[str]) -> Suggestion:
    text = "\n".join(lines[edit.first - 1 : edit.last])
    return Suggestion(path, edit.first, edit.last, text, "\n".join(edit.lines))


def _misplaced(one: Suggestion, shown: Diff) -> str:
    """Why it stands nowhere on the diff, as a finding would be judged; empty where it does."""
    start = one.first if one.first < one.last else 0
    finding = Finding(one.path, one.last, Severity.NOTE, "", "", start, Side.RIGHT, one.text)
    found = anchor(finding, shown)
    if isinstance(found, str):
        return f"{one.path}: {found}"
    return "" if (found.line, found.text) == (one.last, one.text) else f"{one.path}: its lines are elsewhere"
