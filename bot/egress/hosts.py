"""Where a tunnel may lead: a host by its exact name, and a port. What is no plain name is no host at all."""

from __future__ import annotations

import re
from typing import NamedTuple

HTTPS = 443

# Letters, digits, hyphens, in ASCII: NUL, `@`, brackets, blanks, percent signs and names in other scripts are out.
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)+{_LABEL}")
_LONGEST = 253
# The last label of a name is never a number: `127.1`, `0x7f.1` and `2130706433` are addresses to a resolver.
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)")
_PORT = re.compile(r"[1-9][0-9]{0,4}")


class Target(NamedTuple):
    """`private` says that the name may lead to an address that is not a public one: only a workflow gives that."""

    host: str
    port: int
    private: bool = False


def host_name(text: str) -> str:
    """`text` as the name of a host, in lower case and without the root's dot; empty where it is none."""
    name = text.lower().removesuffix(".") if text.isascii() else ""
    if len(name) > _LONGEST or not _NAME.fullmatch(name) or _NUMBER.fullmatch(name.rpartition(".")[2]):
        return ""
    return name


def authority(text: str) -> tuple[str, int] | None:
    """Host and port of `text`, the target of a CONNECT request; `None` where it is not exactly these two."""
    host, colon, port = text.rpartition(":")
    name = host_name(host)
    if not colon or not name or not _PORT.fullmatch(port) or int(port) > 65535:
        return None
    return name, int(port)
