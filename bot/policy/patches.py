"""Which files a call of `patch` names, without the parser: that one is inside the wall."""

from __future__ import annotations

import re

_HEADER = re.compile(r"^\*\*\* (?:(?:Add|Delete|Update) File|Move to): *(.*\S)", re.MULTILINE)


def patched_paths(patch: object) -> list[str]:
    """The paths in a patch's text. Only headers stand in the first column: every line of a body has a prefix. What
    hides from this is asked about by the tool itself, file by file, before anything is written."""
    return _HEADER.findall(patch) if isinstance(patch, str) else []
