"""The network of one run's workspaces: the hosts that they may reach, and their uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bot.contracts.errors import UsageError
from bot.contracts.formatting import count_of
from bot.contracts.sandbox import HostUse
from bot.contracts.workspace_tools import SHELL_TOOLS
from bot.policy.egress import mirror, targets
from bot.policy.run_settings import SetupStep
from bot.session.context.run import Run
from bot.workspace.egress.access import CA_VARIABLES, EgressAccess
from bot.workspace.egress.tunnel_limits import NOT_LISTED, Uses, add_uses

if TYPE_CHECKING:
    from bot.policy.egress import Mirror
    from bot.workspace.client import Workspace

SETUP = "setup"
"""The name of the workspace in which setup's commands run."""

_MAX_NOTES = 20


class Network:
    """`setup` are the steps that need the network. The environment of `run` names the workflow's mirrors and trusted
    authorities; raises `UsageError` for an invalid one. A fork's code gets no network, whoever requested the run."""

    def __init__(self, run: Run, setup: Sequence[SetupStep]) -> None:
        request, profile = run.request, run.profile
        fork = request.pull is not None and request.pull.from_fork(request.repository)
        runs = bool(set(SHELL_TOOLS).intersection(profile.tools)) and not profile.unrun
        self._presets = run.policy.tiers[run.tier].egress if runs and not fork else ()
        steps = () if fork else setup
        self._of_setup = tuple(dict.fromkeys(name for step in steps for name in step.egress))
        self._fork = fork
        self._mirrors = _mirrors(run.environment.get("SLASH_AGENT_MIRRORS", ""))
        self._authorities = _authorities(run.environment) if self._presets or self._of_setup else {}

    def access(self, name: str) -> EgressAccess | None:
        """The network for the commands of a workspace: setup has that of its steps, checks that of the agent."""
        presets = self._of_setup if name == SETUP else self._presets
        if not presets:
            return None
        return EgressAccess(tuple(presets), self._mirrors, self._authorities)

    def restrict(self, presets: Sequence[str], workspace: Workspace) -> None:
        """Let `workspace` reach no more than `presets` from now on."""
        if workspace.proxy is not None:
            workspace.proxy.targets = targets(() if self._fork else presets, self._mirrors)


def _authorities(environment: Mapping[str, str]) -> dict[str, Path]:
    """The files of certificates that the machine's owner trusts, by the variables that name them."""
    named = {name: Path(environment.get(name, "")) for name in CA_VARIABLES}
    files = {name: path for name, path in named.items() if path.is_absolute() and path.is_file()}
    for name, path in files.items():
        if b"PRIVATE KEY" in path.read_bytes():
            raise UsageError(
                f"{name} names {path}, which holds a private key: the sandbox's commands could read it. Name a file "
                "that holds certificates alone."
            )
    return files


def _mirrors(named: str) -> tuple[Mirror, ...]:
    mirrors = tuple(map(mirror, named.split()))
    for preset, number in Counter(each.preset for each in mirrors).items():
        if number > 1:
            problem = f"There is more than one mirror for {preset}"
            raise UsageError(f"{problem}. A preset can have one; leave the others out.")
    return mirrors


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
    reached = [use for use in uses if use.allowed][:_MAX_NOTES]
    refused = [use for use in uses if not use.allowed][: _MAX_NOTES - len(reached)]
    sentences = [_sentence(use) for use in (*refused, *reached)]
    left = len(uses) - len(sentences)
    return (*sentences, f"Network: {count_of(left, 'further host')}.") if left > 0 else tuple(sentences)


def _sentence(use: HostUse) -> str:
    how = count_of(use.tunnels, "tunnel")
    if use.why == NOT_LISTED:
        return f"Network: {count_of(use.tunnels, 'further request')} met a limit, and what for was not noted."
    if not use.allowed:
        return f"Network: {use.host or 'something that is no host'} was refused ({how}): {use.why}."
    kib = (use.down + 1023) // 1024
    cut = f"; {use.why}" if use.why else ""
    return f"Network: {use.host}, {how}, {kib} KiB came and {use.up} bytes went{cut}."
