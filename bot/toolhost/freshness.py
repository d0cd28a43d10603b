"""Allow a change only to lines that the model was shown; count failed tries, and name the call that helps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from bot.contracts.tools import ToolFailure
from bot.toolhost.context import Context
from bot.toolhost.files import LoadedFile, inside, load, relative
from bot.toolhost.records import changed_lines
from bot.toolhost.text import count_lines, split_lines

_SEARCHED = 1 << 20
"""Bytes over which a file is not read once more for the lines that a search showed of it."""


class NotShown(ToolFailure):
    """The model must view the file first. `reason` says what is missing, `call` is the call that shows it."""

    def __init__(self, reason: str, call: str, if_fits: str = "") -> None:
        self.reason, self.call = reason, call
        super().__init__(f"{reason} Call {call}, then send this again{if_fits}.")


LONG = 600
"""Lines: a view of a longer file shows the outline, unless it asks for a range."""


def require_shown(context: Context, file: LoadedFile, *, by_lines: bool = False) -> None:
    """Raise `NotShown` unless the file is byte for byte what the model was last shown. With `by_lines` the caller
    also checks each line that changes, so other lines of a long file need not have been shown."""
    if context.assume_read:
        return
    record = context.records.get(file.path)
    if record is None:
        if by_lines and count_lines(file.lf) > LONG:
            return
        raise NotShown(f"{file.name} was not viewed yet.", view_call(file.name))
    if record.sha256 == file.sha256:
        return
    moved = changed_lines(record, file.lf)
    if moved is None:
        raise NotShown(f"{file.name} changed since it was viewed.", view_call(file.name))
    first, last = moved
    where = f"line {first}" if last <= first else f"lines {first}-{last}"
    call = view_call(file.name, first, max(1, last - first + 1))
    raise NotShown(f"{file.name} changed since it was viewed ({where}).", call, " if it still fits")


def require_lines_shown(context: Context, file: LoadedFile, first: int, last: int) -> None:
    """Raise `NotShown` unless the lines were shown."""
    record = context.records.get(file.path)
    if context.assume_read or (record is not None and record.covers(first, last)):
        return
    where = f"Line {first}" if first == last else f"Lines {first}-{last}"
    call = view_call(file.name, max(1, first - 3), last - first + 7)
    verb = "was" if first == last else "were"
    raise NotShown(f"{where} of {file.name} would change but {verb} not viewed.", call)


def require_all_shown(context: Context, file: LoadedFile) -> None:
    record = context.records.get(file.path)
    if context.assume_read or record is None or record.complete:
        return
    raise ToolFailure(
        f"Only part of {file.name} was viewed, and all of it would be replaced. Call "
        f"{view_call(file.name, record.first_gap)} first, or change a part with edit."
    )


def count_as_shown(context: Context, path: Path, numbers: Mapping[int, str]) -> None:
    """Record lines of `path` that another result printed, by their numbers from 1. Lines that differ from the file, cut
    ones for example, do not count."""
    if context.assume_read or not numbers or not inside(str(path), context.real_root):
        return
    try:
        file = load(context, path, str(path), most=_SEARCHED)
    except ToolFailure:
        return
    lines = split_lines(file.lf)
    same = sorted(n for n, text in numbers.items() if 0 < n <= len(lines) and lines[n - 1] == text)
    runs = groupby(enumerate(same), key=lambda pair: pair[1] - pair[0])
    ranges = tuple((run[0][1], run[-1][1]) for run in (list(group) for _, group in runs))
    if ranges:
        context.records.show(path, file.sha256, file.lf, ranges)


def view_call(name: str, offset: int = 1, limit: int = 0) -> str:
    """The call to `view` that the model should make next, ready to copy."""
    arguments: dict[str, Any] = {"path": name}
    if offset > 1 or limit:
        arguments["offset"] = offset
    if limit:
        arguments["limit"] = limit
    return f"view {json.dumps(arguments, ensure_ascii=False)}"


@contextmanager
def counted(context: Context, paths: Callable[[], Sequence[Path]]) -> Iterator[str]:
    """Count a try to change the files. Yields the note for its result, empty for a first try; a `ToolFailure` inside
    gets the note too. `paths` is called only if a try failed, now or before."""
    failed = context.failed
    tried = paths() if failed else ()
    most = max(tried, key=lambda path: failed.get(path, 0), default=None)
    tries = 1 + (failed.get(most, 0) if most else 0)
    note = ""
    if most is not None and tries > 1:
        where = "this file" if len(tried) == 1 else relative(context, most)
        note = f"(attempt {tries} on {where})"
    try:
        yield note
    except ToolFailure as failure:
        for path in paths():
            failed[path] = failed.get(path, 0) + 1
        raise ToolFailure(f"{failure} {note}" if note else str(failure)) from None
    for path in tried:
        failed.pop(path, None)
