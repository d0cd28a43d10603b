"""Cut a diff into pieces that a model is shown one after the other, and render them with line numbers on both sides.

A piece is a file, or a part of a long one. After an earlier review the pieces are those that it left, and the lines
that are new since then; reviewed lines around these are context.
"""

import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from bot.contracts.formatting import count_of, first_of
from bot.contracts.pulls import NOT_LOOKED_AT, Side
from bot.review.diff import Diff, FileDiff, FileStatus, Hunk

# In characters: a part has about 40,000 tokens.
MOST = 160_000
MOST_A_PIECE = 24_000
_CONTEXT = 10
_LONGEST_LINE = 400
_NAMES_LISTED = 300
_NAMES_FOR_PEOPLE = 3
_WIDTH = 5
_NUMBERS = 2 * _WIDTH + 4
_KEY_LENGTH = 6
_PART = re.compile(r" \(part \d+\)$")


class Piece(NamedTuple):
    """A file's part with `name` for people, the same in a later diff, `text` for the model, and `number` from 1."""

    name: str
    file: FileDiff
    text: str
    number: int


def key_of(name: str) -> str:
    """Return six hex digits for a piece: two that have the same are looked at together, once too often."""
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_KEY_LENGTH]


def path_of(name: str) -> str:
    """Return the path of the piece that is called `name`."""
    return _PART.sub("", name)


def pieces_of(
    diff: Diff, since: Diff | None = None, left: Collection[str] = (), most: int = MOST_A_PIECE
) -> list[Piece]:
    """Return the pieces to look at, in the order of the diff. `since` is the diff from the last reviewed head to that
    of `diff`, `None` without a review; `left` are the keys of the pieces that it did not look at."""
    waiting_pieces: list[Piece] = []
    for file in diff.files:
        pieces = _cut(file, None, most)
        if since is not None:
            again = since.find(file.path)
            waiting = [piece for piece in pieces if key_of(piece.name) in left]
            if again is None:
                pieces = waiting
            elif not waiting and file.hunks and not again.binary:
                touched = _touched(again)
                hunks = tuple(part for hunk in file.hunks for part in _surroundings(hunk, touched))
                pieces = _cut(file._replace(hunks=hunks), touched, most) if hunks else []
            # Else all of it is looked at: it was cut at other lines then, or has no lines.
        waiting_pieces += pieces
    return waiting_pieces


def _touched(file: FileDiff) -> frozenset[int]:
    """Return the lines of the new file that were added, or next to removed lines."""
    touched = set[int]()
    for hunk in file.hunks:
        line = hunk.new_start if hunk.size(Side.RIGHT) else hunk.new_start + 1
        for kind in hunk.kinds:
            if kind == "+":
                touched.add(line)
            elif kind == "-":
                touched.update((line - 1, line))
            line += kind != "-"
    return frozenset(touched)


def _surroundings(hunk: Hunk, touched: Collection[int]) -> Iterator[Hunk]:
    """Yield the parts of `hunk` around its changes in `touched`: a merge of the base touches other lines."""
    line = hunk.new_start + (not hunk.new_count)
    first = end = 0
    for index, kind in enumerate(hunk.kinds):
        near = line in touched or (kind == "-" and line - 1 in touched)
        if kind != " " and near:
            if end and index - _CONTEXT > end:
                yield hunk.part(first, end)
                end = 0
            first = first if end else max(0, index - _CONTEXT)
            end = min(len(hunk.kinds), index + _CONTEXT + 1)
        line += kind != "-"
    if end:
        yield hunk.part(first, end)


def _cut(file: FileDiff, new: Collection[int] | None, most: int) -> list[Piece]:
    """Return the pieces of a file, each of at most about `most` characters."""
    groups: list[list[Hunk]] = [[]]
    used = 0
    for hunk in file.hunks:
        begin = 0
        for index, text in enumerate(hunk.texts):
            size = _NUMBERS + min(len(text), _LONGEST_LINE)
            if used + size > most and used:
                if index > begin:
                    groups[-1].append(hunk.part(begin, index))
                groups.append([])
                begin, used = index, 0
            used += size
        groups[-1].append(hunk.part(begin, len(hunk.kinds)) if begin else hunk)
    name = readable_path(file.path)
    cut = len(groups) > 1
    return [
        Piece(
            f"{name} (part {number})" if cut else name,
            part := file._replace(hunks=tuple(hunks)),
            "\n".join(_lines(part, f"; part {number} of {len(groups)}" if cut else "", new)),
            number,
        )
        for number, hunks in enumerate(groups, 1)
    ]


def next_part(pieces: Sequence[Piece], most: int = MOST) -> tuple[list[Piece], list[Piece]]:
    """Return those that fit into one message, in order, and the rest."""
    part: list[Piece] = []
    rest: list[Piece] = []
    for piece in pieces:
        most -= len(piece.text)
        if most >= 0 or not part:
            part.append(piece)
        else:
            rest.append(piece)
            most += len(piece.text)
    return part, rest


def part_text(part: Sequence[Piece], rest: Sequence[Piece], *, new: bool) -> str:
    """Return a part as text for the model. `new`: lines that an earlier review saw are context in it."""
    pieces = (*part, *rest)
    files = {piece.file.path for piece in pieces}
    added, removed = (sum(_changed(one.file, side) for one in pieces) for side in (Side.RIGHT, Side.LEFT))
    head = (
        f"{count_of(len(files), 'file')}, +{added} -{removed}. Before each line stand its number in the old file "
        "(LEFT) and in the new one (RIGHT)."
    )
    if new:
        head += " Lines without + and - were there before, or reviewed before."
    return "\n\n".join([head, *(piece.text for piece in part), *([_listed(rest)] if rest else [])])


def unreadable(part: Sequence[Piece]) -> Iterator[str]:
    """Yield a clause for people on each thing in `part` that the model could not read."""
    if binary := [piece.name for piece in part if piece.file.binary]:
        yield f"{NOT_LOOKED_AT}{first_of(binary, _NAMES_LISTED)} (binary, or too large)"
    wide = {
        piece.name: None
        for piece in part
        for hunk in piece.file.hunks
        for row in hunk.rows()
        if row.kind != " " and len(row.text) > _LONGEST_LINE
    }
    if wide:
        named = first_of(list(wide), _NAMES_FOR_PEOPLE)
        yield f"the end of lines over {_LONGEST_LINE} characters was not shown: {named}"


def _lines(file: FileDiff, part: str, new: Collection[int] | None) -> Iterator[str]:
    what = str(file.status)
    if file.status is FileStatus.RENAMED:
        what = f"{file.status} from {readable_path(file.old_path)}"
    if file.status is FileStatus.MODIFIED and file.new_mode:
        what = f"mode {file.old_mode} to {file.new_mode}"
    sizes = f"+{_changed(file, Side.RIGHT)} -{_changed(file, Side.LEFT)}"
    yield f"## {readable_path(file.path)} ({what}, {sizes}{part})"
    if file.binary:
        yield "(binary)"
    for hunk in file.hunks:
        yield f"@@ {hunk.section[:_LONGEST_LINE]}".rstrip()
        for kind, old, line, text in hunk.rows():
            more = f"… ({len(text):,} characters)" if len(text) > _LONGEST_LINE else ""
            cut = text[:_LONGEST_LINE] + more
            sign = " " if kind == "+" and new is not None and line not in new else kind
            yield f"{old or '':>{_WIDTH}} {line or '':>{_WIDTH}} {sign}{cut.rstrip(chr(13))}"


def _listed(pieces: Sequence[Piece]) -> str:
    lines = [f"- {piece.name}" for piece in pieces[:_NAMES_LISTED]]
    if (more := len(pieces) - _NAMES_LISTED) > 0:
        lines.append(f"- and {more} more")
    return "\n".join(["## Changed too, and not shown here", *lines])


def _changed(file: FileDiff, side: Side) -> int:
    return sum(hunk.kinds.count("+" if side is Side.RIGHT else "-") for hunk in file.hunks)


def readable_path(path: str) -> str:
    """Return `path` on one line, with invalid UTF-8 and unprintable characters escaped."""
    plain = path.encode(errors="surrogateescape").decode(errors="replace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in plain)
