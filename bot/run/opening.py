"""The first message of a run: the request with its pictures, and the facts that the model is given."""

from __future__ import annotations

from collections.abc import Iterator

from bot.agent.conversation_context import ConversationContext
from bot.agent.first_message import LastRun, TaskFacts, first_message
from bot.agent.prompt import new_marker
from bot.agent.todo import render_list
from bot.contracts import journal as lines
from bot.contracts.messages import Image
from bot.contracts.workspace_tools import SHELL
from bot.run.parts import Parts
from bot.run.resume import RESUMPTION
from bot.session.context.attachments import Attachments, has_attachments
from bot.session.context.git_trees import pull_diff
from bot.session.context.instructions import instructions, paths_of
from bot.session.context.run import Run
from bot.session.tools.result_tools import ResultTools
from bot.verbs.record import Earlier
from bot.verbs.registry import needs

_ONE_COMMIT = "git history: this commit only"
_OFF_LOAD = "long output and notes go into `$TMPDIR`: search there"
_NO_COMMANDS = "the policy's `commands: 0` or `output: 0` gives you none; its checks are still run"
_NO_LAST_RUN = "The record of the last run is not available: the thread and the repository show its outcome."


def opening(
    run: Run,
    parts: Parts,
    conversation: ConversationContext,
    results: ResultTools,
    last: LastRun | None,
) -> tuple[str, tuple[Image, ...]]:
    """Return the first message and its pictures. The journal gets a line on each attachment."""
    attached = Attachments(run.for_model)
    if run.load_attachments is not None and has_attachments(run.for_model):
        attached = run.load_attachments(run, conversation.provider.info.vision)
    attached = attached.without_shown(conversation.before)
    for note in (*attached.image_notes, *attached.omitted):
        run.journal.write(lines.Note(note))
    for file in attached.files:
        run.journal.write(file)
    facts = _facts(run, parts, attached)
    if conversation.before:
        facts = facts._replace(notes=(*facts.notes, RESUMPTION))
    elif last and results.todo.items:
        last = last._replace(todo=render_list(results.todo.items))
    message = first_message(attached.request, facts, new_marker(), last)
    return "\n\n".join([message, *parts.skills.named()]), attached.images


def _facts(run: Run, parts: Parts, attached: Attachments) -> TaskFacts:
    profile, review, checkout = run.profile, parts.review, run.checkout
    can_run = SHELL in profile.tools
    instruction_files = instructions(
        checkout.git, run.base, run.policy.agent.instructions, paths_of(run.request)
    )
    return TaskFacts(
        root=run.root,
        base_sha=checkout.base_sha,
        checks=() if profile.unrun else tuple(check.command for check in parts.environment.checks),
        notes=(
            *(review.facts() if review else ()),
            *_missing_last(run),
            *_title(run),
            *_hints(run, parts, can_run=can_run),
        ),
        checkout=checkout.notes,
        diff=review.first_part if review else pull_diff(checkout) if run.request.pull else "",
        known=review.known() if review else "",
        unrun=profile.unrun or ("" if can_run or profile.read_only else _NO_COMMANDS),
        instructions=tuple((one.path, one.whole) for one in instruction_files),
        pictures=attached.image_notes,
        attached=attached.file_notes,
        date=run.started_at[:10],
    )


def _title(run: Run) -> Iterator[str]:
    if rule := run.conventions.for_model():
        yield rule


def _hints(run: Run, parts: Parts, *, can_run: bool) -> Iterator[str]:
    yield from parts.environment.not_shown
    if can_run:
        yield _OFF_LOAD
        if run.policy.history == 1:
            yield _ONE_COMMIT
    yield from parts.environment.trees.left_out()


def outcome_notes(run: Run) -> tuple[str, ...]:
    """Sentences for the outcome."""
    plan, unrun = run.request.plan, run.profile.unrun
    carried_out = (f"This carries out the plan {plan.hash[:12]}.",) if plan is not None else ()
    not_run = (f"No code was run: {unrun}.",) if unrun else ()
    return (*run.checkout.notes, *_missing_last(run), *carried_out, *not_run)


def _missing_last(run: Run) -> tuple[str, ...]:
    return (_NO_LAST_RUN,) if needs(run.request.verb, Earlier.RUN) and run.last is None else ()
