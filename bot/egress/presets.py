"""Which hosts a package manager needs, by the preset's name. Nothing else can be put on a list by a repository.

Never GitHub, its object hosts or a model's endpoint: the supervisor speaks to those, and whoever can write to one of
them from inside has a way out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from bot.contracts.errors import UsageError
from bot.egress.hosts import HTTPS, Target, authority

_HOSTS = MappingProxyType(
    {
        "python": ("pypi.org", "files.pythonhosted.org"),
        "node": ("registry.npmjs.org",),
        "go": ("proxy.golang.org", "sum.golang.org"),
        "rust": ("index.crates.io", "static.crates.io"),
        "java": (
            "repo.maven.apache.org",
            "repo1.maven.org",
            "plugins.gradle.org",
            "plugins-artifacts.gradle.org",
        ),
    }
)

PRESETS: tuple[str, ...] = tuple(_HOSTS)


@dataclass(frozen=True, slots=True)
class Mirror:
    """A registry of the workflow's own choice, in place of a preset's hosts. It alone may have a private address."""

    preset: str
    target: Target
    url: str


def mirror(text: str) -> Mirror:
    """The mirror that `text`, `PRESET=https://host[:port]/path`, names. Raises `UsageError`."""
    preset, _, url = text.strip().partition("=")
    if preset not in _HOSTS:
        raise UsageError(
            f'The mirror "{text}" is of no preset. Write PRESET=URL, with one of {", ".join(PRESETS)}.'
        )
    scheme, _, rest = url.partition("://")
    where, _, _ = rest.partition("/")
    if "@" in where:
        raise UsageError(
            f"The mirror for {preset} has a user or password in its address, which every command could read. "
            "Name one that may be read without."
        )
    host, _, _ = where.partition(":")
    found = authority(where if ":" in where else f"{where}:{HTTPS}")
    # A client sends the root's dot as part of the server name, which a tunnel would be refused for.
    if scheme != "https" or found is None or host.endswith(".") or any(mark in url for mark in " ?#"):
        raise UsageError(
            f'The mirror for {preset} is no address of the form https://host/path: "{url}". The host must be a whole '
            "name such as packages.example.com: no IP address, no single word, no dot at its end."
        )
    return Mirror(preset, Target(*found, private=True), url)


def targets(presets: Iterable[str], mirrors: Sequence[Mirror] = ()) -> frozenset[Target]:
    """Where `presets` lead: to the mirror where there is one, else to the registry's hosts.

    Raises `UsageError` for a preset that does not exist.
    """
    found: set[Target] = set()
    for name in presets:
        if name not in _HOSTS:
            raise UsageError(f'There is no egress preset "{name}". There are: {", ".join(PRESETS)}.')
        own = {mirror.target for mirror in mirrors if mirror.preset == name}
        found |= own or {Target(host, HTTPS) for host in _HOSTS[name]}
    return frozenset(found)
