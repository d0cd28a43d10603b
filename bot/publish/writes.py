"""Validate the writes on threads that a run proposed, and apply them.

The bundle is untrusted. Limits, labels and threads come from the policy and the task's file at the tip of the default
branch, the state of a thread from GitHub. If a bundle has a write that its run may not make, it was modified or the
rules are stricter now, and none is applied. A write that does not fit the current state of its thread is skipped with a
reason, and an existing one is not repeated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from bot.contracts.errors import AgentError, GateError, PublishError
from bot.contracts.formatting import count_of
from bot.contracts.outcome import Outcome, Status
from bot.contracts.request import ThreadState
from bot.contracts.threads import Account, CommentData, IssueData
from bot.contracts.writes import MAX_BODY, MAX_TITLE, Write, describe_write, texts_of
from bot.gate.secrets import withhold_if_secret
from bot.gate.text import clean_line
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.maintenance.apply import allowance_of
from bot.maintenance.task import Task
from bot.maintenance.thread_fit import mismatch
from bot.parsing.parser import Parser
from bot.policy.values import Policy
from bot.policy.writes import refusal
from bot.publish.body.render import Links
from bot.publish.bundle.write import Bundle
from bot.publish.change.base_rules import read_policy
from bot.publish.context import PublishContext, make_bare
from bot.publish.markdown import safe_markdown
from bot.publish.thread.comments import own_comments
from bot.publish.thread.history import opened_by_us, thread_state
from bot.publish.thread.markers import WRITE, mark, marked

_ORDER = ("comment", "reply", "edit", "add_label", "remove_label", "close")
"""The order of writes on a thread: after a comment, a second publishing recognises later changes as ours."""


def apply_writes(proposed: ValidatedWrites, github: GitHub) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Make the missing writes. Return those made now, and others with reasons. Raises `PublishError` for a rest."""
    if proposed.outcome.status in (Status.FAILED, Status.REFUSED):
        why = "the run failed"
        return (), tuple(f"{describe_write(write)}: {why}" for write in proposed.writes)
    written: list[str] = []
    withheld: list[str] = []
    failed: list[str] = []
    for number, writes in _by_thread(proposed.writes).items():
        try:
            thread = _read_thread(proposed, github, number)
            for write in writes:
                if _is_done(write, thread, proposed, github):
                    continue
                if why := _unfit(write, thread, proposed, github):
                    withheld.append(f"{describe_write(write)}: {why}")
                    continue
                _make(write, thread, proposed, github)
                written.append(describe_write(write))
        except GitHubError as error:
            failed.append(f"#{number}: {error}")
            if error.failure.rate_limited:
                break
    if failed:
        done = f"{count_of(len(written), 'write')} made before" if written else "none was made"
        raise PublishError(
            f"Not every write could be made ({done}). {failed[0]} Publishing the bundle again makes what is missing."
        )
    return tuple(written), tuple(withheld)


class _Thread(NamedTuple):
    issue: IssueData
    state: ThreadState
    comments: tuple[CommentData, ...]
    me: Account | None


def _by_thread(writes: Iterable[Write]) -> Mapping[int, list[Write]]:
    threads: dict[int, list[Write]] = {}
    for write in writes:
        threads.setdefault(write.number, []).append(write)
    for thread_writes in threads.values():
        thread_writes.sort(key=lambda write: _ORDER.index(write.kind))
    return threads


def _read_thread(proposed: ValidatedWrites, github: GitHub, number: int) -> _Thread:
    request, me = proposed.outcome.request, github.me()
    issue = github.issue(request.repository, number)
    comments = tuple(github.comments(request.repository, number))
    return _Thread(issue, thread_state(issue, comments, me, request.task), comments, me)


def _is_done(write: Write, thread: _Thread, proposed: ValidatedWrites, github: GitHub) -> bool:
    labels = {label.casefold() for label in thread.issue.labels}
    match write.kind:
        case "comment":
            return _is_among(github, thread.comments, _id(write, proposed))
        case "reply":
            repository = proposed.outcome.request.repository
            remarks = github.review_comments(repository, write.number, proposed.since)
            return _is_among(github, remarks, _id(write, proposed))
        case "add_label":
            return write.label.casefold() in labels
        case "remove_label":
            return write.label.casefold() not in labels
        case "close":
            return thread.issue.state == "closed"
        case "edit":
            title, body = _edited(write)
            return title in (None, thread.issue.title) and body in (None, thread.issue.body)


def _unfit(write: Write, thread: _Thread, proposed: ValidatedWrites, github: GitHub) -> str:
    if proposed.threads[write.number] is not thread.state.is_pull_request:
        return "it is not the kind of thread that the bundle says"
    if proposed.outcome.request.task and opened_by_us(thread.issue, thread.me):
        return "it was opened by this bot"
    since = proposed.known.get(write.number, proposed.since)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if why := mismatch(write, thread.state, proposed.task, at=now, since=since):
        return why
    if write.kind == "reply":
        thread_now = github.review_thread(proposed.outcome.request.repository, write.number, write.comment_id)
        if thread_now is None or thread_now.resolved:
            return "the conversation was resolved meanwhile" if thread_now else "the conversation is gone"
    return ""


def _make(write: Write, thread: _Thread, proposed: ValidatedWrites, github: GitHub) -> None:
    repository, number = proposed.outcome.request.repository, write.number
    match write.kind:
        case "comment":
            github.create_comment(repository, number, _body(write, proposed))
        case "reply":
            body = _body(write, proposed)
            github.reply_to_review_comment(repository, number, write.comment_id, body)
        case "add_label":
            github.add_labels(repository, number, [write.label])
        case "remove_label":
            github.remove_label(repository, number, write.label)
        case "close":
            github.close_issue(repository, number, write.reason)
        case "edit":
            title, text = _edited(write)
            github.edit_issue(repository, number, title=title, body=text)


def _edited(write: Write) -> tuple[str | None, str | None]:
    """Return the new title and text; `None` if unchanged."""
    title = clean_line(write.title, MAX_TITLE) if write.title else None
    return title, safe_markdown(write.body, MAX_BODY) if write.body else None


def _body(write: Write, proposed: ValidatedWrites) -> str:
    """Return the filtered text with its author and a mark."""
    task = proposed.outcome.request.task
    author_note = f"Written by the maintenance task `{task}`" if task else "Written by Slash Agent"
    run = f" · [run]({proposed.links.run})" if proposed.links.run else ""
    fields = {"id": _id(write, proposed), **({"task": task} if task else {})}
    safe_body = safe_markdown(write.body, MAX_BODY).rstrip()
    return marked(f"{safe_body}\n\n<sub>{author_note}{run}</sub>", mark(WRITE, **fields))


def _id(write: Write, proposed: ValidatedWrites) -> str:
    """Return an id that is the same for the same write of the same run."""
    parts = (proposed.outcome.started_at, write.kind, write.number, *texts_of(write))
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:20]


def _is_among(github: GitHub, comments: Iterable[CommentData], write_id: str) -> bool:
    own = own_comments(github, comments)
    return any(one.ours and one.kind == WRITE and one.fields.get("id") == write_id for one in own)


def count_made(bundle: Bundle, repository: str, host_of: Callable[[str], GitHub]) -> int:
    """Return how many of the bundle's writes `repository` has now, none if that cannot be read. Nothing is written."""
    if bundle.writes is None:
        return 0
    request = bundle.outcome.request._replace(repository=repository)
    outcome = bundle.outcome._replace(request=request)
    proposed = ValidatedWrites(outcome, bundle.writes.writes, {}, None, outcome.started_at, {}, Links())
    try:
        github = host_of(repository)
        threads = {number: _read_thread(proposed, github, number) for number in _by_thread(proposed.writes)}
        return sum(_is_done(write, threads[write.number], proposed, github) for write in proposed.writes)
    except AgentError:
        return 0


class ValidatedWrites(NamedTuple):
    """Writes that their run may make, whatever the state of the threads. `since` is when the run read the threads,
    `known` the last activity that it saw on each, and `threads` are their numbers, each with whether it is a pull
    request."""

    outcome: Outcome
    writes: tuple[Write, ...]
    threads: Mapping[int, bool]
    task: Task | None
    since: str
    known: Mapping[int, str]
    links: Links


def validate_writes(context: PublishContext) -> ValidatedWrites | None:
    """Validate the bundle's writes, `None` without any. Raises `PublishError`, and `GateError` for a text."""
    outcome, request, writes = context.outcome, context.request, context.bundle.writes
    if writes is None:
        return None
    policy, task = _load_rules(context)
    allowance = allowance_of(policy, request, task)
    if allowance is None:
        what = f"the task {request.task}" if request.task else f"`/agent {request.verb}`"
        raise PublishError(f"The bundle has writes on threads, which {what} may not make. Nothing was done.")
    if task is not None and task.threads is not None and len(allowance.threads) > task.threads.limit:
        raise PublishError(
            f"The task {task.name} is shown {task.threads.limit} threads, and the bundle has more."
        )
    before: list[Write] = []
    for write in writes.writes:
        proposes = f"The bundle proposes to {describe_write(write)}, and"
        if why := refusal(write, allowance, before):
            raise PublishError(f"{proposes} may not. {why} Nothing was done.")
        if secret := withhold_if_secret("\n".join(texts_of(write))):
            raise GateError(f"{proposes} the text is {secret}. Nothing was done.")
        before.append(write)
    trigger = request.trigger
    since = request.triage.at if request.triage else (trigger.at if trigger else outcome.started_at)
    # GitHub's times are whole seconds, so activity in the second of the reading is compared with what was read.
    triaged = request.triage.threads if request.triage else ()
    known = {one.state.number: one.state.quiet_since for one in triaged}
    return ValidatedWrites(outcome, writes.writes, allowance.threads, task, since, known, context.links)


def _load_rules(context: PublishContext) -> tuple[Policy, Task | None]:
    """Load policy and task from the tip of the default branch, since the bundle could name any other commit."""
    request, folder = context.request, context.remote.git_dir
    folder = folder.with_name(f"{folder.name}-rules")
    git, remote = make_bare(folder, context.outcome.base_sha), replace(context.remote, git_dir=folder)
    head = remote.refs().head
    if not head:
        raise PublishError("The repository has no default branch to read the policy from: nothing was done.")
    remote.fetch(head)
    with Parser() as parser:
        return read_policy(git, head, request, parser)
