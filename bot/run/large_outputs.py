"""Carry long outputs and transcripts of a run over to the run that continues it.

The conversation names these files, which were on another machine. They are stored in the bundle, masked like the
journal. What is restored is untrusted: it is read as text only, and written to paths that this run chooses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from bot.contracts.errors import GateError
from bot.gate.confined_folder import UnreadableError, read_confined
from bot.session.run_folder import RunFolder

OUTPUTS = "outputs.json"

_SHORT = 4_096
"""Bytes. What is no longer was shown whole."""

_HALF = 512 << 10
_FILE = 50 << 20
_ALL = 8 << 20
_MOST = 200
_NAME = re.compile(
    r"/(workspace-agent-\d{1,4}/spill/\d{1,9}\.txt|archive/(?:transcript|output)-\d{1,4}\.txt)\Z", re.ASCII
)
_MARGIN = 64 << 10
"""Characters beyond a cut that are masked too: a secret that lies across it is whole there."""

_READ_BACK = _ALL + (1 << 20)
"""What JSON can hold takes up to twenty times its bytes."""


def gather(folder: RunFolder, mask: Callable[[str], str]) -> bytes:
    """The content of `OUTPUTS`: the newest files, 8 MiB in all, the beginning and the end of each; empty if there are
    none. Files that are not text or not regular are left out: commands write in these folders, too."""
    left = _ALL
    entries: list[bytes] = []
    for path in _newest_first(folder)[:_MOST]:
        text = _text_of(path, mask)
        if text is None:
            continue
        entry = json.dumps({"path": str(path), "text": text}, ensure_ascii=False).encode()
        if len(entry) + 2 <= left:
            left -= len(entry) + 2
            entries.append(entry)
    return b"[" + b", ".join(entries) + b"]" if entries else b""


def bring_back(bundle: Path, archive: Path) -> tuple[str, ...]:
    """Write the outputs of a bundle into `archive` and return a line on the old and the new path of each. A malformed
    file restores nothing."""
    try:
        entries = json.loads(read_confined(bundle, OUTPUTS, _READ_BACK))
    except (UnreadableError, ValueError, RecursionError):
        return ()
    return tuple(_written(entries, archive)) if isinstance(entries, list) else ()


def _written(entries: list[object], archive: Path) -> Iterator[str]:
    left = _ALL
    for number, entry in enumerate(entries[:_MOST], 1):
        if not isinstance(entry, dict):
            return
        old_path, text = entry.get("path"), entry.get("text")
        if not isinstance(old_path, str) or not isinstance(text, str) or len(text) > left:
            return
        # Only names that a run gives: the rest of the path is a stranger's, and the model is told this as ours.
        if (name := _NAME.search(old_path)) is None:
            return
        left -= len(text)
        path = archive / f"output-{number}.txt"
        path.write_text(text, encoding="utf-8", errors="replace")
        yield f".../{name[1]} is now {path}"


def _newest_first(folder: RunFolder) -> list[Path]:
    places = (*folder.root.glob("workspace-agent-*/spill"), folder.root / "archive")
    files = [path for place in places if not place.is_symlink() for path in place.glob("*.txt")]
    aged = [(status.st_mtime, path) for path in files if (status := path.lstat()).st_size > _SHORT]
    return [path for _, path in sorted(aged, reverse=True)]


def _text_of(path: Path, mask: Callable[[str], str]) -> str | None:
    try:
        data = read_confined(path.parent, path.name, _FILE + _HALF)
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
