"""The subagents of one run: their types under the verb, and the conversation of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from bot.agent.compaction import SummaryCompaction
from bot.agent.conversation_context import ConversationContext, Hooks, TurnInfo
from bot.agent.journal import Journal
from bot.agent.masking import first_and_last_mask, requests_left_notice
from bot.agent.prompt import prompt_text, system_prompt
from bot.agent.subagents import TYPES, AgentType, Subagents
from bot.agent.todo import Todo, render_list
from bot.agent.usage import LimitReminder, SessionUsage
from bot.contracts.cancel import CancelToken
from bot.contracts.model import Provider, Retrying
from bot.contracts.request import RunLimits
from bot.contracts.tools import Variation
from bot.contracts.workspace_tools import TOOL_SPECS
from bot.providers.models import cost
from bot.session.progress.waits import WatchedProvider
from bot.session.tools.result_tools import Archive, ResultTool
from bot.session.tools.run_models import ConversationModel, RunModels
from bot.session.tools.skills import RunSkills
from bot.session.tools.toolbox import CallTracker, Gatekeeper, RunToolbox
from bot.session.workspaces.agent_workspace import AgentWorkspace
from bot.verbs.record import TODO, Profile

_READING = frozenset(spec.name for spec in TOOL_SPECS if not spec.writes)
"""A shell counts as writing, whatever it is used for."""


class SharedSettings(NamedTuple):
    """What subagents have in common with their run's conversation: the models, the limits, the usage and the clock."""

    models: RunModels
    limits: RunLimits
    usage: SessionUsage
    began: float
    identity: str
    stop_on_denial: bool


@dataclass(slots=True, kw_only=True)
class RunSubagents:
    """`tool` starts a subagent. `call` returns turn and id of the call that
    the current thread runs."""

    shared: SharedSettings
    workspace: AgentWorkspace
    gatekeeper: Gatekeeper
    profile: Profile
    journal: Journal
    archive: Archive
    say: Callable[[str], None]
    call: Callable[[], tuple[int, str]]
    skills: RunSkills
    variation: Variation
    tool: Subagents = field(init=False)

    def __post_init__(self) -> None:
        types = tuple(kind for kind in TYPES if kind.read_only or not self.profile.read_only)
        self.tool = Subagents(types, self._prepare, self.call, self.archive)

    def _prepare(self, name: str, kind: AgentType, cancel: CancelToken) -> ConversationContext:
        shared = self.shared
        profile = narrowed(self.profile, kind)
        skills = self.skills.for_agent()
        if not kind.read_only:
            profile = skills.offered_by(profile)
        journal = self.journal.of(name)
        calls = CallTracker(name)
        todo, limit_reminder = Todo(), LimitReminder()
        own: dict[str, ResultTool] = {tool.spec.name: tool for tool in skills.tools}
        own[TODO] = todo
        toolbox = RunToolbox(
            self.workspace,
            self.gatekeeper.for_agent(profile, journal.write, skills.grants.why, name),
            profile,
            tuple(own[aid] for aid in profile.helper_tools),
            calls,
            self.variation,
        )

        def request_sent(turn: int) -> None:
            calls.turn = turn
            self.say(f"{name}: turn {turn}")

        def after_results(info: TurnInfo) -> list[str]:
            due = (
                todo.reminder(info.calls),
                requests_left_notice(info.state, ()),
                limit_reminder.reminder(info.shares),
            )
            return [*skills.after_results(), *(text for text in due if text)]

        def carried() -> list[str]:
            listed = [f"Your list:\n{render_list(todo.items)}"] if todo.items else []
            return [*listed, *skills.carried()]

        def watched(provider: Provider) -> Provider:
            return WatchedProvider(provider, lambda line: self.say(f"{name}: {line}"))

        models = shared.models
        model = ConversationModel(models, watched)
        return ConversationContext(
            provider=model.provider,
            system=system_prompt(prompt_text(kind.prompt), toolbox.specs),
            toolbox=toolbox,
            journal=journal,
            limits=shared.limits,
            cancel=cancel,
            hooks=Hooks(
                request_sent=request_sent,
                retrying=self._retrying,
                after_results=after_results,
                verbatim_texts=carried,
            ),
            stop_on_denial=shared.stop_on_denial,
            price=cost,
            compaction=SummaryCompaction(model.provider, self.archive, cost, model.small),
            identity=f"{shared.identity}-{name}",
            shared_usage=shared.usage,
            own_turn_limit=kind.turns,
            start_time=shared.began,
            is_subagent=True,
            masking=first_and_last_mask(()),
            provider_override=lambda: skills.models.provider,
            fallback=model.fall_back,
            effort=models.effort,
        )

    def _retrying(self, event: Retrying) -> None:
        self.say(f"{event.reason}; asking again in {event.delay:.0f} s")


def narrowed(profile: Profile, kind: AgentType) -> Profile:
    """The profile of a subagent of `kind`. The result tools stay with the run itself."""
    if kind.read_only:
        tools = tuple(name for name in profile.tools if name in _READING)
        return replace(profile, tools=tools, results=(), helper_tools=(), read_only=True)
    return replace(profile, results=(), helper_tools=(TODO,))
