"""Which hosts a package manager needs, by the preset's name. Nothing else can be put on a list by a repository.

Never GitHub, its object hosts or a model's endpoint: the supervisor speaks to those, and whoever can write to one of
them from inside has a way out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from bot.contracts.errors import UsageError
from bot.egress.hosts import HTTPS, Target

_HOSTS = MappingProxyType(
    {
        "python": ("pypi.org", "files.pythonhosted.org"),
        "node": ("registry.npmjs.org",),
        "go": ("proxy.golang.org", "sum.golang.org"),
        "rust": ("index.crates.io", "static.crates.io"),
    }
)

PRESETS: tuple[str, ...] = tuple(_HOSTS)


@dataclass(frozen=True, slots=True)
class Mirror:
    """A registry of the workflow's own choice, in place of a preset's hosts. It alone may have a private address."""

    preset: str
    target: Target
    url: str


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
