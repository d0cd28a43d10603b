"""What a command takes from earlier in its thread, found by our own marks there, and the bundle of an earlier run.

A mark names the comment with the earlier command, which is read again: a request is stored nowhere else. A `retry`
becomes the event that it would have been with the earlier command, and is checked like any event. The author of the
earlier command must still be allowed it, too.

A bundle is an artifact of an Actions run. If that expired, there is nothing to continue.
"""

import io
import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from github.Artifact import Artifact

from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.outcome import exit_code
from bot.contracts.request import Actor, Request, Tier
from bot.events.admission import permits, tier_of
from bot.events.command import with_options
from bot.events.event_request import COMMENT_EVENTS, CommandSource, EventRequest, UsageRefusedError, is_own
from bot.github.client import GitHub
from bot.github.errors import HIDDEN, GitHubError
from bot.github.values import CommentData, TextKind
from bot.policy.settings import Policy
from bot.publish.approval import continued_plan
from bot.publish.bundle import (
    JOURNAL,
    MESSAGE,
    OUTCOME,
    PATCH,
    PLAN,
    REVIEW,
    WITHHELD,
    WRITES,
    Bundle,
    read_bundle,
)
from bot.publish.thread.comments import OwnComment, ThreadRef
from bot.publish.thread.history import comes_before, is_own_run, newest_requests, read_log
from bot.publish.thread.markers import asking_comment
from bot.session.event.event_context import EventContext
from bot.verbs.record import Earlier
from bot.verbs.registry import needs

# Bytes of the zip and of its files.
_MOST_ZIPPED = 64 * 1024 * 1024
_MOST_UNPACKED = 256 * 1024 * 1024
_ARTIFACT = "slash-agent-bundle"
_NEVER = datetime.max.replace(tzinfo=UTC)
# What `continue` needs: not the page of the last run.
_FILES = (OUTCOME, PATCH, WITHHELD, MESSAGE, REVIEW, PLAN, WRITES, JOURNAL)


def fetch_last_bundle(context: EventContext, run: int, folder: Path) -> bool:
    """Download the bundle of an Actions run to `folder`, as `fetch_bundle` does. Returns `False` if it is gone, or if
    the run is not of our workflow: any run may offer an artifact of that name."""
    github = context.github
    try:
        last = github.workflow_run(run)
    except GitHubError as error:
        if error.status not in HIDDEN:
            raise
        return False
    return is_own_run(last, github.name, context.where.workflow) and fetch_bundle(context, run, folder)


def fetch_bundle(context: EventContext, run: int, folder: Path) -> bool:
    """Download the bundle of an Actions run to `folder`, which must not exist. Returns `False` if there is none that
    was made while the job of the same name as this one ran: code of the repository may upload anything in another.

    Raises `GitHubError` if GitHub does not answer. The files are untrusted.
    """
    github = context.github
    try:
        bundles = [one for one in github.artifacts(run) if one.name.startswith(_ARTIFACT) and not one.expired]
        if not bundles:
            return False
        ours, runner = github.jobs(context.where.run), context.environment.get("RUNNER_NAME")
        names = {job.name for job in ours if job.status == "in_progress" and job.runner_name == runner}
        jobs = [job for job in github.jobs(run, every_attempt=True) if job.name in names]
        own = [
            (one.created_at, one.id)
            for one in bundles
            if any(job.started_at <= one.created_at <= (job.completed_at or _NEVER) for job in jobs)
        ]
        if not own:
            return False
        content = github.download_artifact(max(own)[1], _MOST_ZIPPED)
    except GitHubError as error:
        if error.status in (403, 404, 410):
            return False
        raise
    return _unpack(content, folder)


def read_finished(github: GitHub, artifact: Artifact) -> Bundle | None:
    """Return the bundle of a finished job, `None` if it cannot be read. It is untrusted, and its folder is gone."""
    with tempfile.TemporaryDirectory(prefix="slash-agent-outcome-") as scratch:
        folder = Path(scratch) / "bundle"
        try:
            content = github.download_artifact(artifact.id, _MOST_ZIPPED)
            return read_bundle(folder) if _unpack(content, folder) else None
        except (GitHubError, UsageError):
            return None


def finished_before(context: EventContext, folder: Path) -> Bundle | None:
    """Return the bundle of an earlier attempt of this Actions run for the same comment, now in `folder`, which must not
    exist before; `None`, and no folder, if it did not finish. Raises `GitHubError` and `BundleError`."""
    trigger = context.event_request.trigger
    if not trigger.comment_id or not fetch_bundle(context, context.where.run, folder):
        return None
    bundle = read_bundle(folder)
    outcome = bundle.outcome
    is_done = exit_code(outcome.stop_reason, outcome.status) is ExitCode.DONE
    if is_done and outcome.request.trigger == trigger:
        return bundle
    shutil.rmtree(folder)
    return None


def _unpack(content: bytes, folder: Path) -> bool:
    """Only files of a bundle, by their name, at the top of the archive: no path of it is ever followed."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {one.filename: one for one in archive.infolist() if one.filename in _FILES}
            if OUTCOME not in members or sum(one.file_size for one in members.values()) > _MOST_UNPACKED:
                return False
            folder.mkdir(parents=True)
            for name, one in members.items():
                with archive.open(one) as packed:  # whose `read` without a size would unpack a bomb
                    (folder / name).write_bytes(packed.read(one.file_size))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError):
        return False
    return True


def repeat_request(
    event_request: EventRequest, thread_ref: ThreadRef, actor: Actor, policy: Policy
) -> tuple[EventRequest, str]:
    """Return the event request that a `retry` stands for and the key of the request that it repeats: the same comment
    by the same person, with the earlier command in it. Raises `RefusedError`."""
    subject = event_request.subject
    if event_request.trigger.event not in COMMENT_EVENTS or subject is None:
        raise UsageRefusedError("Write `/agent retry` in the thread whose last request it repeats.")
    log = read_log(thread_ref.github, subject)
    key = _last_request_key(thread_ref, log.answers, actor)
    comment = log.comments.get(key)
    if comment is None:
        raise UsageRefusedError(
            "The comment with the last request was deleted. Write what to do, as in `/agent fix this`."
        )
    if comment.edited and comment.updated_at >= thread_ref.since:
        raise UsageRefusedError(
            "The comment with the last request was edited after this command. Check it and write the command again."
        )
    command = log.command(key)
    if command is None or is_own(comment.body) or needs(command.verb, Earlier.REQUEST):
        raise UsageRefusedError(
            "The comment with the last request no longer contains a command. Write what to do."
        )
    if not permits(policy, actor, command.verb):
        raise UsageRefusedError(
            f"{actor.login} may not use `/agent {command.verb}` here, which the repeated request needs."
        )
    _check_author(comment, command.verb, thread_ref.github, policy)
    command = with_options(command, event_request.command.options if event_request.command else {})
    comment_id, on_lines = asking_comment(key)
    kind = TextKind.REVIEW_COMMENT if on_lines else TextKind.COMMENT
    source = CommandSource(kind, comment_id, comment.body)
    return event_request._replace(command=command, source=source), key


def _last_request_key(thread_ref: ThreadRef, answers: Sequence[OwnComment], actor: Actor) -> str:
    """Return the key of the newest earlier request that a run began, unless a later one by `actor` was refused: a
    refused request cannot be repeated."""
    last = next(iter(newest_requests(answers, thread_ref.key)), None)
    refused = [
        one for one in answers if one.number("refused") == actor.id and comes_before(one.key, thread_ref.key)
    ]
    if any(last is None or comes_before(last.key, one.key) for one in refused):
        raise UsageRefusedError(
            "Your last request here was refused, so there is nothing to repeat. Write the command that you want, as "
            "in `/agent fix this`."
        )
    if last is None:
        raise UsageRefusedError(
            "There is no earlier request in this thread. Write what to do, as in `/agent fix this`."
        )
    if not asking_comment(last.request_key)[0]:
        raise UsageRefusedError("No comment requested the last run here. Write what to do.")
    return last.request_key


def continue_request(request: Request, thread_ref: ThreadRef) -> Request:
    """Return `request` with the Actions run that it continues and, after an approval, the plan. Only the actor of that
    run or a maintainer may continue it. Raises `RefusedError`."""
    assert request.thread is not None
    log = read_log(thread_ref.github, request.thread)
    # Our newest progress comment for another request of the thread that a run has begun.
    begun = (one for one in newest_requests(log.answers, thread_ref.key) if "queued" not in one.fields)
    last = next(begun, None)
    if last is None:
        raise UsageRefusedError("There is no run to continue in this thread. Start one with `/agent fix`.")
    if request.actor.tier is not Tier.MAINTAINER:
        comment = log.comments.get(last.request_key)
        if comment is None or comment.author.id != request.actor.id:
            raise UsageRefusedError(
                f"{request.actor.login} did not start the last run. Its starter, or a maintainer, can continue it."
            )
    return request._replace(resumes=last.run, plan=continued_plan(thread_ref, log))


def _check_author(comment: CommentData, verb: str, github: GitHub, policy: Policy) -> None:
    author = comment.author
    permission = github.permission(author.login)
    same = permission.user_id == author.id != 0 and permission.kind == "User"
    if not same or not permits(policy, Actor(author.login, author.id, tier_of(permission)), verb):
        raise UsageRefusedError(
            f"{author.login}, who requested it, may not use `/agent {verb}` here: write the command yourself."
        )
