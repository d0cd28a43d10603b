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
from pathlib import Path
from typing import NamedTuple

from github.Artifact import Artifact

from bot import __version__
from bot.checkout import layout
from bot.checkout import remote as transport
from bot.checkout.branches import branch_name
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
from bot.publish.change.target import branch_patterns
from bot.publish.remote import PREFIX, Remote
from bot.publish.result import posted_question
from bot.publish.thread.history import is_own_run
from bot.publish.thread.markers import PULL_REQUEST, is_ours, read_mark
from bot.session.event.event_context import EventContext
from bot.session.event.retry_continue import LastResult, read_last_result
from bot.session.run_folder import RunFolder
from bot.verbs.registry import DEFAULT

# Bytes of the zip and of its files.
_MOST_ZIPPED = 64 * 1024 * 1024
_MOST_UNPACKED = 256 * 1024 * 1024
_ARTIFACT = "slash-agent-bundle"
PREPARE_JOB = "Prepare the environment"
"""As the workflow that `init` writes names it."""
_NEVER = datetime.max.replace(tzinfo=UTC)
_LARGEST_JOURNAL = 64 * 1024 * 1024
# What `continue` needs: not the page of the last run, and no journal that is too large.
_FILES = (OUTCOME, PATCH, WITHHELD, MESSAGE, REVIEW, PLAN, WRITES, JOURNAL)

_TIP = "refs/agent/last"
_NO_COMMIT = "0" * 40
_DIFF = ("diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames")


def resume_bundle(
    context: EventContext, request: Request, source: Source, folder: RunFolder
) -> tuple[Request, Path | None, tuple[str, ...]]:
    """Return the request, the bundle that `continue` resumes from, and notes for people. If the bundle expired, use
    the branch, else the thread, and tell the model."""
    bundle = folder.root / "resumed"
    if _is_of_own_run(context, request) and fetch_bundle(
        context.github, request.repository, request.resumes, bundle
    ):
        return request, bundle, ()
    thread = request.thread
    assert thread is not None
    last_result = read_last_result(context.thread_ref, thread, context.github)
    recovered = _bundle_from_branch(
        context, request, source, last_result, git_dir=folder.root / "last.git", bundle=bundle
    )
    if last_result.text and not recovered.is_written:
        _bundle_from_account(request, last_result, bundle)
    missing_parts = "account, which is" if recovered.is_written else "account and change, which are"
    missing = f"the last run's own {missing_parts} not kept any more: go by the thread"
    updated = replace(request, thread=replace(thread, left_out=(*thread.left_out, missing)))
    return (
        updated,
        bundle if last_result.text or recovered.is_written else None,
        (recovered.note,) if recovered.note else (),
    )


def _is_of_own_run(context: EventContext, request: Request) -> bool:
    """Whether the run that our comment names is our workflow's: any other run may offer an artifact of that name."""
    try:
        run = context.github.workflow_run(request.repository, request.resumes)
    except GitHubError as error:
        if error.status in (403, 404):
            return False
        raise
    return is_own_run(run, request.repository, context.where.workflow)


def fetch_bundle(github: GitHub, repository: str, run: int, folder: Path) -> bool:
    """Download the bundle of an Actions run to `folder`, which must not exist. Returns `False` if there is none.

    Raises `GitHubError` if GitHub does not answer. The files are untrusted.
    """
    try:
        bundles = [one for one in github.artifacts(repository, run) if _is_bundle(one)]
        if bundles:
            # Code of the repository ran in this job, and could have uploaded what it likes, until it ended.
            ends = [
                job.completed_at or _NEVER for job in github.jobs(repository, run) if job.name == PREPARE_JOB
            ]
            bundles = [one for one in bundles if all(one.created_at and one.created_at > end for end in ends)]
        if not bundles:
            return False
        newest = max(bundles, key=lambda one: (one.created_at, one.id))
        content = github.download_artifact(repository, newest.id, _MOST_ZIPPED)
    except GitHubError as error:
        if error.status in (403, 404, 410):
            return False
        raise
    return _unpack(content, folder)


def read_outcome(github: GitHub, repository: str, artifact: Artifact) -> Outcome | None:
    """Return the outcome in the bundle of a finished job, `None` if it cannot be read. It is untrusted."""
    with tempfile.TemporaryDirectory(prefix="slash-agent-outcome-") as scratch:
        folder = Path(scratch) / "bundle"
        try:
            content = github.download_artifact(repository, artifact.id, _MOST_ZIPPED)
            return read_bundle(folder).outcome if _unpack(content, folder) else None
        except (GitHubError, UsageError):
            return None


def finished_before(request: Request, github: GitHub, run: int, folder: Path) -> Outcome | None:
    """Return the outcome of an earlier attempt of the Actions run for `request`, with its bundle in `folder`, which
    must not exist; `None`, and no folder, if it did not finish. Raises `GitHubError` and `BundleError`."""
    if request.trigger is None or not request.trigger.comment_id:
        return None
    if not fetch_bundle(github, request.repository, run, folder):
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


class _RecoveredBundle(NamedTuple):
    """`note` is a sentence for people, or empty; `is_written` says whether the bundle was written."""

    note: str = ""
    is_written: bool = False


def _bundle_from_account(request: Request, last_result: LastResult, bundle: Path) -> None:
    """Write a bundle without a change to `bundle`, from our comment on the last run."""
    reason = "How it ended is in this bot's own comment, which was read again"
    write_bundle(Bundle(bundle, _outcome(request, last_result, reason)))


def _bundle_from_branch(
    context: EventContext,
    request: Request,
    source: Source,
    last_result: LastResult,
    *,
    git_dir: Path,
    bundle: Path,
) -> _RecoveredBundle:
    """Write the change of the thread's pull request to `bundle`, using `git_dir`; neither may exist."""
    host, email = context.github, context.policy.identity.email
    if request.thread is None or request.thread.is_pull_request or request.task:
        return _RecoveredBundle()
    layout.make_git_dir(git_dir, bare=True, object_format=layout.object_format_of(""))
    try:
        own_pulls = _own_pulls(host, request, Remote(git_dir, source.url, source.token))
        own = next((pull for pull in own_pulls if _only_ours(host, request, pull, email)), None)
    except GitHubError as error:
        if error.status not in (403, 404) or error.failure.rate_limited:
            raise
        return _RecoveredBundle(
            "Whether there is a pull request of the last run could not be seen: by the thread alone."
        )
    if own is None:
        return _RecoveredBundle(_foreign_commits_note(own_pulls))
    git = Git(git_dir)
    transport.fetch(
        git_dir, source.url, [f"+{own.head_sha}:{_TIP}"], source.token, ["--depth=2", "--no-tags"]
    )
    parents = git.run("rev-parse", f"{_TIP}^@").decode().split()
    if len(parents) != 1 or not host.contains(request.repository, request.base_ref, parents[0]):
        return _RecoveredBundle(_foreign_commits_note([own]))
    patch = git.run(*_DIFF, parents[0], _TIP)
    outcome = replace(
        _outcome(request, last_result, f"It opened pull request #{own.number}"),
        base_sha=parents[0],
        started_at=own.created_at,
        ended_at=own.updated_at,
        description=Description(title=own.title),
    )
    write_bundle(Bundle(bundle, outcome, patch))
    return _RecoveredBundle(
        f"The last run's bundle is not kept any more: this goes on from #{own.number}.", is_written=True
    )


def _own_pulls(host: GitHub, request: Request, remote: Remote) -> list[PullData]:
    """Return our open pull requests for the thread, in the order that publishing uses."""
    assert request.thread is not None
    number, expected_fields = request.thread.number, {"issue": str(request.thread.number), "task": ""}
    heads = remote.refs(*branch_patterns(number, branch_name(number, ""))).heads
    pulls = []
    for branch in sorted((name for name in heads if name.startswith(PREFIX)), key=len):
        for pull in host.pulls_from(request.repository, branch):
            fields = read_mark(pull.body, PULL_REQUEST)
            if fields is None or {name: fields.get(name, "") for name in expected_fields} != expected_fields:
                continue
            if pull.base_branch == request.base_ref and is_ours(pull.author, host.me(), PULL_REQUEST):
                # What the server's branch holds now, and not what its API remembers.
                pulls.append(replace(pull, head_sha=heads[branch]))
    return pulls


def _only_ours(host: GitHub, request: Request, pull: PullData, email: str) -> bool:
    """Whether its one commit is the one that our mark names; or, where the mark is older than the branch, by us."""
    commits = host.pull_commits(request.repository, pull.number)
    if [commit.sha for commit in commits] != [pull.head_sha]:
        return False
    recorded = (read_mark(pull.body, PULL_REQUEST) or {}).get("head", "")
    return recorded == pull.head_sha or {commits[0].author_email, commits[0].committer_email} == {email}


def _foreign_commits_note(pulls: list[PullData]) -> str:
    if not pulls:
        return ""
    named = ", ".join(f"#{pull.number}" for pull in pulls)
    return (
        "The last run's bundle is not kept any more, and others have committed to "
        f"{named}, which is left alone: this goes by the thread."
    )


def _outcome(request: Request, last_result: LastResult, reason: str) -> Outcome:
    """Build the outcome of the last run. The verb stays that of the earlier command: a plan must not change files."""
    command = last_result.command
    earlier = replace(
        request,
        verb=command.verb if command else DEFAULT,
        instruction=(command.instruction or None) if command else None,
        resumes=0,
        plan=None,
    )
    question = posted_question(last_result.text)
    return Outcome(
        schema=SCHEMA_VERSION,
        version=__version__,
        status=Status.NEEDS_INPUT if question else Status.CHANGED,
        stop_reason=StopReason.NEEDS_INPUT if question else StopReason.END_TURN,
        reason=reason,
        request=earlier,
        base_sha=_NO_COMMIT,
        model="",
        sandbox="",
        started_at=last_result.at,
        ended_at=last_result.at,
        turns=0,
        usage=Usage(),
        cost=0.0,
        question=question,
        answer="" if question else last_result.text,
    )
