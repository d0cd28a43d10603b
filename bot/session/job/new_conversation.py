"""Build the conversation of a run: system prompt, tools, hooks, limits, and what it continues."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bot import __version__
from bot.agent.compaction import SummaryCompaction
from bot.agent.conversation_context import ConversationContext
from bot.agent.prompt import new_marker, system_prompt
from bot.agent.usage import SessionUsage
from bot.contracts import journal as lines
from bot.contracts.model import Provider
from bot.contracts.request import RunLimits
from bot.contracts.tools import ToolSpec
from bot.providers.models import cost
from bot.publish.bundle.write import JOURNAL
from bot.session.context.profiles import masking_of
from bot.session.job.loop_hooks import LoopHooks, StopHook, SyntaxCheck
from bot.session.job.run_context import RunContext
from bot.session.tools.result_tools import ResultTools
from bot.session.tools.run_models import ConversationModel, RunModels
from bot.session.tools.subagents import RunSubagents, SharedSettings
from bot.session.tools.toolbox import CallTracker, RunToolbox

if TYPE_CHECKING:
    from bot.session.job.resume import EarlierConversation, Resumed


def new_conversation(
    context: RunContext, models: RunModels, model: ConversationModel, resumed: Resumed | None
) -> tuple[ConversationContext, ResultTools]:
    """What the conversation with `model` needs, and its result tools. Writes the journal's first lines."""
    provider = model.provider
    inputs, spec, profile = context.inputs, context.inputs.spec, context.profile
    calls = CallTracker()
    shared = SharedSettings(
        models=models,
        limits=_limits(context),
        usage=SessionUsage(),
        began=time.monotonic(),
        identity=new_marker(),
        stop_on_denial=inputs.policy.on_deny == "stop",
    )
    subagents = _subagents(context, shared, calls)
    results = ResultTools(
        *((context.review.tool,) if context.review else ()),
        *context.skills.tools,
        subagents.tool,
        propose=context.proposals,
        person=context.approvals.answer,
        mirror=context.archive.mirror,
    )
    toolbox = RunToolbox(
        context.workspace,
        context.gatekeeper,
        profile,
        results.of(profile),
        calls,
        spec.folder.variation,
    )
    system, tools = system_prompt(profile.prompt, toolbox.specs), toolbox.specs
    earlier, notes = _earlier(context, results, provider.info.name, system, tools)
    if earlier is not None:
        system, tools = earlier.system, earlier.tools
    inputs.journal.write(_header(context, provider, system, tools, shared.limits))
    spec.folder.keep_header()
    for note in (*notes, *context.skills.notes, *models.notes):
        inputs.journal.write(lines.Note(note))
    if resumed and resumed.files:
        change = lines.FilesChanged(0, resumed.files, note="the change of the run before this one")
        inputs.journal.write(change)
    base = inputs.checkout.base_sha[:12]
    spec.say(f"at commit {base}, with {provider.info.name}, sandbox {inputs.confinement.name}")
    conversation = ConversationContext(
        provider,
        system,
        toolbox,
        inputs.journal,
        shared.limits,
        inputs.cancel,
        _hooks(context, results, calls).hooks(),
        stop_on_denial=shared.stop_on_denial,
        price=cost,
        compaction=SummaryCompaction(provider, context.archive, cost, model.small),
        identity=shared.identity,
        shared_usage=shared.usage,
        start_time=shared.began,
        masking=masking_of(profile),
        before=earlier.messages if earlier else (),
        tools=tools,
        provider_override=lambda: context.skills.models.provider,
        fallback=model.fall_back,
        effort=models.effort,
        slow_checks=lambda: context.rounds.are_slow,
    )
    return conversation, results


def _limits(context: RunContext) -> RunLimits:
    budget = context.inputs.budget
    turns = min(budget.turns, context.profile.turns or budget.turns)
    printed = (budget.commands, budget.output) if budget.runs_commands else (None, None)
    return RunLimits(turns, budget.tokens, budget.usd, budget.minutes, *printed)


def _subagents(context: RunContext, shared: SharedSettings, calls: CallTracker) -> RunSubagents:
    inputs, spec = context.inputs, context.inputs.spec
    return RunSubagents(
        shared=shared,
        workspace=context.workspace,
        gatekeeper=context.gatekeeper,
        profile=context.profile,
        journal=inputs.journal,
        archive=context.archive,
        say=spec.say,
        call=calls.turn_and_id,
        skills=context.skills,
        variation=spec.folder.variation,
    )


def _hooks(context: RunContext, results: ResultTools, calls: CallTracker) -> LoopHooks:
    inputs, spec = context.inputs, context.inputs.spec
    stop_hook = StopHook(
        policy=inputs.policy.agent.stop_hook,
        profile=context.profile,
        results=results,
        rounds=context.rounds,
        gate=context.gate,
        check_syntax=SyntaxCheck(context.environment.workspaces, spec.folder, inputs.stop, spec.say),
        instruction=context.request.instruction,
        stop=inputs.stop,
        diagnostics=context.diagnostics,
    )
    return LoopHooks(
        workspace=context.workspace,
        rounds=context.rounds,
        results=results,
        skills=context.skills,
        stop_hook=stop_hook,
        profile=context.profile,
        calls=calls,
        watch=spec.watch,
        say=spec.say,
    )


def _earlier(
    context: RunContext, results: ResultTools, model: str, system: str, tools: tuple[ToolSpec, ...]
) -> tuple[EarlierConversation | None, tuple[str, ...]]:
    """The conversation of the last run if this one continues it, and notes for the journal."""
    spec = context.inputs.spec
    if context.inputs.last is None or spec.resume is None:
        return None, ()
    from bot.session.job.resume import NewRun, conversation, last_todo, read_recording

    recorded = read_recording(spec.resume / JOURNAL)
    if isinstance(recorded, str):
        earlier: EarlierConversation | str = recorded
    else:
        results.todo.items = last_todo(recorded)
        earlier = conversation(recorded, NewRun(spec.request, model, system, tools))
    notes = (earlier,) if isinstance(earlier, str) else earlier.notes
    for note in notes:
        spec.say(note)
    return None if isinstance(earlier, str) else earlier, notes


def _header(
    context: RunContext, provider: Provider, system: str, tools: tuple[ToolSpec, ...], limits: RunLimits
) -> lines.Header:
    inputs = context.inputs
    policy_sha = inputs.checkout.policy_sha
    return lines.Header(
        schema=lines.SCHEMA_VERSION,
        version=__version__,
        started_at=inputs.started_at,
        model=provider.info.name,
        info=provider.info,
        base_sha=inputs.checkout.base_sha,
        request=inputs.spec.request,
        system=system,
        tools=tools,
        limits=limits,
        sandbox=inputs.confinement.name,
        policy_sha="" if policy_sha == inputs.checkout.base_sha else policy_sha,
        checks=tuple(
            lines.PlannedCheck(one.name, one.command, one.detected) for one in context.rounds.checks
        ),
    )
