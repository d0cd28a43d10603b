"""Language-server diagnostics of a run: which servers the agent's tool host may start, and their reports for journal
and outcome.

A server that is not ours may run what its project configures, so it is started only where the agent could run the same
command.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.contracts import journal as lines
from bot.contracts.evidence import ServerUse
from bot.contracts.request import Tier
from bot.contracts.tool_descriptions import SHELL
from bot.contracts.tools import ToolOutcome
from bot.contracts.wire import WireError
from bot.ecosystems.registry import server_names, servers
from bot.policy.decide import decide
from bot.policy.settings import Policy
from bot.session.context.run import Run
from bot.session.workspaces.start_workspaces import CallPosition
from bot.verbs.record import Profile
from bot.workspace.diagnostics import diagnosis

FIELD = "diagnostics"
"""Of a result's metadata."""

_UNREADABLE = "What the tool host said of problems in code could not be read: {}."
_OPAQUE = '"$@"'
"""Stands for all commands whose words do not say what runs."""


def diagnostics_settings(policy: Policy, tier: Tier, profile: Profile | None = None) -> dict[str, Any] | None:
    """The settings of a tool host, or `None` without diagnostics."""
    wanted = policy.diagnostics
    if wanted.off:
        return None
    servers = {name: {"command": one.command, "off": one.off} for name, one in wanted.servers.items()}
    return {"wait": wanted.wait, "servers": servers, "refused": refused_servers(policy, tier, profile)}


@dataclass
class DiagnosticsMonitor:
    """The diagnostics of one run, whose workspaces follow one another."""

    run: Run
    _since: int = 0
    _uses: dict[str, ServerUse] = field(default_factory=dict)

    def settings(self) -> Mapping[str, Any] | None:
        """The settings of the next tool host over the agent's tree, or `None` without diagnostics."""
        run = self.run
        if run.profile.read_only:
            return None
        settings = diagnostics_settings(run.policy, run.tier, run.profile)
        starting = time.time_ns()
        self._since = self._since or starting
        return {**settings, "since": self._since, "starting": starting} if settings else None

    def take_diagnostics(self, position: CallPosition, outcome: ToolOutcome) -> ToolOutcome:
        """Journal the diagnostics of a call, and remove them from its metadata."""
        raw = outcome.metadata.get(FIELD)
        if raw is None:
            return outcome
        metadata = {name: value for name, value in outcome.metadata.items() if name != FIELD}
        outcome = outcome._replace(metadata=metadata)
        try:
            report = diagnosis(raw)
        except WireError as error:
            self.run.note(_UNREADABLE.format(error))
            return outcome
        self._uses |= {use.name: use for use in report.servers}
        record = lines.DiagnosticsRecord(position.turn, position.call_id, *report[:-1])
        self.run.journal.write(record, position.agent)
        return outcome

    def servers(self) -> tuple[ServerUse, ...]:
        """The servers of the whole run."""
        return tuple(use for name in server_names() if (use := self._uses.get(name)) is not None)


def refused_servers(policy: Policy, tier: Tier, profile: Profile | None) -> dict[str, str]:
    """The servers that a run may start by a program of ours alone, each with the reason. A person is never asked."""
    if profile is not None and (profile.unrun or SHELL not in profile.tools):
        return dict.fromkeys(server_names(), profile.unrun or "this run is given no commands")
    if reason := _denied(policy, tier, _OPAQUE):
        return dict.fromkeys(server_names(), f"it runs what the project says, and {reason}")
    refused: dict[str, str] = {}
    for server in servers():
        # Its start stands for these commands.
        reasons = (_denied(policy, tier, command) for command in server.commands or (server.name,))
        if reason := next(filter(None, reasons), ""):
            refused[server.name] = reason
    return refused


def _denied(policy: Policy, tier: Tier, command: str) -> str:
    """A clause on the rule that denies this command; empty if it is allowed."""
    decision = decide(policy, tier, SHELL, {"command": command})
    if decision.allowed:
        return ""
    what = "opaque commands" if command == _OPAQUE else f"`{command}`"
    return f"{decision.rule} does not allow {what}"
