"""The subagents of one run, and the conversation of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from bot.agent.compaction import SummaryCompaction
from bot.agent.conversation_context import ConversationContext, Hooks, TurnInfo
from bot.agent.limits import LimitReminder
from bot.agent.prompt import prompt_text, system_prompt
from bot.agent.subagents import TURNS, Subagents
from bot.agent.toolbox import first_and_last_mask, requests_left_notice
from bot.contracts.cancel import CancelToken
from bot.contracts.model import Retrying
from bot.contracts.workspace_tools import TOOL_SPECS
from bot.session.context.run import Run
from bot.session.progress.reporter import WatchedProvider
from bot.session.tools.run_models import ConversationModel, RunModels
from bot.session.tools.toolbox import CallTracker, Gatekeeper, RunToolbox
from bot.session.workspaces.start import AgentWorkspace

_READING = frozenset(spec.name for spec in TOOL_SPECS if not spec.writes)
"""A shell counts as writing, whatever it is used for."""


@dataclass(slots=True)
class RunSubagents:
    """`tool` starts a subagent. `parent` is the run's own conversation, made after its tools; `calls` has the call
    of the current thread."""

    run: Run
    models: RunModels
    workspace: AgentWorkspace
    gatekeeper: Gatekeeper
    calls: CallTracker
    tool: Subagents = field(init=False)
    parent: ConversationContext = field(init=False)

    def __post_init__(self) -> None:
        self.tool = Subagents(self._prepare, lambda: self.calls.position[:2], self.run.archive)

    def _prepare(self, name: str, cancel: CancelToken) -> ConversationContext:
        """The parent's limits, usage and clock, with tools, model, journal and hooks of its own."""
        run, calls = self.run, CallTracker(name)
        tools = tuple(name for name in run.profile.tools if name in _READING)
        profile = replace(run.profile, tools=tools, results=(), helper_tools=(), read_only=True)
        gatekeeper = self.gatekeeper.for_agent(profile, partial(run.journal.write, agent=name), name)
        toolbox = RunToolbox(self.workspace, gatekeeper, profile, (), calls)
        model = ConversationModel(
            self.models, lambda one: WatchedProvider(one, lambda line: run.say(f"{name}: {line}"))
        )
        return self.parent._replace(
            provider=model.provider,
            system=system_prompt(prompt_text("agent_explore"), toolbox.specs),
            toolbox=toolbox,
            cancel=cancel,
            hooks=conversation_hooks(run, calls),
            compaction=SummaryCompaction(model.provider, run.archive, model.small),
            identity=f"{self.parent.identity}-{name}",
            own_turn_limit=TURNS,
            agent=name,
            masking=first_and_last_mask(()),
            fallback=model.fall_back,
            slow_checks=lambda: False,
        )


def conversation_hooks(run: Run, calls: CallTracker, results: Sequence[str] = ()) -> Hooks:
    """The hooks that every conversation has. `results` are the tools that submit the run's result."""
    limit_reminder = LimitReminder()

    def request_sent(turn: int) -> None:
        calls.turn = turn
        if calls.agent:
            run.say(f"{calls.agent}: turn {turn}")

    def after_results(info: TurnInfo) -> list[str]:
        due = (requests_left_notice(info.state, results), limit_reminder.reminder(info.shares))
        return [text for text in due if text]

    def retrying(event: Retrying) -> None:
        run.say(f"{event.reason}; asking again in {event.delay:.0f} s")

    return Hooks(request_sent=request_sent, retrying=retrying, after_results=after_results)
