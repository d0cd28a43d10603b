"""Which lines of each file the model was shown, by the hashes of lines."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bot.toolhost.diff import Block, common_ends
from bot.toolhost.text import count_lines, split_lines

if TYPE_CHECKING:
    from bot.toolhost.patch.grammar import Operation

# Characters over which no line hashes are stored; a change then requires a new view of the whole file.
_HASHED = 4 * 1024 * 1024

Range = tuple[int, int]
"""First and last line, 1-based, both included."""


class Record(NamedTuple):
    """One file as last shown. `lines` holds a hash a line (`None` for a large file)."""

    sha256: str
    total: int
    ranges: tuple[Range, ...]
    lines: array[int] | None

    def covers(self, first: int, last: int) -> bool:
        """Whether all of these lines were shown."""
        return any(low <= first and last <= high for low, high in self.ranges) or first > last

    @property
    def complete(self) -> bool:
        return self.covers(1, self.total)

    @property
    def first_gap(self) -> int:
        """The first line that was not shown; one past the end if all were."""
        line = 1
        for low, high in self.ranges:
            if low > line:
                break
            line = high + 1
        return line


class Records:
    """One record for each file, by its path after all links. Lines that a view, a search or diagnostics printed count
    as shown, and those that a tool wrote; the output of a command does not.

    Also stores the fitting part of the last refused patch, which the next one may continue."""

    def __init__(self) -> None:
        self._records: dict[Path, Record] = {}
        self._stored: tuple[Operation, ...] = ()
        self._stored_number = 0

    def store(self, operations: Sequence[Operation]) -> int:
        """Store these operations of a patch that was not written, in place of earlier ones; return their number."""
        self._stored = tuple(operations)
        self._stored_number += 1
        return self._stored_number

    def stored_operations(self, number: int) -> tuple[Operation, ...]:
        """The operations stored under this number; empty if it is not the last one, or was written since."""
        return self._stored if number == self._stored_number else ()

    def drop_kept(self) -> None:
        self._stored = ()

    def get(self, path: Path) -> Record | None:
        return self._records.get(path)

    def show(self, path: Path, sha256: str, text: str, ranges: tuple[Range, ...]) -> None:
        """Record that `ranges` of a file with this hash and LF text were shown.

        Ranges of an earlier record stay valid for lines that are the same at the top and at the end.
        """
        old = self._records.get(path)
        total = count_lines(text)
        if old is not None and old.sha256 == sha256:
            merged = _merge((*old.ranges, *ranges))
            self._records[path] = Record(sha256, total, merged, old.lines)
            return
        lines = _hashes(text)
        carried = _carry(old, lines) if old is not None else ()
        self._records[path] = Record(sha256, total, _merge((*carried, *ranges)), lines)

    def wrote(
        self,
        path: Path,
        sha256: str,
        text: str,
        blocks: Sequence[Block],
        *,
        before: str | None = None,
        lines: Sequence[str] | None = None,
    ) -> None:
        """Record a write by the model: lines that were shown before stay shown, and the written lines count as shown.
        `before` is the hash of the old bytes; `lines` are those of `text`, if the caller has them."""
        old = self._records.get(path)
        lines = split_lines(text) if lines is None else lines
        total = len(lines)
        if old is not None and old.complete:
            ranges: tuple[Range, ...] = ((1, total),)
        else:
            ranges = _merge(
                (*_moved(old, blocks, total), *((first + 1, last) for _, _, first, last in blocks))
            )
        hashes = _spliced(old, lines, blocks) if old is not None and old.sha256 == before else None
        self._records[path] = Record(sha256, total, ranges, hashes or _hashes(text))

    def move(self, source: Path, path: Path) -> None:
        """Let the record of `source`, if there is one, be that of `path`."""
        record = self._records.pop(source, None)
        self.forget(path)
        if record is not None:
            self._records[path] = record

    def forget(self, path: Path) -> None:
        """Forget a file that was deleted or moved."""
        self._records.pop(path, None)


def changed_lines(record: Record, text: str) -> Range | None:
    """The lines of the LF `text` that differ from `record`; an empty range (first > last) if lines were only removed.
    `None` if that is unknown."""
    lines = _hashes(text)
    if record.lines is None or lines is None:
        return None
    top, end = common_ends(record.lines, lines)
    return top + 1, len(lines) - end


def _hashes(text: str) -> array[int] | None:
    return array("q", map(hash, split_lines(text))) if len(text) <= _HASHED else None


def _spliced(old: Record, lines: Sequence[str], blocks: Sequence[Block]) -> array[int] | None:
    """The hashes of `lines`, of which only those in `blocks` are computed; `None` if the numbers do not match."""
    if old.lines is None:
        return None
    hashes, at = array("q"), 0
    for first, last, new_first, new_last in blocks:
        hashes += old.lines[at:first]
        hashes.extend(map(hash, lines[new_first:new_last]))
        at = last
    hashes += old.lines[at:]
    return hashes if len(hashes) == len(lines) else None


def _carry(old: Record, lines: array[int] | None) -> tuple[Range, ...]:
    if old.lines is None or lines is None:
        return ()
    top, end = common_ends(old.lines, lines)
    moved = len(lines) - len(old.lines)
    shifted: list[Range] = []
    for low, high in old.ranges:
        shifted.append((low, min(high, top)))
        shifted.append((max(low, len(old.lines) - end + 1) + moved, high + moved))
    return tuple(shifted)


def _moved(old: Record | None, blocks: Sequence[Block], total: int) -> Iterator[Range]:
    """The shown lines that no block changed, by their new numbers."""
    if old is None:
        return
    at, here = 0, 0
    for first, last, _, new_last in (*blocks, (old.total, old.total, total, total)):
        for low, high in old.ranges:
            yield max(low, at + 1) + here - at, min(high, first) + here - at
        at, here = last, new_last


def _merge(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    merged: list[Range] = []
    for low, high in sorted(r for r in ranges if r[0] <= r[1]):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)
