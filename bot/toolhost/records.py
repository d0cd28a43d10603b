"""The ranges of each file that the model was shown, which an edit requires."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bot.toolhost.diff import Block
from bot.toolhost.text import count_lines, split_lines

if TYPE_CHECKING:
    from bot.toolhost.patch.grammar import Operation

# Over this many characters no line hashes are kept; a change elsewhere then costs a whole new view.
_HASHED = 4 * 1024 * 1024

Range = tuple[int, int]
"""First and last line, 1-based, both included."""


@dataclass(frozen=True, slots=True)
class Record:
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
    """One record a file, by its path after all links. What a view, a search or diagnostics printed counts as shown,
    and what a tool wrote; what a command printed does not.

    Beside them the part of the last patch that fitted, for the next one to go on from."""

    def __init__(self) -> None:
        self._records: dict[Path, Record] = {}
        self._stored: tuple[Operation, ...] = ()
        self._stored_number = 0

    def store(self, operations: Sequence[Operation]) -> int:
        """Keep these operations of a patch that was not written, in place of those kept before; return their number."""
        self._stored = tuple(operations)
        self._stored_number += 1
        return self._stored_number

    def stored_operations(self, number: int) -> tuple[Operation, ...]:
        """The operations kept under this number; empty if it is not the last one, or was written since."""
        return self._stored if number == self._stored_number else ()

    def drop_kept(self) -> None:
        self._stored = ()

    def get(self, path: Path) -> Record | None:
        return self._records.get(path)

    def show(self, path: Path, sha256: str, text: str, ranges: tuple[Range, ...]) -> None:
        """Note that `ranges` of a file with this hash and LF text were shown.

        What an earlier record says of lines that are still the same, at the top and at the end, stays true.
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
        known: Path | None = None,
        lines: Sequence[str] | None = None,
    ) -> None:
        """Note the model's own write: what was shown of the file before (of `known`, if it had another name) stays
        shown, and the lines it wrote are. A file known in full stays so. `before` is the hash of what was changed,
        `lines` are those of `text`, if somebody has them."""
        old = self._records.get(known or path)
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

    def forget(self, path: Path) -> None:
        """The file is gone."""
        self._records.pop(path, None)


def changed_lines(record: Record, text: str) -> Range | None:
    """The lines of the LF `text` that are not as `record` has them; an empty range (first > last) where lines only
    went away. `None` when that cannot be told."""
    lines = _hashes(text)
    if record.lines is None or lines is None:
        return None
    top, end = _common(record.lines, lines)
    return top + 1, len(lines) - end


def _hashes(text: str) -> array[int] | None:
    return array("q", map(hash, split_lines(text))) if len(text) <= _HASHED else None


def _spliced(old: Record, lines: Sequence[str], blocks: Sequence[Block]) -> array[int] | None:
    """The hashes of `lines`, of which only those in `blocks` are new; `None` if that does not add up."""
    if old.lines is None:
        return None
    hashes, at = array("q"), 0
    for first, last, new_first, new_last in blocks:
        hashes += old.lines[at:first]
        hashes.extend(map(hash, lines[new_first:new_last]))
        at = last
    hashes += old.lines[at:]
    return hashes if len(hashes) == len(lines) else None


def _common(old: array[int], new: array[int]) -> tuple[int, int]:
    """How many lines are the same at the top, and how many of the rest at the end."""
    shorter = min(len(old), len(new))
    top = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    rest = shorter - top
    end = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    return top, end


def _carry(old: Record, lines: array[int] | None) -> tuple[Range, ...]:
    if old.lines is None or lines is None:
        return ()
    top, end = _common(old.lines, lines)
    moved = len(lines) - len(old.lines)
    shifted: list[Range] = []
    for low, high in old.ranges:
        shifted.append((low, min(high, top)))
        shifted.append((max(low, len(old.lines) - end + 1) + moved, high + moved))
    return tuple(shifted)


def _moved(old: Record | None, blocks: Sequence[Block], total: int) -> Iterator[Range]:
    """The shown lines that no block changed, by their numbers now."""
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
