"""Whether a comment's `path`, `line` and `start_line` are in the diff, and GitHub's words where they are not.

Two vocabularies for the same mistakes: a review's and a single comment's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bot.forge import anchors
from bot.forge.anchors import FileDiff, Row, Side
from bot.forge.git import BareRepository
from bot.forge.reviews import Draft, Place

Mistake = Literal["path", "line", "start", "hunk", "order"]


class Unanchored(Exception):
    """The place is not in the diff; `mistake` says what of it."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(mistake)
        self.mistake = mistake


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a client asked for. `line` None with `position` is the old way of saying it."""

    path: str
    body: str
    line: int | None
    side: Side = "RIGHT"
    start_line: int | None = None
    start_side: Side | None = None
    position: int | None = None
    whole_file: bool = False


def anchor(git: BareRepository, base: str, head: str, wanted: Wanted) -> Draft:
    """Raises `Unanchored`."""
    if not anchors.is_changed(git, base, head, wanted.path):
        raise Unanchored("path")
    if wanted.whole_file:
        return Draft(wanted.path, wanted.body, None)
    diff = anchors.file_diff(git, base, head, wanted.path)
    row = _row(diff, wanted) if diff else None
    if diff is None or row is None:
        raise Unanchored("line")
    return Draft(wanted.path, wanted.body, _place(diff, row, wanted), diff.quote(row))


def _row(diff: FileDiff, wanted: Wanted) -> Row | None:
    if wanted.line is not None:
        return diff.find(wanted.side, wanted.line)
    return diff.at(wanted.position) if wanted.position is not None else None


def _place(diff: FileDiff, row: Row, wanted: Wanted) -> Place:
    side: Side = wanted.side
    if wanted.line is None:
        side = "LEFT" if row.new is None else "RIGHT"
    line = row.line(side)
    assert line is not None
    if wanted.start_line is None:
        return Place(line, side, None, None, row.position)
    start_side = wanted.start_side or side
    start = diff.find(start_side, wanted.start_line)
    if start_side == side and wanted.start_line >= line:
        raise Unanchored("order")
    if start is None:
        raise Unanchored("start")
    if start.hunk != row.hunk:
        raise Unanchored("hunk")
    if start.position >= row.position:
        raise Unanchored("order")
    return Place(line, side, wanted.start_line, start_side, row.position)


IN_REVIEW: dict[Mistake, str] = {
    "path": "Path could not be resolved",
    "line": "Line could not be resolved",
    "start": "Start line could not be resolved",
    "hunk": "Start line must be part of the same hunk as the line.",
    "order": "Start line must precede the end line.",
}
IN_COMMENT: dict[Mistake, tuple[str, str]] = {
    "path": ("path", "is not part of the pull request"),
    "line": ("line", "must be part of the diff"),
    "start": ("start_line", "must be part of the diff"),
    "hunk": ("start_line", "must be part of the same hunk as the line."),
    "order": ("start_line", "must precede the end line."),
}


def sentence(parts: list[str]) -> str:
    """Several reasons as GitHub tells them: in one string, which does not say which comment is meant."""
    if len(parts) < 3:
        return " and ".join(parts)
    return ", ".join(parts[:-1]) + f", and {parts[-1]}"
