"""Long outputs and transcripts that a run kept in files, handed on to the run that goes on from it.

The conversation names these files, and the machine that held them is gone by then. They travel in the bundle, masked
as the journal is, and what comes back is hostile: it is only ever read as text, at paths that this run chooses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from bot.contracts.errors import GateError
from bot.gate.reader import UnreadableError, read_beneath
from bot.run.folder import RunFolder

OUTPUTS = "outputs.json"

_SHORT = 4_096
"""Bytes. What is no longer was shown whole."""

_HALF = 512 << 10
_FILE = 50 << 20
_ALL = 8 << 20
_MOST = 200
_NAME = re.compile(
    r"/(workshop-agent-\d{1,4}/spill/\d{1,9}\.txt|archive/(?:transcript|output)-\d{1,4}\.txt)\Z", re.ASCII
)
_MARGIN = 64 << 10
"""Characters beyond a cut that are masked too: a secret that lies across it is whole there."""

_READ_BACK = _ALL + (1 << 20)
"""What JSON can hold takes up to twenty times its bytes."""


def gather(folder: RunFolder, mask: Callable[[str], str]) -> bytes:
    """The content of `OUTPUTS`: the newest ones, 8 MiB in all, of each the beginning and the end. Empty where there are
    none. Files that are no text, or no regular ones, are left out: commands write in these folders, too."""
    room = _ALL
    kept: list[bytes] = []
    for path in _newest_first(folder)[:_MOST]:
        text = _text_of(path, mask)
        if text is None:
            continue
        entry = json.dumps({"path": str(path), "text": text}, ensure_ascii=False).encode()
        if len(entry) + 2 <= room:
            room -= len(entry) + 2
            kept.append(entry)
    return b"[" + b", ".join(kept) + b"]" if kept else b""


def bring_back(bundle: Path, archive: Path) -> tuple[str, ...]:
    """Write what a bundle holds into `archive`; one line for each, of where it was and where it is. A file that is not
    as `gather` writes it brings nothing back."""
    try:
        kept = json.loads(read_beneath(bundle, OUTPUTS, _READ_BACK))
    except (UnreadableError, ValueError, RecursionError):
        return ()
    return tuple(_written(kept, archive)) if isinstance(kept, list) else ()


def _written(kept: list[object], archive: Path) -> Iterator[str]:
    room = _ALL
    for number, entry in enumerate(kept[:_MOST], 1):
        if not isinstance(entry, dict):
            return
        was, text = entry.get("path"), entry.get("text")
        if not isinstance(was, str) or not isinstance(text, str) or len(text) > room:
            return
        # Only names that a run gives: the rest of the path is a stranger's, and the model is told this as ours.
        if (name := _NAME.search(was)) is None:
            return
        room -= len(text)
        place = archive / f"output-{number}.txt"
        place.write_text(text, encoding="utf-8", errors="replace")
        yield f".../{name[1]} is now {place}"


def _newest_first(folder: RunFolder) -> list[Path]:
    spilled = [
        path
        for spill in folder.root.glob("workshop-agent-*/spill")
        if not spill.is_symlink()
        for path in spill.glob("*.txt")
    ]
    found = [*spilled, *folder.archive.glob("*.txt")]
    aged = [(status.st_mtime, path) for path in found if (status := path.lstat()).st_size > _SHORT]
    return [path for _, path in sorted(aged, reverse=True)]


def _text_of(path: Path, mask: Callable[[str], str]) -> str | None:
    try:
        data = read_beneath(path.parent, path.name, _FILE + _HALF)
    except GateError:
        return None
    if b"\0" in data:
        return None
    text = data.decode("utf-8", "replace")
    if len(text) <= 2 * (_HALF + _MARGIN):
        return mask(text)
    first, last = mask(text[: _HALF + _MARGIN])[:_HALF], mask(text[-_HALF - _MARGIN :])[-_HALF:]
    left = len(text) - 2 * _HALF
    return f"{first}\n[{left} characters left out here when this was handed on]\n{last}"
