"""`run_session`: one run from its spec to its result: checkout, policy, workspace, conversation, gate, checks.

Slow steps overlap: the HTTP client is imported while git and the sandbox work, and the checks before the change
run while the model reads. Modules that only the end of a run needs are imported there. The gate judges the tree however
the conversation ends.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.agent.first_message import LastRun, first_message
from bot.agent.journal import Journal
from bot.agent.loop import ConversationContext, LoopEnd, run_loop
from bot.agent.prompt import new_marker
from bot.agent.title import title_change
from bot.agent.todo import render_list
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
from bot.contracts.request import Tier
from bot.gate.disguised_secrets import Detector
from bot.gate.redact import Redactor
from bot.parsing.parser import Parser
from bot.policy.decide import may_write
from bot.providers.streaming import apply_overrides
from bot.session.context.base import base_finder, base_policy, base_task
from bot.session.context.secrets import known_secrets
from bot.session.job.attachments import AttachmentOptions, Attachments, has_attachments
from bot.session.job.new_conversation import new_conversation
from bot.session.job.run_context import RunContext, run_context
from bot.session.job.spec import RunInputs, RunResult, RunSpec
from bot.session.progress.interruption import cancelled_after
from bot.session.progress.reporter import ProgressReporter
from bot.session.progress.waits import Background, WatchedProvider
from bot.session.run_folder import lock_folder
from bot.session.tools.result_tools import ResultTools
from bot.session.tools.run_models import ConversationModel, ModelSources, RunModels
from bot.session.tools.skills import find_skills
from bot.verbs.record import Earlier
from bot.verbs.registry import needs
from bot.workspace.probe import Chosen, first_that_holds
from bot.workspace.sandbox.backends import candidates

if TYPE_CHECKING:
    from bot.maintenance.task import Task
    from bot.publish.bundle.write import Bundle
    from bot.session.job.resume import Resumed


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
    if needs(spec.request.verb, Earlier.PLAN) and spec.request.plan is None:
        raise UsageError("There is no approved plan to carry out: `/agent plan` makes one.")
    require_git()
    provider = spec.connecting or Background(spec.connect, "connect")
    sandboxes = candidates(spec.sandbox)
    last = _last_bundle(spec)
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
    skills = find_skills(
        checkout, spec.environment if spec.request.actor.tier is Tier.LOCAL else {}, spec.request.instruction
    )
    with Parser() as parser:
        task = base_task(checkout, spec.request, parser)
        policy = base_policy(checkout, spec.request, task, parser, spec.policy_text)
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
        for note in context.notes:
            spec.say(note)
        if context.review:
            spec.say(context.review.range.note)
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
    attachments = _load_attachments(context, connecting)
    resumed = _resumed(context)
    trees.begin(inputs.stop)
    for note in trees.left_out():
        spec.say(note)
    if not trees.need_preparing:
        context.workspace.open()
    provider = apply_overrides(connecting.result(), inputs.policy.models)
    models = _models(inputs, provider)
    model = ConversationModel(
        models, lambda provider: WatchedProvider(provider, spec.say, spec.asking), provider
    )
    for note in models.notes:
        spec.say(note)
    context.rounds.end_by(inputs.budget.minutes)
    conversation, results = new_conversation(context, models, model, resumed)
    forget = inputs.stop.on_fire(lambda: inputs.cancel.fire("signal"))
    try:
        with cancelled_after(inputs.cancel, inputs.budget.minutes):
            end = _converse(context, conversation, results, resumed.last if resumed else None, attachments)
            end = _with_title(context, conversation, lambda: model.small() or model.provider, results, end)
    finally:
        forget()
        provider.close()
        models.close()
    from bot.session.job.result import conclude

    return conclude(context, results, end, model.provider.info, models.notes)


def _load_attachments(context: RunContext, provider: Background[Provider]) -> Background[Attachments] | None:
    """Start loading on a thread; `None` without attachments."""
    inputs, spec, request = context.inputs, context.inputs.spec, context.request
    load = spec.load_attachments
    if load is None or not has_attachments(request):
        return None

    def load_on_thread() -> Attachments:
        vision = apply_overrides(provider.result(), inputs.policy.models).info.vision
        own, files = spec.folder.root / "workspace-pictures", spec.folder.archive / "attachments"
        options = AttachmentOptions(inputs.policy, inputs.confinement, own, files, vision, inputs.stop)
        return load(request, options)

    return Background(load_on_thread, "pictures")


def _models(inputs: RunInputs, provider: Provider) -> RunModels:
    spec, policy = inputs.spec, inputs.policy
    is_local = inputs.tier is Tier.LOCAL
    sources = ModelSources(
        spec.model, spec.connect, spec.connect_named, spec.environment, policy.models, is_local, spec.say
    )
    task = inputs.task.name if inputs.task else ""
    return RunModels(provider, sources, policy.model_settings.of(spec.request.verb, inputs.tier, task))


def _resumed(context: RunContext) -> Resumed | None:
    """Put the last run's change into the tree, before any workspace opens it."""
    inputs = context.inputs
    if inputs.last is None:
        return None
    from bot.session.job.resume import resume

    deletions = inputs.spec.request.allows_deletions
    rule = may_write(inputs.policy, inputs.tier, context.approvals.approved, deletions=deletions)
    return resume(inputs.last, inputs.checkout, inputs.spec.source, rule)


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
    facts = context.briefing.facts()._replace(date=inputs.started_at[:10])
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
    context: RunContext,
    conversation: ConversationContext,
    provider: Callable[[], Provider],
    results: ResultTools,
    end: LoopEnd,
) -> LoopEnd:
    """Ask `provider()` for the title of a change that neither it nor a thread has described."""
    request = context.inputs.spec.request
    if context.profile.read_only or request.thread or results.describe.description.title:
        return end
    title, end = title_change(conversation, provider, request.full_instruction, end)
    if title:
        results.describe.set_title(title)
    return end
