"""How often the model has tried to change a file since it last could: it is told, since it forgets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bot.workshop.host.context import Context, ToolFailure
from bot.workshop.host.paths import relative


@contextmanager
def counted(context: Context, paths: Callable[[], Sequence[Path]]) -> Iterator[str]:
    """Count a try to change the files: the note for its result, empty for a first try. A `ToolFailure` inside gets the
    note too. `paths` is asked only where something failed, now or before."""
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
