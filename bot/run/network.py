"""What of the network the workshops of one run reach, and what they asked of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bot.contracts.errors import UsageError
from bot.contracts.network import HostUse
from bot.contracts.request import Request
from bot.contracts.wording import count_of
from bot.policy.egress import egress
from bot.policy.schema import Policy
from bot.run.profiles import SHELL_TOOLS, Profile

if TYPE_CHECKING:
    from bot.egress.presets import Mirror
    from bot.egress.proxy import Proxy
    from bot.egress.way_out import WayOut
    from bot.workshop.client.workshop import Workshop

SETUP = "setup"
"""The name of the workshop in which setup's commands run."""

_UNNOTED = "too many to be noted one by one"
_MOST_SHOWN = 20


class Network:
    """`environment` is where the workflow names its mirrors and their authority; raises `UsageError` for what is none.
    Nothing of a fork gets any network, whoever asked for it: what its commands fetch is what its author says."""

    def __init__(
        self, policy: Policy, request: Request, profile: Profile, environment: Mapping[str, str]
    ) -> None:
        fork = request.pull is not None and request.pull.from_fork(request.repository)
        runs = bool(set(SHELL_TOOLS).intersection(profile.tools)) and not profile.unrun
        self._presets = egress(policy, request.actor.tier) if runs and not fork else ()
        steps = () if fork else policy.setup
        self._of_setup = tuple(dict.fromkeys(name for step in steps for name in step.egress))
        self._fork = fork
        self._mirrors = _mirrors(environment.get("SLASH_AGENT_MIRRORS", ""))
        self._ca = environment.get("SSL_CERT_FILE", "")
        self._proxies: list[Proxy] = []

    def of_agent(self) -> WayOut | None:
        """For the agent's own commands."""
        return self._way_out(self._presets)

    def of(self, name: str) -> WayOut | None:
        """For the commands of the workshop `name`: those of setup have what their steps say, checks what the agent
        has."""
        return self._way_out(self._of_setup if name == SETUP else self._presets)

    def hold_to(self, presets: Sequence[str], workshop: Workshop) -> None:
        """Let `workshop` reach no more than `presets` from now on."""
        if workshop.proxy is not None:
            from bot.egress.presets import targets

            workshop.proxy.targets = targets(() if self._fork else presets, self._mirrors)

    def used(self) -> tuple[HostUse, ...]:
        """What was asked for so far, by host and by what came of it; those that were refused first."""
        return _uses(self._proxies)

    def _way_out(self, presets: Sequence[str]) -> WayOut | None:
        if not presets:
            return None
        from bot.egress.way_out import WayOut

        ca = Path(self._ca) if self._ca and self._mirrors else None
        return WayOut(tuple(presets), self._mirrors, ca, opened=self._proxies.append)


def _mirrors(named: str) -> tuple[Mirror, ...]:
    if not named.strip():
        return ()
    from bot.egress.presets import mirror

    found = tuple(map(mirror, named.split()))
    if twice := [preset for preset, count in Counter(each.preset for each in found).items() if count > 1]:
        raise UsageError(
            f"There is more than one mirror for {twice[0]}. A preset can have one; leave the others out."
        )
    return found


def _uses(proxies: Collection[Proxy]) -> tuple[HostUse, ...]:
    found: dict[tuple[str, bool, str], HostUse] = {}
    for tunnel in (tunnel for proxy in proxies for tunnel in proxy.tunnels):
        key = (tunnel.host, tunnel.allowed, tunnel.why)
        so_far = found.get(key, HostUse(*key))
        found[key] = HostUse(*key, so_far.tunnels + 1, so_far.up + tunnel.up, so_far.down + tunnel.down)
    if left := sum(proxy.left_out for proxy in proxies):
        found["", False, _UNNOTED] = HostUse("", False, _UNNOTED, left)
    return tuple(sorted(found.values(), key=lambda use: (use.allowed, use.host, use.why)))


def refused(workshop: Workshop) -> tuple[str, ...]:
    """What of the network `workshop` asked for and did not get so far, a sentence a host and reason."""
    uses = _uses((workshop.proxy,)) if workshop.proxy is not None else ()
    return said([use for use in uses if not use.allowed])


def said(uses: Sequence[HostUse]) -> tuple[str, ...]:
    """One sentence a host, for the journal and for people; at most twenty, of which refused ones leave room for those
    that something was sent to."""
    reached = [use for use in uses if use.allowed][:_MOST_SHOWN]
    refused = [use for use in uses if not use.allowed][: _MOST_SHOWN - len(reached)]
    shown = [_sentence(use) for use in (*refused, *reached)]
    left = len(uses) - len(shown)
    return (*shown, f"Network: {count_of(left, 'further host')}.") if left > 0 else tuple(shown)


def _sentence(use: HostUse) -> str:
    how = count_of(use.tunnels, "tunnel")
    if use.why == _UNNOTED:
        return f"Network: {count_of(use.tunnels, 'further request')} met a limit, and what for was not noted."
    if not use.allowed:
        return f"Network: {use.host or 'something that is no host'} was refused ({how}): {use.why}."
    kib = (use.down + 1023) // 1024
    cut = f"; {use.why}" if use.why else ""
    return f"Network: {use.host}, {how}, {kib} KiB came and {use.up} bytes went{cut}."
