"""`retry` and `continue`: which earlier request they mean, by our own marks in the thread.

A mark names the comment that asked, and that comment is read again: nothing of a request is kept anywhere else. So
`retry` becomes the event that it would have been had its author written the earlier command, and goes through the
whole check as such. Whoever wrote the earlier command must still be allowed it, too.
"""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.outcome import Outcome
from bot.contracts.request import Actor, Request, Thread, Tier, Verb
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.values import Account, ArtifactData
from bot.intake.admission import Admission
from bot.intake.answers import Ignored, Refusal
from bot.intake.asked import recognise
from bot.intake.command import PLAN, Command, parse_command
from bot.intake.context import bare_thread
from bot.intake.event import CommentEvent, Event, ReviewEvent
from bot.intake.who import tier_of
from bot.publish.bundle.read import read_bundle
from bot.publish.plan.approved import plan_gone_on_with
from bot.publish.thread.markers import asking_comment
from bot.publish.thread.place import Place, key_of
from bot.publish.thread.traces import Trace, comes_before, newest_requests, traces
from bot.run.conclude import exit_code

# In bytes, of the zip and of what is in it.
_MOST_ZIPPED = 64 * 1024 * 1024
_MOST_UNPACKED = 256 * 1024 * 1024
_ARTIFACT = "slash-agent-bundle"
_LARGEST_JOURNAL = 64 * 1024 * 1024
_JOURNAL = "journal.jsonl"
# What going on needs. The page of the last run stays where it is, and a journal that is too large: the rest will do.
_FILES = (
    "outcome.json", "changes.patch", "withheld.patch", "message.md", "review.json", "plan.json", _JOURNAL,
)  # fmt: skip

_FLAGS: Mapping[tuple[str, str], str] = {
    ("draft", "true"): "--draft",
    ("draft", "false"): "--no-draft",
    ("dry-run", "true"): "--dry-run",
    ("full", "true"): "--full",
}


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier request: what stands in the comment that asked, and our word on it."""

    trace: Trace
    command: Command
    body: str
    author: Account


@dataclass(frozen=True, slots=True)
class _Asked:
    """A comment that asked, as it stands now."""

    body: str
    author: Account
    created_at: str
    updated_at: str


def repeated(
    event: Event, place: Place, thread: Thread, actor: Actor, github: GitHub, admission: Admission
) -> tuple[Event, str] | Refusal:
    """The event that a `retry` stands for, the same comment by the same person with the earlier command in it, and
    the key of the request that it repeats."""
    if not isinstance(event, CommentEvent | ReviewEvent):
        return _refused("`/agent retry` is for a comment in the thread whose last request is meant.")
    found = last_request(place, thread, github, actor)
    if isinstance(found, Refusal):
        return found
    verb = found.command.verb
    if not admission.permits(actor, verb):
        return _refused(f"{actor.login} may not use `/agent {verb}` here, which is what would be done again.")
    refusal = _author_may(place.repository, found, github, admission)
    if refusal is not None:
        return refusal
    own = parse_command(event.body)
    return replace(event, body=_with_options(found, own.options if own else {})), found.trace.asked


def last_request(place: Place, thread: Thread, github: GitHub, actor: Actor) -> Earlier | Refusal:
    """The newest request before the one at `place` that a run began to work on, unless a later one of `actor`'s was
    refused: that is then the last, and there is nothing to do again."""
    found = traces(
        github, place.repository, place.number, thread_url=thread.url, is_pull=thread.is_pull_request
    )
    trace = next(iter(newest_requests(found, place.key)), None)
    refused = [one for one in found if one.refused == actor.id and comes_before(one.key, place.key)]
    if any(trace is None or comes_before(trace.key, one.key) for one in refused):
        return _refused(
            "Your last request here was refused, so there is nothing to do again. Write the command that you want, as "
            "in `/agent fix this`."
        )
    if trace is None:
        return _refused(
            "There is no earlier request in this thread: say what is to be done, as in `/agent fix this`."
        )
    if not asking_comment(trace.asked)[0]:
        return _refused("The last run here was not asked for in a comment: say what is to be done.")
    asked = _comment(github, place.repository, trace.asked)
    if asked is None:
        return _refused(
            "The comment that asked last was deleted: say what is to be done, as in `/agent fix this`."
        )
    if asked.updated_at != asked.created_at and asked.updated_at >= place.since:
        return _refused("The comment that asked last was edited after this: look at it and ask again.")
    command = parse_command(asked.body)
    if command is None or command.problem or command.verb is Verb.RETRY:
        return _refused("The comment that asked last holds no command any more: say what is to be done.")
    return Earlier(trace, command, asked.body, asked.author)


def last_trace(place: Place, thread: Thread, github: GitHub) -> Trace | None:
    """Our newest progress comment for another request of the thread that a run has begun."""
    found = traces(
        github, place.repository, place.number, thread_url=thread.url, is_pull=thread.is_pull_request
    )
    requests = newest_requests(found, place.key)
    return next((one for one in requests if not one.queued), None)


def event_behind(
    event: Event, actor: Actor, github: GitHub, admission: Callable[[], Admission]
) -> Event | Refusal:
    """`event`, or the one that it stands for where it is a `retry`: for whoever compares a request with its event."""
    wanted = recognise(event)
    if isinstance(wanted, Ignored) or wanted.subject is None:
        return event
    if wanted.command is None or wanted.command.verb is not Verb.RETRY:
        return event
    key = key_of(wanted.trigger, wanted.head_sha)
    place = Place(wanted.repository.name, wanted.number, key, wanted.trigger.at)
    before = repeated(event, place, bare_thread(wanted.subject), actor, github, admission())
    return before if isinstance(before, Refusal) else before[0]


def continued(request: Request, place: Place, github: GitHub) -> Request | Refusal:
    """`request` with the Actions run that it goes on from, and the plan where that one carries out an approved one.
    Only whoever asked for that run, or a maintainer, may."""
    if request.thread is None:
        return _refused("`/agent continue` is for a thread in which something was asked for.")
    last = last_trace(place, request.thread, github)
    if last is None:
        return _refused("There is nothing to go on from in this thread: ask with `/agent fix`.")
    if request.actor.tier is not Tier.MAINTAINER:
        found = _comment(github, place.repository, last.asked)
        if found is None or found.author.id != request.actor.id:
            return _refused(
                f"{request.actor.login} did not ask for the last run: whoever did, or a maintainer, can go on from it."
            )
    try:
        plan = plan_gone_on_with(github, place, request.thread)
    except UsageError as error:
        return _refused(str(error))
    return replace(request, resumes=last.run, plan=plan)


def fetch_bundle(github: GitHub, repository: str, run: int, folder: Path) -> bool:
    """Put the bundle that an Actions run left into `folder`, which must not exist; false where there is none.

    Raises `GitHubError` where GitHub does not answer. The files are as hostile as any bundle's.
    """
    try:
        listed = [one for one in github.artifacts(repository, run) if _is_bundle(one)]
        if not listed:
            return False
        newest = max(listed, key=lambda one: (one.created_at, one.id))
        content = github.download_artifact(repository, newest.id, _MOST_ZIPPED)
    except GitHubError as error:
        if error.status in (403, 404, 410):
            return False
        raise
    return _unpack(content, folder)


def finished_before(request: Request, github: GitHub, run: int, folder: Path) -> Outcome | None:
    """What an earlier attempt of the Actions run made of `request`, with its bundle in `folder`, which must not exist;
    `None`, and no folder, if it did not finish it. Raises `GitHubError` and `BundleError`."""
    if request.trigger is None or not request.trigger.comment_id:
        return None
    if not fetch_bundle(github, request.repository, run, folder):
        return None
    outcome = read_bundle(folder).outcome
    done = exit_code(outcome.stop_reason, outcome.status) is ExitCode.DONE
    if done and outcome.request.trigger == request.trigger:
        return outcome
    shutil.rmtree(folder)
    return None


def _is_bundle(artifact: ArtifactData) -> bool:
    return artifact.name.startswith(_ARTIFACT) and not artifact.expired


def _unpack(content: bytes, folder: Path) -> bool:
    """Only files of a bundle, by their name, at the top of the archive: no path of it is ever followed."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            wanted = [
                one
                for one in archive.infolist()
                if one.filename in _FILES and (one.filename != _JOURNAL or one.file_size <= _LARGEST_JOURNAL)
            ]
            names = [one.filename for one in wanted]
            if "outcome.json" not in names or len(set(names)) != len(names):
                return False
            if sum(one.file_size for one in wanted) > _MOST_UNPACKED:
                return False
            folder.mkdir(parents=True)
            for one in wanted:
                with archive.open(one) as packed:
                    (folder / one.filename).write_bytes(packed.read(one.file_size))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError):
        return False
    return True


def _comment(github: GitHub, repository: str, key: str) -> _Asked | None:
    comment_id, on_lines = asking_comment(key)
    if not comment_id:
        return None
    if on_lines:
        remark = github.review_comment(repository, comment_id)
        return _Asked(remark.body, remark.author, remark.created_at, remark.updated_at) if remark else None
    comment = github.comment(repository, comment_id)
    if comment is None:
        return None
    author = Account(comment.author, comment.author_id, comment.author_kind)
    return _Asked(comment.body, author, comment.created_at, comment.updated_at)


def _author_may(repository: str, found: Earlier, github: GitHub, admission: Admission) -> Refusal | None:
    author, verb = found.author, found.command.verb
    permission = github.permission(repository, author.login)
    same = permission.user_id == author.id != 0 and permission.kind == "User"
    if same and admission.permits(Actor(author.login, author.id, tier_of(permission)), verb):
        return None
    return _refused(
        f"{author.login}, who asked for it, may not use `/agent {verb}` here: write the command yourself."
    )


def _with_options(found: Earlier, own: Mapping[str, str]) -> str:
    """The earlier command; where the `retry` has options, with these instead of its own of the same name."""
    if not own:
        return found.body
    command = found.command
    options = {**command.options, **own}
    plan = options.pop(PLAN, "")
    written = [_FLAGS.get((name, value), f"--{name}={value}") for name, value in options.items()]
    words = ["/agent", command.verb.value, *written, *([plan] if plan else []), command.instruction]
    return " ".join(word for word in words if word)


def _refused(reason: str) -> Refusal:
    return Refusal(reason, said=True, exit_code=ExitCode.USAGE)
