"""Which programs may look on in a run: one that is not ours may run what its project says, so it may be started where
the agent could give the same command, and nowhere else. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from bot.contracts.request import Tier
from bot.policy.decide import decide
from bot.policy.schema import Policy
from bot.run.profiles import SHELL, Profile

_OPAQUE = '"$@"'
"""Stands for all commands whose words do not say what runs."""

_AS_COMMANDS = {
    "ty": ("ty server",),
    "ruff": ("ruff server",),
    "typescript": ("tsc --lsp --stdio", "node tsserver.js"),
    "gopls": ("gopls",),
    "clangd": ("clangd",),
    "biome": ("biome lsp-proxy",),
    "oxlint": ("oxlint --lsp",),
    "cargo": ("cargo check",),
    "shellcheck": ("shellcheck -",),
    "bash": ("bash -n",),
}


class ServerTerms(NamedTuple):
    """`only_ours` is why no program but ours may be started, a clause; empty where others may. `refused` has the same
    for single ones."""

    only_ours: str = ""
    refused: Mapping[str, str] = MappingProxyType({})


def server_terms(policy: Policy, tier: Tier, profile: Profile | None = None) -> ServerTerms:
    """With nobody to ask, since nobody is asked about a server."""
    if profile is not None and (profile.unrun or SHELL not in profile.tools):
        return ServerTerms(profile.unrun or "this run is given no commands")
    if why := _denied(policy, tier, _OPAQUE):
        return ServerTerms(f"it runs what the project says, and {why}")
    refused = {
        name: why
        for name, commands in _AS_COMMANDS.items()
        if (why := next(filter(None, (_denied(policy, tier, command) for command in commands)), ""))
    }
    return ServerTerms(refused=refused)


def _denied(policy: Policy, tier: Tier, command: str) -> str:
    """A clause on the rule that does not allow this command; empty where none is."""
    decision = decide(policy, tier, SHELL, {"command": command})
    if decision.allowed:
        return ""
    what = "opaque commands" if command == _OPAQUE else f"`{command}`"
    return f"{decision.rule} does not allow {what}"
