"""The subagents of one run: their types under the verb, and the conversation of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.agent.compaction import SummaryCompaction
from bot.agent.conversation_context import ConversationContext, Hooks, TurnInfo
from bot.agent.masking import first_and_last_mask, requests_left_notice
from bot.agent.prompt import prompt_text, system_prompt
from bot.agent.subagents import TYPES, AgentType, Subagents
from bot.agent.todo import Todo, render_list
from bot.agent.usage import LimitReminder
from bot.contracts.cancel import CancelToken
from bot.contracts.model import Retrying
from bot.contracts.workspace_tools import TOOL_SPECS
from bot.session.context.run import Run
from bot.session.progress.reporter import WatchedProvider
from bot.session.tools.result_tools import Archive, ResultTool
from bot.session.tools.run_models import ConversationModel, RunModels
from bot.session.tools.skills import RunSkills, with_skill_tool
from bot.session.tools.toolbox import CallTracker, Gatekeeper, RunToolbox
from bot.session.workspaces.start import AgentWorkspace
from bot.verbs.record import TODO, Profile

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
    archive: Archive
    calls: CallTracker
    tool: Subagents = field(init=False)
    parent: ConversationContext = field(init=False)

    def __post_init__(self) -> None:
        types = tuple(kind for kind in TYPES if kind.read_only or not self.run.profile.read_only)
        self.tool = Subagents(types, self._prepare, self.calls.turn_and_id, self.archive)

    def _prepare(self, name: str, kind: AgentType, cancel: CancelToken) -> ConversationContext:
        """The parent's limits, usage and clock, with tools, model, journal and hooks of its own."""
        run, skills, todo, calls = self.run, RunSkills(self.run), Todo(), CallTracker(name)
        profile = narrowed(run.profile, kind)
        if not kind.read_only:
            profile = with_skill_tool(profile)
        journal = run.journal.of(name)
        own_tools: tuple[ResultTool, ...] = (todo, skills.tool)
        own = {tool.spec.name: tool for tool in own_tools}
        toolbox = RunToolbox(
            self.workspace,
            self.gatekeeper.for_agent(profile, journal.write, skills.grants.why, name),
            profile,
            tuple(own[aid] for aid in profile.helper_tools),
            calls,
        )
        model = ConversationModel(
            self.models, lambda one: WatchedProvider(one, lambda line: run.say(f"{name}: {line}"))
        )
        return self.parent._replace(
            provider=model.provider,
            system=system_prompt(prompt_text(kind.prompt), toolbox.specs),
            toolbox=toolbox,
            journal=journal,
            cancel=cancel,
            hooks=conversation_hooks(run, calls, todo, skills),
            compaction=SummaryCompaction(model.provider, self.archive, model.small),
            identity=f"{self.parent.identity}-{name}",
            own_turn_limit=kind.turns,
            is_subagent=True,
            masking=first_and_last_mask(()),
            fallback=model.fall_back,
            slow_checks=lambda: False,
        )


def conversation_hooks(
    run: Run, calls: CallTracker, todo: Todo, skills: RunSkills, results: Sequence[str] = ()
) -> Hooks:
    """The hooks that every conversation has. `results` are the tools that submit the run's result."""
    limit_reminder = LimitReminder()

    def request_sent(turn: int) -> None:
        calls.turn = turn
        if calls.agent:
            run.say(f"{calls.agent}: turn {turn}")

    def after_results(info: TurnInfo) -> list[str]:
        due = (
            todo.reminder(info.calls),
            requests_left_notice(info.state, results),
            limit_reminder.reminder(info.shares),
        )
        return [*skills.tool.after_results(), *(text for text in due if text)]

    def carried() -> list[str]:
        """The texts that a compacted conversation keeps verbatim."""
        listed = [f"Your list:\n{render_list(todo.items)}"] if todo.items else []
        return [*listed, *skills.carried()]

    def retrying(event: Retrying) -> None:
        run.say(f"{event.reason}; asking again in {event.delay:.0f} s")

    return Hooks(
        request_sent=request_sent, retrying=retrying, after_results=after_results, verbatim_texts=carried
    )


def narrowed(profile: Profile, kind: AgentType) -> Profile:
    """The profile of a subagent of `kind`. The result tools stay with the run itself."""
    if kind.read_only:
        tools = tuple(name for name in profile.tools if name in _READING)
        return replace(profile, tools=tools, results=(), helper_tools=(), read_only=True)
    return replace(profile, results=(), helper_tools=(TODO,))
