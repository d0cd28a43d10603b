"""Pictures of a run as the page can show them: small ones of kinds that every browser draws and that hold no script."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from bot.contracts.messages import Image

LARGEST = 400_000
BUDGET = 4_000_000
"""Bytes of one picture, and of all pictures of a page."""

_STARTS: Mapping[str, tuple[bytes, ...]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}


class Pictures:
    """The pictures of one page: those beyond its budget are only named."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._left = budget

    def address(self, image: Image) -> str:
        """A `data:` address, empty for what is not shown: its bytes must be of the kind that it claims to be."""
        starts = _STARTS.get(image.media_type, ())
        size = len(image.data)
        if not image.data.startswith(starts) or size > min(LARGEST, self._left):
            return ""
        self._left -= size
        return f"data:{image.media_type};base64,{base64.b64encode(image.data).decode('ascii')}"
