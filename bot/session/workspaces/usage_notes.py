"""What people are told of the limits that commands reached and of their uses of the network."""

from collections import Counter
from collections.abc import Iterable, Sequence

from bot.contracts.formatting import count_of
from bot.contracts.sandbox import HostUse
from bot.workspace.client import Workspace
from bot.workspace.egress.tunnel_limits import NOT_LISTED, Uses, add_uses

LIMIT_NAMES = {
    "memory": "memory",
    "processes": "processes at once",
    "disk": "what may be added to the disk",
    "file": "the size of one file",
    "open_files": "open files",
    "tmpfs": "the size of a folder in memory",
}
"""By the name in a result's `limit`."""

_MAX_NOTES = 20


def limit_notes(workspaces: Iterable[Workspace]) -> tuple[str, ...]:
    """One sentence or none on the limits that commands hit; names that the tool host made up are skipped."""
    counts = Counter(name for one in workspaces for name in one.limits_met if name in LIMIT_NAMES)
    if not counts:
        return ()
    named = ", ".join(f"{LIMIT_NAMES[name]} ({count} ×)" for name, count in sorted(counts.items()))
    return (f"Commands met limits of the sandbox: {named}.",)


def uses_of(workspaces: Iterable[Workspace]) -> tuple[HostUse, ...]:
    """The uses of the network so far, by host and result, refused ones first."""
    uses: Uses = {}
    for workspace in workspaces:
        add_uses(uses, workspace.proxy.uses if workspace.proxy else ())
    return tuple(sorted(uses.values(), key=lambda use: (use.allowed, use.host, use.why)))


def refusal_notes(workspace: Workspace) -> tuple[str, ...]:
    """The refused uses of `workspace` so far, one sentence for each host and reason."""
    return network_notes([use for use in uses_of([workspace]) if not use.allowed])


def network_notes(uses: Sequence[HostUse]) -> tuple[str, ...]:
    """One sentence for each host, at most twenty: hosts that were reached, then refused ones."""
    left = len(uses) - _MAX_NOTES
    more = (f"Network: {count_of(left, 'further host')}.",) if left > 0 else ()
    reached_first = sorted(uses, key=lambda use: not use.allowed)
    return (*map(_sentence, reached_first[:_MAX_NOTES]), *more)


def _sentence(use: HostUse) -> str:
    how = count_of(use.tunnels, "tunnel")
    if use.why == NOT_LISTED:
        return f"Network: {count_of(use.tunnels, 'further request')} met a limit, and what for was not noted."
    if not use.allowed:
        return f"Network: {use.host or 'a request for an invalid host'} was refused ({how}): {use.why}."
    kib = (use.down + 1023) // 1024
    cut = f"; {use.why}" if use.why else ""
    return f"Network: {use.host}, {how}, {kib} KiB received, {use.up} bytes sent{cut}."
