"""Which limits of the sandbox the commands of a run met, in words for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

WORDS = {
    "memory": "memory",
    "processes": "processes at once",
    "disk": "what may be added to the disk",
    "file": "the size of one file",
    "open_files": "open files",
    "tmpfs": "the size of a folder in memory",
}
"""As the tool host names them in a result's `limit`."""


def said(met: Iterable[str]) -> tuple[str, ...]:
    """One sentence, or none. `met` has a name for each command that met a limit; the host's word, so others may be in
    it, which are passed over."""
    counts = Counter(name for name in met if name in WORDS)
    if not counts:
        return ()
    named = ", ".join(f"{WORDS[name]} ({count} ×)" for name, count in sorted(counts.items()))
    return (f"Commands met limits of the sandbox: {named}.",)
