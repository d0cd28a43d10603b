"""One run, from a request to its bundle, in order: read this first. Called for an event by
`bot/session/event/run_request.py`, at a terminal by `bot/session/local/fix.py`, which makes the branch or patch
afterwards.

1. On threads: import the vendor's package, try the sandboxes, compile the patterns of secrets. Meanwhile the base is
   checked out: the commit to work on, of a pull request its head.
2. Task, policy and skills are read from it, for an event on a pull request from the tip of its base branch. At a
   terminal an uncommitted policy replaces it and a person's own skills count too; with `--pr` the default branch's
   policy does. With these there is one `Run` (`bot/session/context/run.py`).
3. The parts of the run are made (`parts.py`): trees, the agent's workspace, the gatekeeper of tool calls, the rounds of
   checks. The change of an earlier run is applied. Then the tool host starts in the sandbox. If the tree needs
   preparation (setup, the policy's or detected, `bring:`, or what the job `prepare` left), that begins on a thread, and
   the tool host starts at the first call that needs it. Caches are copied and services started before the first call
   that does more than read.
4. The agent loop: requests to the model, and its tool calls, each of which the policy decides; after each command the
   journal records what changed, for `restore`. `stop_hook.py` starts the checks on the base with the first request, on
   a thread. When the model hands over its result or ends its turn, the `StopHook` there says what is missing, at most
   twice; if the run may change files, it closes the workspace, asks the gate and runs the checks first. A limit, a
   question or a denial can end the loop before that: then step 5 runs the checks. If the model ended by itself, its
   change has no title, and the instruction is too long to be one, a model is asked for it.
5. Every process of the tool host is killed. The loop's end, the gate and the checks make the outcome (`result.py`); the
   checks of step 4 are reused if the tree has not changed since. A change by a run that only reads is dropped.
6. The bundle is written. `bot/publish` reads it as a stranger's.

- Nothing to do (a review without new lines, a task without a thread): no preparation, tool host or request, then 5, 6.
- The first signal, however early, ends requests, tool calls, setup and checks; steps 5 and 6 follow. A later Ctrl-C
  ends the process at once; the command `salvage` makes a bundle of the work tree.
- The time limit of a run ends requests and tool calls, but not the wait of one for the preparation. Checks have a time
  of their own (`check_minutes`), but no whole check is repeated after the run's.
- An error before the journal's header, which is the last of step 3, is raised and leaves no folder. Later ones of the
  model, tools, setup and checks, and the gate's refusal, are in the outcome; any other is raised and names the folder,
  which stays.
"""

from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import ExitStack
from functools import partial

from bot.agent.ask_for_title import title_change
from bot.agent.conversation_context import LoopEnd
from bot.agent.journal import Journal
from bot.agent.loop import run_loop
from bot.checkout.clone import check_out
from bot.checkout.git import require_git
from bot.checkout.leftover_credentials import FIX, find_leftover_credentials
from bot.contracts.cancel import CancelToken
from bot.contracts.capacity import in_background
from bot.contracts.errors import UsageError
from bot.contracts.formatting import count_of
from bot.contracts.messages import Usage
from bot.contracts.model import Provider
from bot.contracts.outcome import Description, StopReason
from bot.contracts.request import Tier
from bot.gate.redact import Redactor
from bot.gate.secrets import known_secrets
from bot.maintenance.apply import allowance_of
from bot.parsing.parser import Parser
from bot.providers.connect import apply_overrides
from bot.publish.bundle import Bundle
from bot.run.conversation import new_conversation, opening
from bot.run.parts import Parts, granted_profile, make_parts
from bot.run.resume import apply_earlier_change, bundle_to_continue
from bot.session.context.base import (
    base_conventions,
    base_policy,
    base_skills,
    base_task,
    check_bring_folders,
)
from bot.session.context.run import Run, RunResult, RunSpec
from bot.session.interruption import cancelled_by_signals, cut_off, note_work_on_error
from bot.session.run_folder import lock_folder
from bot.session.tools.model_choice import ConversationModel, RunModels, connect_model
from bot.session.workspaces.lock_files import check_lock_files, only_lock_files, write_lock_files
from bot.verbs.record import Earlier
from bot.verbs.registry import merges_base, needs
from bot.workspace.probe import Chosen, first_that_holds
from bot.workspace.sandbox.backends import candidates


def run(spec: RunSpec) -> RunResult:
    """Run `spec` and write its bundle. Raises an `AgentError` for what fails before the conversation, and `FolderBusy`
    where another run has the folder."""
    cancel_run = CancelToken()
    signals = cancelled_by_signals(cancel_run, spec.view.interrupted, partial(cut_off, spec))
    with note_work_on_error(spec), signals, lock_folder(spec.folder.root):
        try:
            result = _begin(cancel_run, spec)
        except BaseException:
            if not spec.folder.begun:
                spec.folder.drop()
            raise
        spec.folder.root.stat()  # raises if it was removed: writing the bundle would create it anew
        from bot.run.result import write_run_bundle

        write_run_bundle(spec.folder, result.bundle)
        return result


def _begin(cancel_run: CancelToken, spec: RunSpec) -> RunResult:
    """1. Start what takes long on threads; then the other steps but the last."""
    if needs(spec.request.verb, Earlier.PLAN) and spec.request.plan is None:
        raise UsageError("There is no approved plan to carry out: `/agent plan` makes one.")
    require_git()
    connecting = in_background(partial(connect_model, spec.model, spec.environment), "connect")
    sandboxes, missing = candidates(spec.sandbox)
    continued = bundle_to_continue(spec.resume, spec.request) if spec.resume else None
    redactor = Redactor(known_secrets(spec.environment))
    compiling = in_background(redactor.prepare, "redactor")
    sandbox = in_background(lambda: first_that_holds(sandboxes, missing), "sandbox")
    try:
        with ExitStack() as stack:
            run = read_base(cancel_run, spec, continued, redactor, sandbox.result, stack)
            return _work(run, connecting, stack)
    finally:
        wait([compiling])  # a process that ends while a thread of it is in re2 is aborted
        wait([sandbox])  # else the processes and folders of its probe would stay behind


def read_base(
    cancel_run: CancelToken,
    spec: RunSpec,
    continued: Bundle | None,
    redactor: Redactor,
    await_sandbox: Callable[[], Chosen],
    stack: ExitStack,
) -> Run:
    """2. Check out the base and read what it says; `await_sandbox` returns the sandbox that the probe chose. `stack`
    closes the journal. `init` and `doctor` use this and the parts for their trials (`session/local/trial.py`)."""
    checkout, request = check_out(spec.source, spec.folder.root), spec.request
    user = spec.environment if spec.tier is Tier.LOCAL else {}
    skills = in_background(lambda: base_skills(checkout, user, request), "skills")
    with Parser() as parser:
        task = base_task(checkout, request, parser)
        check_bring_folders(task, spec.origin)
        policy = base_policy(checkout, request, task, parser, spec.policy_text)
        conventions = base_conventions(spec, checkout, parser)

    news: list[str] = []
    if task is not None and task.threads is not None:
        if spec.threads is None:
            raise UsageError(f"The task {task.name} works on threads on GitHub, and a local run has none.")
        request = request._replace(triage=spec.threads(task))
        news.append(f"{count_of(request.triage.threads if request.triage else (), 'thread')} to look at")
    run_checkout = checkout
    if policy.history != 1:
        run_checkout = check_out(spec.source, spec.folder.history, history=policy.history)
    journal = stack.enter_context(Journal(spec.folder.journal, redactor.masked, view=spec.view))
    chosen, skill_set = await_sandbox(), skills.result()
    news += [f"warning: {note}" for note in chosen.sandbox_probe.notes]
    proposes = allowance_of(policy, request, task) is not None
    notes = [*spec.notes]
    if spec.environment.get("RUNNER_TEMP"):
        # Earlier steps left credentials: the sandbox hides them, later steps can read them.
        leftovers = find_leftover_credentials(spec.origin, spec.environment)
        notes += [f"{sentence} The agent does not see it; {FIX}." for sentence in leftovers]
    run = Run.of(
        spec,
        request=request,
        notes=tuple(notes),
        cancel_run=cancel_run,
        checkout=run_checkout,
        policy=policy,
        profile=granted_profile(spec, policy, continued, writes=proposes),
        confinement=chosen.confinement,
        sandbox_probe=chosen.sandbox_probe,
        journal=journal,
        redactor=redactor,
        skills=skill_set,
        conventions=conventions,
        task=task,
        continued=continued,
    )
    run.say(*news)
    return run


def _work(run: Run, connecting: Future[Provider], stack: ExitStack) -> RunResult:
    """3. to 5. Make the parts, have the conversation, and conclude. `stack` ends the tool host, the rounds of checks
    and the preparation."""
    parts = make_parts(run)
    trees = parts.trees
    run.say(*([parts.review.note] if parts.review else []))
    stack.callback(trees.wait)  # unwound in reverse: kill, stop the rounds, wait for the preparation
    stack.callback(parts.rounds.stop)
    stack.callback(parts.workspace.kill)
    last_run = apply_earlier_change(run, parts.workspace.may_write)  # before a workspace opens
    nothing = _nothing_to_do(run, parts)
    is_preparing = not nothing and trees.begin()
    run.keep(*trees.left_out())
    if not (nothing or is_preparing):
        parts.workspace.open()
    provider = apply_overrides(connecting.result(), run.policy.models)
    models = RunModels(run, provider)
    model = ConversationModel(models, provider)
    parts.rounds.stop_reruns_after(run.budget.minutes)
    conversation = new_conversation(run, parts, models, model)
    unlink = run.cancel_run.on_fire(lambda: run.cancel_conversation.fire("signal"))
    try:
        with run.cancel_conversation.firing_after(60 * run.budget.minutes):
            if not nothing and only_lock_files(run):
                write_lock_files(run, parts.workspace)  # in the prepared tree
                nothing = "Only lock files had conflicts, and their package managers wrote them anew."
            if nothing:
                end = LoopEnd(StopReason.END_TURN, nothing, 0, Usage(), 0.0, nothing)
            else:
                end = run_loop(conversation, *opening(run, parts, last_run, vision=provider.info.vision))
            if not (run.profile.read_only or run.request.thread or parts.results.describe.description.title):
                # Neither the model nor a thread has described the change.
                instruction = run.request.full_instruction
                title, end = title_change(
                    conversation, lambda: model.small() or model.provider, instruction, end
                )
                parts.results.describe.description = Description(title)
    finally:
        unlink()
        provider.close()
        models.close()
    from bot.run.result import conclude  # with jinja2, which `stop_hook.py` loads while the model thinks

    return conclude(run, parts, end, model.provider.info)


def _nothing_to_do(run: Run, parts: Parts) -> str:
    """Return why no model is asked; empty if one is."""
    if parts.review and parts.review.nothing_new:
        return "Nothing of the diff is new since it was reviewed last."
    if run.request.triage is not None and not run.request.triage.threads:
        return "No thread meets the task's conditions, so there was nothing to do."
    if merges_base(run.request):
        check_lock_files(run)
        return "" if run.checkout.conflicted else "The base branch merges without conflicts."
    return ""
