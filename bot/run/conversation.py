"""Build the conversation of a run: system prompt, tools, hooks, limits, what it continues, and its first message."""

import time

from bot import __version__
from bot.agent.conversation_context import ConversationContext
from bot.agent.first_message import LastRun, TaskFacts, first_message
from bot.agent.journal import read_journal
from bot.agent.limits import SessionUsage
from bot.agent.prompt import new_marker, system_prompt
from bot.agent.recorded_calls import recorded_transcript, repeat_calls
from bot.agent.todo_list import Todo, render_list
from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.messages import Image
from bot.contracts.request import SKILL, RunLimits
from bot.contracts.tool_descriptions import SHELL
from bot.publish.bundle import JOURNAL
from bot.run.parts import Parts
from bot.run.stop_hook import loop_hooks
from bot.session.context.instructions import instructions
from bot.session.context.profiles import masking_of
from bot.session.context.review_scope import pull_diff
from bot.session.context.run import Attachments, Run
from bot.session.tools.model_choice import ConversationModel, RunModels
from bot.session.tools.toolbox import RunToolbox

_MIB = 1024 * 1024


def new_conversation(
    run: Run, parts: Parts, models: RunModels, model: ConversationModel
) -> ConversationContext:
    """What the conversation with `model` needs. Writes the journal's first lines."""
    provider, profile, calls = model.provider, run.profile, parts.subagents.calls
    toolbox = RunToolbox(parts.workspace, parts.gatekeeper, profile, parts.results.of(profile), calls)
    conversation = ConversationContext(
        provider,
        system_prompt(profile.prompt, toolbox.specs),
        toolbox,
        run.journal,
        _limits(run),
        run.cancel_conversation,
        loop_hooks(run, parts),
        stop_on_denial=run.policy.on_deny == "stop",
        archive=run.archive,
        small=model.small,
        identity=new_marker(),
        shared_usage=SessionUsage(),
        start_time=time.monotonic(),
        masking=masking_of(profile),
        fallback=model.fall_back,
        effort=models.effort,
        slow_checks=lambda: parts.rounds.are_slow,
    )
    parts.subagents.parent, parts.subagents.models = conversation, models
    checkout, base = run.checkout, run.checkout.base_sha
    header = lines.Header(
        schema=lines.SCHEMA_VERSION,
        version=__version__,
        started_at=run.started_at,
        model=provider.info.name,
        info=provider.info,
        base_sha=base,
        request=run.request,
        system=conversation.system,
        tools=toolbox.specs,
        limits=conversation.limits,
        sandbox=run.confinement.name,
        policy_sha="" if checkout.policy_sha == base else checkout.policy_sha,
        checks=tuple(lines.PlannedCheck(one.name, one.command, one.detected) for one in parts.rounds.checks),
    )
    run.journal.write(header)
    run.folder.keep_header()
    run.note(*run.skills.notes, *models.notes)
    run.say(f"at commit {base[:12]}, with {provider.info.name}, sandbox {run.confinement.name}")
    return conversation


def _limits(run: Run) -> RunLimits:
    budget = run.budget
    turns = min(budget.turns, run.profile.turns or budget.turns)
    output = None if budget.output is None else int(budget.output * _MIB)
    printed = (budget.commands, output) if budget.runs_commands else (None, None)
    return RunLimits(turns, budget.tokens, budget.usd, budget.minutes, *printed)


def _with_record(last: LastRun, run: Run, todo: Todo) -> LastRun:
    """`last` with the model's list, which goes on, and the transcript, from the journal of the last run."""
    if run.continued is None:
        return last
    try:
        recorded = read_journal(run.continued.folder / JOURNAL)
    except UsageError as error:
        note = f"The model has no transcript of the last run. {error}"
        run.say(note)
        run.note(note)
        return last
    repeat_calls(todo, recorded)
    text = recorded_transcript(recorded)
    transcript = run.archive(text) if text else ""
    return last._replace(todo=render_list(todo.items) if todo.items else "", transcript=transcript)


_ONE_COMMIT = "git history: this commit only"
_OFF_LOAD = "long output and notes go into `$TMPDIR`: search there"
_NO_COMMANDS = "the policy's `commands: 0` or `output: 0` gives you none; its checks are still run"


def opening(run: Run, parts: Parts, last: LastRun | None, *, vision: bool) -> tuple[str, tuple[Image, ...]]:
    """Return the first message and its pictures. The journal gets a line on each attachment.
    Raises `UsageError` if the skill that the request names cannot be loaded."""
    attached = Attachments(run.for_model)
    if run.load_attachments is not None:
        attached = run.load_attachments(run, vision)
    run.note(*attached.image_notes, *attached.omitted)
    for file in attached.files:
        run.journal.write(file)
    if last:
        last = _with_record(last, run, parts.results.todo)
    message = first_message(attached.request, _facts(run, parts, attached), new_marker(), last)
    if name := run.request.options.get(SKILL):
        loaded = parts.skills({"command": name}, CancelToken())
        if loaded.is_error:
            raise UsageError(loaded.content)
    return "\n\n".join([message, *parts.skills.after_results()]), attached.images


def _facts(run: Run, parts: Parts, attached: Attachments) -> TaskFacts:
    profile, review, checkout = run.profile, parts.review, run.checkout
    can_run = SHELL in profile.tools
    request = run.request
    near = [path for step in request.plan.steps for path in step.paths] if request.plan else []
    if request.anchor:
        near.append(request.anchor.path)
    return TaskFacts(
        root=run.root,
        base_sha=checkout.base_sha,
        checks=() if profile.unrun else tuple(check.command for check in parts.rounds.checks),
        notes=(
            *(review.facts() if review else ()),
            *filter(None, (run.conventions.for_model(),)),
            *parts.trees.workspaces.tools.notes,
            *((_OFF_LOAD,) if can_run else ()),
            *((_ONE_COMMIT,) if can_run and run.policy.history == 1 else ()),
            *parts.trees.left_out(),
        ),
        checkout=checkout.notes,
        diff=review.first_part if review else pull_diff(checkout) if request.pull else "",
        known=review.known() if review else "",
        unrun=profile.unrun or ("" if can_run or profile.read_only else _NO_COMMANDS),
        instructions=instructions(checkout.git, run.base, run.policy.agent.instructions, near),
        pictures=attached.image_notes,
        attached=attached.file_notes,
        date=run.started_at[:10],
    )


def outcome_notes(run: Run) -> tuple[str, ...]:
    """Sentences for the outcome."""
    plan, unrun = run.request.plan, run.profile.unrun
    carried_out = (f"This carries out the plan {plan.hash[:12]}.",) if plan is not None else ()
    not_run = (f"No code was run: {unrun}.",) if unrun else ()
    return (*run.checkout.notes, *carried_out, *not_run)
