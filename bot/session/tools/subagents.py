"""`task`: a subagent with a fresh conversation, for work that would fill the main one with reading (S-114..S-121).

It only reads, and only its last text is returned. A subagent cannot start others, and shares the run's usage limits.
"""

from dataclasses import dataclass, field, replace
from functools import partial

from bot.agent.conversation_context import ConversationContext
from bot.agent.loop import run_loop
from bot.agent.prompt import prompt_text, system_prompt
from bot.agent.toolbox import first_and_last_mask
from bot.contracts import tool_schema as schema
from bot.contracts.cancel import CancelToken
from bot.contracts.formatting import count_of, money
from bot.contracts.journal import AgentStarted
from bot.contracts.outcome import StopReason
from bot.contracts.tool_descriptions import TOOL_SPECS
from bot.contracts.tools import ToolArguments, ToolOutcome, ToolSpec
from bot.session.context.run import Run
from bot.session.tools.conversation_hooks import conversation_hooks
from bot.session.tools.model_choice import ConversationModel, RunModels
from bot.session.tools.toolbox import CallTracker, Gatekeeper, RunToolbox
from bot.session.workspaces.agent_workspace import AgentWorkspace

_READING = frozenset(spec.name for spec in TOOL_SPECS if not spec.writes)
"""A shell counts as writing, whatever it is used for."""


TURNS = 30
MAX_REPORT = 16_000
"""Characters of a subagent's last text that are returned; the full text is stored for the model."""

TASK_SPEC = ToolSpec(
    name="task",
    description="Give a search or a design to a subagent, which only reads, sees `prompt` alone and returns a text.",
    parameters=schema.record("prompt", prompt=schema.text()),
)


@dataclass
class Subagents:
    """The tool that starts a subagent. `parent` is the run's own conversation, made after its tools and of `models`;
    `calls` has the call of the current thread."""

    run: Run
    workspace: AgentWorkspace
    gatekeeper: Gatekeeper
    models: RunModels = field(init=False)
    calls: CallTracker = field(default_factory=CallTracker)
    parent: ConversationContext = field(init=False)
    number: int = field(default=0, init=False)
    spec = TASK_SPEC

    def __call__(self, arguments: ToolArguments, cancel: CancelToken) -> ToolOutcome:
        """Run the subagent to its end; the arguments fit the schema already."""
        self.number += 1
        name, prompt = f"explore-{self.number}", str(arguments["prompt"])
        context = self.prepare(name, cancel)
        turn, call_id = self.calls.position[:2]
        context.write(AgentStarted(turn, call_id, name, context.system, prompt))
        try:
            end = run_loop(context, prompt)
        finally:
            context.provider.close()
        text = end.final_text or "(It ended without an answer.)"
        if len(text) > MAX_REPORT:
            path = self.run.archive(text)
            more = f"; the whole report: {path}" if path else ""
            text = f"{text[:MAX_REPORT]}\n(cut here{more})"
        finished = end.stop is StopReason.END_TURN
        summary = f"{name}: {count_of(end.turns, 'turn')}, {end.usage.total} tokens, {money(end.cost)}"
        if not finished:
            text = f"It did not finish: {end.reason}\n{text}"
        metadata = {
            "agent": name,
            "turns": end.turns,
            "tokens": end.usage.total,
            "cost": end.cost,
            "stop_reason": end.stop.value,
        }
        return ToolOutcome(f"{text}\n\n({summary})", is_error=not finished, metadata=metadata)

    def prepare(self, name: str, cancel: CancelToken) -> ConversationContext:
        """The parent's limits, usage and clock, with tools, model, journal and hooks of its own."""
        run, calls = self.run, CallTracker(name)
        tools = tuple(name for name in run.profile.tools if name in _READING)
        profile = replace(run.profile, tools=tools, results=(), helper_tools=(), read_only=True)
        gatekeeper = self.gatekeeper.for_agent(profile, partial(run.journal.write, agent=name), name)
        toolbox = RunToolbox(self.workspace, gatekeeper, profile, (), calls)
        model = ConversationModel(self.models)
        return self.parent._replace(
            provider=model.provider,
            system=system_prompt(prompt_text("agent_explore"), toolbox.specs),
            toolbox=toolbox,
            cancel=cancel,
            hooks=conversation_hooks(run, calls),
            small=model.small,
            identity=f"{self.parent.identity}-{name}",
            own_turn_limit=TURNS,
            agent=name,
            masking=first_and_last_mask(()),
            fallback=model.fall_back,
            slow_checks=lambda: False,
        )
