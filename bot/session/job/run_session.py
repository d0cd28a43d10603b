"""`run_session`: one run from its spec to its result: checkout, policy, workspace, conversation, gate, checks.

What costs time is overlapped: the vendor's package is imported while git and the sandbox work, and the checks before
the change run while the model reads. What only the end of a run needs is imported there. However the conversation ends,
the gate judges the tree.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from bot import __version__
from bot.agent.compaction import SummaryCompaction
from bot.agent.journal import Journal
from bot.agent.loop import ConversationContext, LoopEnd, run_loop
from bot.agent.prompt import new_marker, system_prompt
from bot.agent.task import LastRun, first_message
from bot.agent.todo import render_list
from bot.agent.usage import SessionUsage
from bot.checkout.clone import prepare
from bot.checkout.git import require_git
from bot.checkout.leftover_credentials import FIX, find_leftover_credentials
from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.formatting import count_of
from bot.contracts.messages import Usage
from bot.contracts.model import Provider
from bot.contracts.outcome import StopReason
from bot.contracts.request import Limits, Tier, Verb
from bot.contracts.tools import ToolSpec
from bot.gate.disguised_secrets import Detector
from bot.gate.redact import Redactor
from bot.policy.decide import may_write
from bot.providers.connect import apply_overrides
from bot.providers.models import cost
from bot.providers.probe import with_served_window
from bot.session.context.base import base_finder, base_policy, base_task
from bot.session.context.secrets import known_secrets
from bot.session.folder.run_folder import lock_folder
from bot.session.hooks.loop_hooks import LoopHooks
from bot.session.hooks.stop_hook import StopHook, SyntaxCheck
from bot.session.job.attachments import Attachments, start_loading
from bot.session.job.run_context import RunContext, RunInputs, run_context
from bot.session.job.spec import RunResult, RunSpec
from bot.session.progress.background import Background
from bot.session.progress.reporter import ProgressReporter
from bot.session.progress.signals import cancelled_after
from bot.session.progress.waits import WatchedProvider
from bot.session.tools.result_tools import ResultTools
from bot.session.tools.skills import find_skills
from bot.session.tools.subagents import RunSubagents, SharedSettings
from bot.session.tools.toolbox import CallTracker, RunToolbox
from bot.workspace.probe import Chosen, first_that_holds
from bot.workspace.sandbox.choose import candidates

if TYPE_CHECKING:
    from bot.maintenance.task import Task
    from bot.publish.bundle.read import Bundle
    from bot.session.job.resume import EarlierConversation, Resumed


def run_session(spec: RunSpec, stop: CancelToken) -> RunResult:
    """Run `spec` until its end or until `stop` is fired, as signals do. Raises an `AgentError` for what fails before
    the first request, and leaves no folder then; later failures are in the outcome. Raises `FolderBusy` where another
    run has the folder."""
    with lock_folder(spec.folder.root):
        try:
            return _run(spec, stop)
        except BaseException:
            if not spec.folder.begun:
                spec.folder.drop()
            raise


def _run(spec: RunSpec, stop: CancelToken) -> RunResult:
    """Start what may run on threads while the base is checked out."""
    if spec.request.verb is Verb.APPROVE and spec.request.plan is None:
        raise UsageError("There is no approved plan to carry out: `/agent plan` makes one.")
    require_git()
    sandboxes = candidates(spec.sandbox)
    last = _last_bundle(spec)
    provider = Background(lambda: with_served_window(spec.connect()), "connect")
    redactor = Redactor(known_secrets(spec.environment))
    prepared = Background(Detector(redactor).prepare, "detector")
    wall = Background(lambda: first_that_holds(*sandboxes), "wall")
    try:
        return _run_base(spec, stop, last, provider, redactor=redactor, wall=wall)
    finally:
        prepared.wait()  # a process that ends while a thread of it is in re2 is aborted
        wall.wait()  # else the processes and folders of its probe would stay behind


def _run_base(
    spec: RunSpec,
    stop: CancelToken,
    last: Bundle | None,
    provider: Background[Provider],
    *,
    redactor: Redactor,
    wall: Background[Chosen],
) -> RunResult:
    spec = _with_leftovers(spec)
    checkout = prepare(spec.source, spec.folder.root)
    task = base_task(checkout, spec.request)
    skills = find_skills(checkout, spec.environment if spec.request.actor.tier is Tier.LOCAL else {})
    policy = base_policy(checkout, spec.request, task)
    detector = Detector(redactor, base_finder(checkout, policy))
    say = spec.say
    spec = replace(spec, say=lambda text: say(detector.masked(text)))
    if task is not None and task.threads is not None:
        spec = _with_threads(spec, task)
    if policy.history != 1:
        checkout = prepare(spec.source, spec.folder.history, history=policy.history)
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(spec.folder.journal, detector.masked))
        if spec.view is not None:
            journal.watch = ProgressReporter(
                spec.view.tell, detector.masked, lambda why: journal.write(lines.Note(why))
            )
        chosen = wall.result()
        for note in chosen.wall.notes:
            spec.say(f"warning: {note}")
        inputs = RunInputs(
            spec=spec,
            checkout=checkout,
            policy=policy,
            confinement=chosen.confinement,
            journal=journal,
            detector=detector,
            stop=stop,
            task=task,
            last=last,
        )
        context = run_context(inputs, skills.result(), provider)
        stack.callback(context.skills.close)
        stack.callback(context.environment.trees.wait)
        stack.callback(context.rounds.settle)
        stack.callback(context.workspace.kill)
        result = _run_context(context, provider)
        return replace(result, outcome=replace(result.outcome, wall=chosen.wall))


def _with_leftovers(spec: RunSpec) -> RunSpec:
    """On a runner, `spec` with notes on credentials that earlier steps left: the sandbox hides them, later steps can
    read them."""
    runner = spec.environment.get("RUNNER_TEMP")
    sentences = find_leftover_credentials(spec.origin, spec.environment) if runner else ()
    notes = (f"{sentence} The agent does not see it; {FIX}." for sentence in sentences)
    return replace(spec, notes=(*spec.notes, *notes))


def _with_threads(spec: RunSpec, task: Task) -> RunSpec:
    if spec.threads is None:
        raise UsageError(f"The task {task.name} is about threads on GitHub, and there are none here.")
    triage = spec.threads(task)
    spec.say(f"{count_of(len(triage.threads), 'thread')} to look at")
    return replace(spec, request=replace(spec.request, triage=triage))


def _last_bundle(spec: RunSpec) -> Bundle | None:
    if spec.resume is None:
        return None
    from bot.session.job.resume import last_bundle

    return last_bundle(spec.resume, spec.request)


def _run_context(context: RunContext, connecting: Background[Provider]) -> RunResult:
    """Start the workspace, run the conversation and conclude."""
    inputs, spec, trees = context.inputs, context.inputs.spec, context.environment.trees
    attachments = start_loading(context, connecting)
    resumed = _resumed(context)
    trees.begin(inputs.stop)
    if not trees.need_preparing:
        context.workspace.open()
    provider = WatchedProvider(apply_overrides(connecting.result(), inputs.policy.models), spec.say)
    context.rounds.end_by(inputs.budget.minutes)
    conversation, results = _conversation(context, provider, resumed)
    forget = inputs.stop.on_fire(lambda: inputs.cancel.fire("signal"))
    try:
        with cancelled_after(inputs.cancel, inputs.budget.minutes):
            end = _converse(context, conversation, results, resumed.last if resumed else None, attachments)
            end = _with_title(context, conversation, results, end)
    finally:
        forget()
        provider.close()
    from bot.session.job.result import conclude

    return conclude(context, results, end, provider.info)


def _resumed(context: RunContext) -> Resumed | None:
    """Put the last run's change into the tree, before any workspace opens it."""
    inputs = context.inputs
    if inputs.last is None:
        return None
    from bot.session.job.resume import resume

    deletions = inputs.spec.request.allows_deletions
    rule = may_write(inputs.policy, inputs.tier, context.approvals.approved, deletions=deletions)
    return resume(inputs.last, inputs.checkout, inputs.spec.source, rule)


def _limits(context: RunContext) -> Limits:
    budget = context.inputs.budget
    turns = min(budget.turns, context.profile.turns or budget.turns)
    printed = (budget.commands, budget.output) if budget.runs_commands else (None, None)
    return Limits(turns, budget.tokens, budget.usd, budget.minutes, *printed)


def _conversation(
    context: RunContext, provider: Provider, resumed: Resumed | None
) -> tuple[ConversationContext, ResultTools]:
    """What the conversation needs, and its result tools. Writes the journal's first lines."""
    inputs, spec, profile = context.inputs, context.inputs.spec, context.profile
    calls = CallTracker()
    shared = SharedSettings(
        provider=provider,
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
        overlaps=subagents.tool.read_only,
        variation=spec.folder.variation,
    )
    system, tools = system_prompt(profile.prompt, toolbox.specs), toolbox.specs
    earlier, notes = _earlier(context, results, provider.info.name, system, tools)
    if earlier is not None:
        system, tools = earlier.system, earlier.tools
    inputs.journal.write(_header(context, provider, system, tools, shared.limits))
    spec.folder.keep_header()
    for note in (*notes, *context.skills.notes):
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
        compaction=SummaryCompaction(provider, context.archive, cost),
        identity=shared.identity,
        shared_usage=shared.usage,
        start_time=shared.began,
        masking=profile.masking,
        before=earlier.messages if earlier else (),
        tools=tools,
        provider_override=lambda: context.skills.models.provider,
    )
    return conversation, results


def _subagents(context: RunContext, shared: SharedSettings, calls: CallTracker) -> RunSubagents:
    inputs, spec = context.inputs, context.inputs.spec
    return RunSubagents(
        connect=lambda: apply_overrides(spec.connect(), inputs.policy.models),
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
    from bot.publish.bundle.files import JOURNAL
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
    context: RunContext, provider: Provider, system: str, tools: tuple[ToolSpec, ...], limits: Limits
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
    )


def _converse(
    context: RunContext,
    conversation: ConversationContext,
    results: ResultTools,
    last: LastRun | None,
    attachments: Background[Attachments] | None,
) -> LoopEnd:
    inputs, spec = context.inputs, context.inputs.spec
    if context.review and context.review.nothing_new:
        reason = "Nothing of the diff is new since it was reviewed last."
        return LoopEnd(StopReason.END_TURN, reason, 0, Usage(), 0.0, "")
    diagnosed = not (context.profile.read_only or inputs.policy.diagnostics.off)
    facts = context.briefing.facts()._replace(date=inputs.started_at[:10], diagnosed=diagnosed)
    if conversation.before:
        from bot.session.job.resume import resumption_note

        facts = facts._replace(notes=(*facts.notes, resumption_note(spec.resume, spec.folder.archive)))
    elif last and results.todo.items:
        last = last._replace(todo=render_list(results.todo.items))
    loaded = (attachments.result() if attachments else Attachments(context.request)).without_shown(
        conversation.before
    )
    for note in (*loaded.image_notes, *loaded.omitted):
        inputs.journal.write(lines.Note(note))
    for file in loaded.files:
        inputs.journal.write(file)
    facts = facts._replace(pictures=loaded.image_notes, attached=loaded.file_notes)
    return run_loop(conversation, first_message(loaded.request, facts, new_marker(), last), loaded.images)


def _with_title(
    context: RunContext, conversation: ConversationContext, results: ResultTools, end: LoopEnd
) -> LoopEnd:
    """Ask the model for the title of a change that neither it nor a thread has described."""
    request = context.inputs.spec.request
    if context.profile.read_only or request.thread or results.describe.description.title:
        return end
    from bot.agent.title import title_change

    title, end = title_change(conversation, request.full_instruction, end)
    if title:
        results.describe.set_title(title)
    return end
