"""The bundle of an earlier run, for `continue` and for another attempt of the same job.

It is an artifact of an Actions run. If that expired, the last run is recovered from our comment on its result, and from
the open pull request of the thread.
"""

from __future__ import annotations

import io
import shutil
import tempfile
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from github.Artifact import Artifact

from bot import __version__
from bot.checkout import layout
from bot.checkout import remote as transport
from bot.checkout.clone import Source
from bot.checkout.git import Git
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.messages import Usage
from bot.contracts.outcome import SCHEMA_VERSION, Description, Outcome, Status, StopReason, exit_code
from bot.contracts.request import Request
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.values import PullData
from bot.publish.bundle.read import read_bundle
from bot.publish.bundle.write import (
    JOURNAL,
    MESSAGE,
    OUTCOME,
    PATCH,
    PLAN,
    REVIEW,
    WITHHELD,
    WRITES,
    Bundle,
    write_bundle,
)
from bot.publish.own_pulls import OwnPull, is_untouched, own_pull
from bot.publish.remote import PREFIX
from bot.publish.result import posted_question
from bot.publish.thread.history import is_own_run
from bot.session.event.event_context import EventContext
from bot.session.event.retry_continue import LastResult, read_last_result
from bot.session.run_folder import RunFolder
from bot.verbs.registry import DEFAULT

# Bytes of the zip and of its files.
_MOST_ZIPPED = 64 * 1024 * 1024
_MOST_UNPACKED = 256 * 1024 * 1024
_ARTIFACT = "slash-agent-bundle"
_NEVER = datetime.max.replace(tzinfo=UTC)
_LARGEST_JOURNAL = 64 * 1024 * 1024
# What `continue` needs: not the page of the last run, and no journal that is too large.
_FILES = (OUTCOME, PATCH, WITHHELD, MESSAGE, REVIEW, PLAN, WRITES, JOURNAL)

_TIP = "refs/agent/last"
_NO_COMMIT = "0" * 40
_BY_COMMENT = "How it ended is in this bot's own comment, which was read again"
_MOST_PULLS = 300
"""Newest open pull requests that are looked through for those of a thread."""
_DIFF = ("diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames")


def resume_bundle(
    context: EventContext, request: Request, source: Source, folder: RunFolder
) -> tuple[Request, Path | None, tuple[str, ...]]:
    """Return the request, the bundle that `continue` resumes from, and notes for people. If the bundle expired, use
    the thread's pull request and our comment, and tell the model."""
    github, bundle, thread = context.github, folder.root / "resumed", request.thread
    if _is_of_own_run(context, request) and fetch_bundle(context, request, request.resumes, bundle):
        return request, bundle, ()
    assert thread is not None
    last_result = read_last_result(context.thread_ref, thread, github)
    change, note = _last_change(context, request, source, folder.root / "last.git")
    if change is not None:
        write_bundle(Bundle(bundle, _outcome(request, last_result, change), change.patch))
    elif last_result.text:
        write_bundle(Bundle(bundle, _outcome(request, last_result)))
    missing = "account, which is" if change else "account and change, which are"
    left_out = (*thread.left_out, f"the last run's own {missing} not kept any more: go by the thread")
    updated = replace(request, thread=replace(thread, left_out=left_out))
    return updated, bundle if change or last_result.text else None, (note,) if note else ()


def _is_of_own_run(context: EventContext, request: Request) -> bool:
    """Whether the run that our comment names is our workflow's: any other run may offer an artifact of that name."""
    try:
        run = context.github.workflow_run(request.repository, request.resumes)
    except GitHubError as error:
        if error.status in (403, 404):
            return False
        raise
    return is_own_run(run, request.repository, context.where.workflow)


def fetch_bundle(context: EventContext, request: Request, run: int, folder: Path) -> bool:
    """Download the bundle of an Actions run to `folder`, which must not exist. Returns `False` if there is none that
    was made while the job of the same name as this one ran: code of the repository may upload anything in another.

    Raises `GitHubError` if GitHub does not answer. The files are untrusted.
    """
    github, repository = context.github, request.repository
    try:
        bundles = [one for one in github.artifacts(repository, run) if _is_bundle(one)]
        if bundles:
            ours = github.jobs(repository, context.where.run)
            runner = context.environment.get("RUNNER_NAME")
            names = {job.name for job in ours if job.status == "in_progress" and job.runner_name == runner}
            jobs = [job for job in github.jobs(repository, run, every_attempt=True) if job.name in names]
            bundles = [
                one
                for one in bundles
                if any(job.started_at <= one.created_at <= (job.completed_at or _NEVER) for job in jobs)
            ]
        if not bundles:
            return False
        newest = max(bundles, key=lambda one: (one.created_at, one.id))
        content = github.download_artifact(repository, newest.id, _MOST_ZIPPED)
    except GitHubError as error:
        if error.status in (403, 404, 410):
            return False
        raise
    return _unpack(content, folder)


def read_finished(github: GitHub, repository: str, artifact: Artifact) -> Bundle | None:
    """Return the bundle of a finished job, `None` if it cannot be read. It is untrusted, and its folder is gone."""
    with tempfile.TemporaryDirectory(prefix="slash-agent-outcome-") as scratch:
        folder = Path(scratch) / "bundle"
        try:
            content = github.download_artifact(repository, artifact.id, _MOST_ZIPPED)
            return read_bundle(folder) if _unpack(content, folder) else None
        except (GitHubError, UsageError):
            return None


def finished_before(context: EventContext, request: Request, folder: Path) -> Outcome | None:
    """Return the outcome of an earlier attempt of this Actions run for `request`, with its bundle in `folder`, which
    must not exist; `None`, and no folder, if it did not finish. Raises `GitHubError` and `BundleError`."""
    if request.trigger is None or not request.trigger.comment_id:
        return None
    if not fetch_bundle(context, request, context.where.run, folder):
        return None
    outcome = read_bundle(folder).outcome
    is_done = exit_code(outcome.stop_reason, outcome.status) is ExitCode.DONE
    if is_done and outcome.request.trigger == request.trigger:
        return outcome
    shutil.rmtree(folder)
    return None


def _is_bundle(artifact: Artifact) -> bool:
    return artifact.name.startswith(_ARTIFACT) and not artifact.expired


def _unpack(content: bytes, folder: Path) -> bool:
    """Only files of a bundle, by their name, at the top of the archive: no path of it is ever followed."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [
                one
                for one in archive.infolist()
                if one.filename in _FILES and (one.filename != JOURNAL or one.file_size <= _LARGEST_JOURNAL)
            ]
            names = [one.filename for one in members]
            if OUTCOME not in names or len(set(names)) != len(names):
                return False
            if sum(one.file_size for one in members) > _MOST_UNPACKED:
                return False
            folder.mkdir(parents=True)
            for one in members:
                with archive.open(one) as packed:
                    (folder / one.filename).write_bytes(packed.read(one.file_size))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError):
        return False
    return True


class _Change(NamedTuple):
    """The change of our open pull request `pull`, and the commit that it is made on."""

    pull: PullData
    base_sha: str
    patch: bytes


def _last_change(
    context: EventContext, request: Request, source: Source, git_dir: Path
) -> tuple[_Change | None, str]:
    """Return the change of our open pull request for an issue, and a sentence for people, or empty. `git_dir` must not
    exist."""
    if request.thread is None or request.thread.is_pull_request or request.task:
        return None, ""
    try:
        own_pulls = _own_pulls(context.github, request)
        identity = context.policy.identity
        pull = next(
            (
                one.pull
                for one in own_pulls
                if is_untouched(context.github, request.repository, one, identity)
            ),
            None,
        )
    except GitHubError as error:
        if error.status not in (403, 404) or error.failure.rate_limited:
            raise
        return (
            None,
            "Whether there is a pull request of the last run could not be seen: by the thread alone.",
        )
    if pull is None:
        numbers = ", ".join(f"#{one.pull.number}" for one in own_pulls)
        foreign = (
            f"The last run's bundle has expired, and other people have committed to {numbers}, which stays unchanged: "
            "this run starts from the thread."
        )
        return None, foreign if own_pulls else ""
    layout.make_git_dir(git_dir, bare=True, object_format=layout.object_format_of(pull.head_sha))
    git, options = Git(git_dir), ["--depth=2", "--no-tags"]
    transport.fetch(git_dir, source.url, [f"+{pull.head_sha}:{_TIP}"], source.token, options)
    base_sha = git.run("rev-parse", f"{_TIP}^").decode().strip()
    note = f"The last run's bundle has expired: this continues from #{pull.number}."
    return _Change(pull, base_sha, git.run(*_DIFF, base_sha, _TIP)), note


def _own_pulls(github: GitHub, request: Request) -> list[OwnPull]:
    """Return our open pull requests for the thread, in the order that publishing uses."""
    assert request.thread is not None
    issue, me = str(request.thread.number), github.me()
    pulls = []
    for pull in islice(github.pulls(request.repository), _MOST_PULLS):
        own = own_pull(pull, me)
        of_base = pull.base_branch == request.base_ref and pull.head_branch.startswith(PREFIX)
        is_here = pull.head_repository.lower() == request.repository.lower()
        if own and own.fields.get("issue") == issue and of_base and is_here:
            pulls.append(own)
    return sorted(pulls, key=lambda own: len(own.pull.head_branch))


def _outcome(request: Request, last_result: LastResult, change: _Change | None = None) -> Outcome:
    """Build the outcome of the last run. The verb stays that of the earlier command: a plan must not change files."""
    command, question = last_result.command, posted_question(last_result.text)
    pull = change.pull if change else None
    return Outcome(
        schema=SCHEMA_VERSION,
        version=__version__,
        status=Status.NEEDS_INPUT if question else Status.CHANGED,
        stop_reason=StopReason.NEEDS_INPUT if question else StopReason.END_TURN,
        reason=f"It opened pull request #{pull.number}" if pull else _BY_COMMENT,
        request=replace(
            request,
            verb=command.verb if command else DEFAULT,
            instruction=(command.instruction or None) if command else None,
            resumes=0,
            plan=None,
        ),
        base_sha=change.base_sha if change else _NO_COMMIT,
        model="",
        sandbox="",
        started_at=pull.created_at if pull else last_result.at,
        ended_at=pull.updated_at if pull else last_result.at,
        turns=0,
        usage=Usage(),
        cost=0.0,
        question=question,
        answer="" if question else last_result.text,
        description=Description(title=pull.title if pull else ""),
    )
