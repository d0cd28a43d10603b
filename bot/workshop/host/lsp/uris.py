"""Files by the names that the protocol has for them. Servers write one file's in several ways: compare what
`path_of` makes of them, never the text."""

from __future__ import annotations

import os
from urllib.parse import quote, unquote_to_bytes

_SCHEME = "file://"


def uri_of(path: str) -> str:
    """Of an absolute path; the bytes of a name that is no UTF-8 are kept."""
    return _SCHEME + quote(os.fsencode(path))


def path_of(uri: object) -> str:
    """The normalised path; empty where it names no file of this machine."""
    if not isinstance(uri, str) or uri[: len(_SCHEME)].lower() != _SCHEME:
        return ""
    host, slash, path = uri[len(_SCHEME) :].partition("/")
    if not slash or host not in ("", "localhost"):
        return ""
    decoded = unquote_to_bytes(path.encode("utf-8", "replace"))
    return "" if b"\0" in decoded else os.path.normpath("/" + os.fsdecode(decoded).lstrip("/"))
