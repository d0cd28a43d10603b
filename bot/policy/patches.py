"""Which files a call of `patch` names, without the parser: that one is inside the wall."""

from __future__ import annotations

_HEADERS = tuple(f"*** {what}:" for what in ("Add File", "Delete File", "Update File", "Move to"))


def patched_paths(patch: object) -> list[str]:
    """The paths in a patch's text. Only headers stand in the first column: every line of a body has a prefix. What
    hides from this is asked about by the tool itself, file by file, before anything is written."""
    if not isinstance(patch, str):
        return []
    headers = (line.partition(":")[2].strip() for line in patch.split("\n") if line.startswith(_HEADERS))
    return [path for path in headers if path]
