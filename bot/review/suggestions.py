"""Validate a finding's suggestion, and convert a whole change to suggestions on the lines of a pull request's diff.

The result of applying them is compared with the change byte for byte. Line ends other than LF and a last line without
one need a commit: GitHub does not document how suggestions treat them.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bot.contracts.pulls import Finding, Side
from bot.review.anchors import Span, closed, lines_at
from bot.review.diff import Diff, FileDiff, FileStatus, Hunk

MOST = 40


class Suggestion(NamedTuple):
    """`text` are the lines `first` to `last` of the head; `suggestion` replaces them, empty removes them."""

    path: str
    first: int
    last: int
    text: str
    suggestion: str


class ChangedFile(NamedTuple):
    """One file of the change: its diff, its bytes at the head and with the change."""

    diff: FileDiff
    before: bytes
    after: bytes


def to_suggestions(changes: Iterable[ChangedFile], pull_diff: Diff) -> tuple[Suggestion, ...] | str:
    """Return suggestions in the order of files and lines on `pull_diff`, or a clause why that is impossible."""
    suggestions: list[Suggestion] = []
    for change in changes:
        of_file = _of_file(change, pull_diff)
        if isinstance(of_file, str):
            return of_file
        suggestions += of_file
        if len(suggestions) > MOST:
            return f"it would be more than {MOST} suggestions"
    return tuple(suggestions) or "it changes nothing"


def applied(text: str, suggestions: Iterable[Suggestion]) -> str:
    """Apply suggestions to `text`."""
    lines = text.split("\n")
    for one in sorted(suggestions, key=lambda one: one.first, reverse=True):
        lines[one.first - 1 : one.last] = one.suggestion.split("\n") if one.suggestion else []
    return "\n".join(lines)


def _of_file(change: ChangedFile, pull_diff: Diff) -> list[Suggestion] | str:
    diff, path = change.diff, change.diff.path
    if not path.isprintable():
        return "a file's name holds what does not show"
    if diff.status is not FileStatus.MODIFIED or diff.old_mode != diff.new_mode or diff.binary:
        return f"it does more with {path} than to change its lines"
    file = pull_diff.find(path)
    if file is None or file.path != path:
        return f"{path} is not in the diff"
    if reason := closed(file):
        return f"{path}: {reason}"
    try:
        before, after = change.before.decode(), change.after.decode()
    except UnicodeDecodeError:
        return f"{path} is not UTF-8"
    lines = before.split("\n")
    edits: list[_Edit] = []
    for hunk in diff.hunks:
        edit = _widened(_edit(hunk), lines, file)
        if edit is None:
            return f"it changes lines of {path} that the diff does not show"
        edits.append(edit)
    suggestions = [
        Suggestion(path, first, last, "\n".join(lines[first - 1 : last]), "\n".join(new))
        for first, last, new in edits
    ]
    if "\r" in before or "\r" in after or any(last >= len(lines) for _, last, _ in edits):
        return f"the line ends of {path} would not be safe in a suggestion"
    if applied(before, suggestions) != after:
        return f"the change to {path} cannot be said in suggestions"
    return suggestions


_Edit = tuple[int, int, list[str]]
"""Lines that replace the first to the last one; for an insertion the last is the one before the first."""


def _edit(hunk: Hunk) -> _Edit:
    """Return the changes of a hunk with the context between them: one suggestion is easier to read than many."""
    kinds = hunk.kinds
    part = hunk.part(len(kinds) - len(kinds.lstrip(" ")), len(kinds.rstrip(" ")))
    first = part.old_start + (not part.old_count)
    return first, first + part.old_count - 1, part.side(Side.RIGHT)


def _widened(edit: _Edit, lines: Sequence[str], file: FileDiff) -> _Edit | None:
    """Return `edit` on lines that the diff shows, else `None`. An insertion is extended by a line of context."""
    first, last, text = edit
    if first <= last and text != [""]:
        return edit if _shows(file, first, last) else None
    if _shows(file, first - 1, last):
        return first - 1, last, [lines[first - 2], *text]
    if _shows(file, first, last + 1):
        return first, last + 1, [*text, lines[last]]
    return None


def _shows(file: FileDiff, first: int, last: int) -> bool:
    return lines_at(file, Side.RIGHT, Span(first, last)) is not None


def with_valid_suggestion(finding: Finding) -> Finding:
    """Return `finding` with its suggestion as it will be posted, or without one that cannot be applied."""
    if finding.suggestion is None:
        return finding
    suggestion = finding.suggestion.replace("\r\n", "\n").removesuffix("\n")
    applies = finding.side is Side.RIGHT and finding.line > 0 and "\r" not in suggestion
    changes = suggestion != finding.text.replace("\r\n", "\n")
    return finding._replace(suggestion=suggestion if applies and changes else None)
