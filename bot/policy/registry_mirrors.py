"""Hosts that the workspace may reach: exact names and ports, by the presets of `bot/ecosystems`.

A preset never contains GitHub, its object hosts or a model's endpoint: whoever can write to one of them from inside
the sandbox can send data out.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bot.contracts.errors import UsageError
from bot.ecosystems.registry import ecosystems

HTTPS = 443

# ASCII letters, digits and hyphens only: no NUL, `@`, bracket, blank, percent sign or other script.
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)+{_LABEL}")
_LONGEST = 253
# The last label of a name is never a number: `127.1`, `0x7f.1` and `2130706433` are addresses to a resolver.
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)")
_PORT = re.compile(r"[1-9][0-9]{0,4}")


class Target(NamedTuple):
    """`private`: the name may resolve to an address that is not public; only a workflow can set that."""

    host: str
    port: int
    private: bool = False


def host_name(text: str) -> str:
    """Return `text` as a host name in lower case, without the root's dot; empty if it is none."""
    name = text.lower().removesuffix(".") if text.isascii() else ""
    if len(name) > _LONGEST or not _NAME.fullmatch(name) or _NUMBER.fullmatch(name.rpartition(".")[2]):
        return ""
    return name


def authority(text: str) -> tuple[str, int] | None:
    """Return host and port of `text`, the target of a CONNECT request; `None` for anything else."""
    host, colon, port = text.rpartition(":")
    name = host_name(host)
    if not colon or not name or not _PORT.fullmatch(port) or int(port) > 65535:
        return None
    return name, int(port)


_HOSTS = {one.egress: one.hosts for one in ecosystems() if one.hosts}
PRESETS: tuple[str, ...] = tuple(_HOSTS)


class Mirror(NamedTuple):
    """A registry that the workflow names in place of a preset's hosts. Only it may have a private address."""

    preset: str
    target: Target
    url: str


def mirror(text: str) -> Mirror:
    """Parse `PRESET=https://host[:port]/path`. Raises `UsageError`."""
    preset, _, url = text.strip().partition("=")
    if preset not in _HOSTS:
        raise UsageError(
            f'The mirror "{text}" is of no preset. Write PRESET=URL, with one of {", ".join(PRESETS)}.'
        )
    scheme, _, rest = url.partition("://")
    authority_text, _, _ = rest.partition("/")
    if "@" in authority_text:
        raise UsageError(
            f"The mirror for {preset} has a user or password in its address, which every command could read. "
            "Name one that may be read without."
        )
    host, _, _ = authority_text.partition(":")
    address = authority(authority_text if ":" in authority_text else f"{authority_text}:{HTTPS}")
    # A client sends the root's dot as part of the server name, and the proxy would refuse the tunnel.
    if scheme != "https" or address is None or host.endswith(".") or any(mark in url for mark in " ?#"):
        raise UsageError(
            f'The mirror for {preset} is no address of the form https://host/path: "{url}". The host must be a whole '
            "name such as packages.example.com: no IP address, no single word, no dot at its end."
        )
    return Mirror(preset, Target(*address, private=True), url)


def targets(presets: Iterable[str], mirrors: Sequence[Mirror] = ()) -> frozenset[Target]:
    """Return the targets of `presets`: the mirror if there is one, else the registry's hosts.

    Raises `UsageError` for a preset that does not exist.
    """
    result: set[Target] = set()
    for name in presets:
        if name not in _HOSTS:
            raise UsageError(f'There is no egress preset "{name}". There are: {", ".join(PRESETS)}.')
        own = {mirror.target for mirror in mirrors if mirror.preset == name}
        result |= own or {Target(host, HTTPS) for host in _HOSTS[name]}
    return frozenset(result)
