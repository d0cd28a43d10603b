"""What a run proposed to write on threads, judged again and made: nothing of the bundle is believed here.

Caps, labels and threads come from the policy and the task's file at the tip of the default branch, where a thread
stands from GitHub. A bundle with a write that its run may not make at all was tampered with, or the rules are
stricter now: none of it is made. A write that does not fit its thread any more is left out, with a word.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bot.checkout import layout
from bot.checkout.git import Git
from bot.contracts.errors import GateError, PublishError
from bot.contracts.outcome import Outcome, Status
from bot.contracts.threads import CommentData, IssueData
from bot.contracts.triage import ThreadState
from bot.contracts.wording import count_of
from bot.contracts.writes import (
    MAX_BODY,
    MAX_TITLE,
    AddComment,
    AddLabel,
    AddReply,
    CloseThread,
    EditThread,
    RemoveLabel,
    Write,
    Writes,
    named,
    texts_of,
)
from bot.gate.text import clean_line, withhold_if_secret
from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.github.values import Account
from bot.policy.load import load_policy
from bot.policy.schema import Policy
from bot.policy.writes import Allowance, Standing, misplaced, refusal
from bot.publish.base_file import read_base_file
from bot.publish.body.footer import Links
from bot.publish.bundle.read import Bundle
from bot.publish.remote import Remote
from bot.publish.review.text import shown_markdown
from bot.publish.thread.markers import WRITE, is_ours, mark, marked, read_mark
from bot.publish.thread.state import is_own, thread_state
from bot.tasks.allowed import allowance_of, standing_of
from bot.tasks.file import path_of, read_task
from bot.tasks.task import Task

_ORDER = (AddComment, AddReply, EditThread, AddLabel, RemoveLabel, CloseThread)
"""On one thread. The comment first: by it a second publishing sees that what has changed since was its own doing."""


@dataclass(frozen=True, slots=True)
class Made:
    """What was written now, and what was not, each with why: a few words each."""

    written: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposed:
    """Writes that their run may make, wherever their threads stand now. `since` is when the run looked at these,
    `known` the last activity it saw on one, and `threads` are they, each with whether it was counted as a pull
    request."""

    outcome: Outcome
    writes: tuple[Write, ...]
    threads: Mapping[int, bool]
    rules: Standing
    since: str
    known: Mapping[int, str]
    links: Links


def judge(bundle: Bundle, remote: Remote, folder: Path, links: Links) -> Proposed | None:
    """`None` where there are none. `folder` does not exist yet. Raises `PublishError`, and `GateError` for a text that
    may not leave: then none may be made."""
    if bundle.writes is None:
        return None
    outcome, request = bundle.outcome, bundle.outcome.request
    policy, task = _rules(bundle, remote, folder)
    allowance = allowance_of(policy, request, task)
    if allowance is None:
        what = f"the task {request.task}" if request.task else f"`/agent {request.verb}`"
        raise PublishError(f"The bundle holds writes on threads, and {what} may make none: nothing was done.")
    if task is not None and task.threads is not None and len(allowance.threads) > task.threads.limit:
        raise PublishError(
            f"The task {task.name} is shown {task.threads.limit} threads, and the bundle has more."
        )
    _check(bundle.writes, allowance)
    trigger = request.trigger
    since = request.triage.at if request.triage else (trigger.at if trigger else outcome.started_at)
    # GitHub's times are whole seconds: what happened in the very second of the look is known by what the look saw.
    seen = request.triage.threads if request.triage else ()
    known = {one.state.number: one.state.quiet_since for one in seen}
    return Proposed(outcome, bundle.writes.writes, allowance.threads, standing_of(task), since, known, links)


def make(proposed: Proposed, host: Host) -> Made:
    """Make them, thread by thread; what is there already is not made again. Raises `PublishError` where GitHub took
    only some: publishing again makes the rest."""
    if proposed.outcome.status in (Status.FAILED, Status.REFUSED):
        why = "the run came to no good end"
        return Made(withheld=tuple(f"{named(write)}: {why}" for write in proposed.writes))
    written: list[str] = []
    withheld: list[str] = []
    failed: list[str] = []
    for number, writes in _by_thread(proposed.writes).items():
        try:
            thread = _look(proposed, host, number)
            for write in writes:
                if _is_done(write, thread, proposed, host):
                    continue
                if why := _unfit(write, thread, proposed, host):
                    withheld.append(f"{named(write)}: {why}")
                    continue
                _make(write, thread, proposed, host)
                written.append(named(write))
        except GitHubError as error:
            failed.append(f"#{number}: {error}")
            if error.failure.rate_limited:
                break
    if failed:
        done = f"{count_of(len(written), 'write')} made before" if written else "none was made"
        raise PublishError(
            f"Not every write could be made ({done}). {failed[0]} Publishing the bundle again makes what is missing."
        )
    return Made(tuple(written), tuple(withheld))


@dataclass(frozen=True, slots=True)
class _Thread:
    issue: IssueData
    state: ThreadState
    comments: tuple[CommentData, ...]
    me: Account | None


def _rules(bundle: Bundle, remote: Remote, folder: Path) -> tuple[Policy, Task | None]:
    """Policy and task as the tip of the default branch has them: whoever made the bundle could name any other."""
    request, base = bundle.outcome.request, bundle.outcome.base_sha
    layout.make_git_dir(folder, bare=True, object_format=layout.object_format_of(base))
    git, there = Git(folder), Remote(folder, remote.url, remote.token)
    default = there.refs().default
    tip = there.refs(default).heads.get(default, "") if default else ""
    if not tip:
        raise PublishError("The repository has no default branch to read the policy from: nothing was done.")
    there.fetch(tip)
    policy = load_policy(read_base_file(git, tip, request.policy_file), request.policy_file)
    if not request.task:
        return policy, None
    path = path_of(request.task)
    text = read_base_file(git, tip, path)
    if text is None:
        raise PublishError(f"There is no task {request.task}: {path} is not on {default}.")
    return policy, read_task(text, path)


def _check(writes: Writes, allowance: Allowance) -> None:
    before: list[Write] = []
    for write in writes.writes:
        if why := refusal(write, allowance, before):
            raise PublishError(f"The bundle proposes to {named(write)}, and may not. {why} Nothing was done.")
        if secret := withhold_if_secret("\n".join(texts_of(write))):
            raise GateError(
                f"The bundle proposes to {named(write)}, and the text is {secret}. Nothing was done."
            )
        before.append(write)


def _by_thread(writes: Iterable[Write]) -> Mapping[int, list[Write]]:
    threads: dict[int, list[Write]] = {}
    for write in writes:
        threads.setdefault(write.number, []).append(write)
    for there in threads.values():
        there.sort(key=lambda write: _ORDER.index(type(write)))
    return threads


def _look(proposed: Proposed, host: Host, number: int) -> _Thread:
    request, me = proposed.outcome.request, host.me()
    issue = host.issue(request.repository, number)
    comments = tuple(host.comments(request.repository, number))
    return _Thread(issue, thread_state(issue, comments, me, request.task), comments, me)


def _is_done(write: Write, thread: _Thread, proposed: Proposed, host: Host) -> bool:
    labels = {label.casefold() for label in thread.issue.labels}
    match write:
        case AddComment():
            return any(
                _is_of(
                    one.body,
                    Account(one.author, one.author_id, one.author_kind),
                    thread.me,
                    _id(write, proposed),
                )
                for one in thread.comments
            )
        case AddReply():
            remarks = host.review_comments(proposed.outcome.request.repository, write.number, proposed.since)
            return any(_is_of(one.body, one.author, thread.me, _id(write, proposed)) for one in remarks)
        case AddLabel():
            return write.label.casefold() in labels
        case RemoveLabel():
            return write.label.casefold() not in labels
        case CloseThread():
            return thread.issue.state == "closed"
        case EditThread():
            title, body = _edited(write)
            return title in (None, thread.issue.title) and body in (None, thread.issue.body)


def _unfit(write: Write, thread: _Thread, proposed: Proposed, host: Host) -> str:
    if proposed.threads[write.number] is not thread.state.is_pull_request:
        return "it is not the kind of thread that the bundle says"
    if proposed.outcome.request.task and is_own(thread.issue, thread.me):
        return "it was opened by this bot"
    since = proposed.known.get(write.number, proposed.since)
    if why := misplaced(write, thread.state, proposed.rules, at=_now(), since=since):
        return why
    if isinstance(write, AddReply):
        found = host.review_thread(proposed.outcome.request.repository, write.number, write.comment_id)
        if found is None or found.resolved:
            return "the conversation was resolved meanwhile" if found else "the conversation is gone"
    return ""


def _make(write: Write, thread: _Thread, proposed: Proposed, host: Host) -> None:
    repository, number = proposed.outcome.request.repository, write.number
    match write:
        case AddComment():
            host.create_comment(repository, number, _body(write.body, write, proposed))
        case AddReply():
            host.reply_to_review_comment(
                repository, number, write.comment_id, _body(write.body, write, proposed)
            )
        case AddLabel():
            host.add_labels(repository, number, [write.label])
        case RemoveLabel():
            host.remove_label(repository, number, write.label)
        case CloseThread():
            host.close_issue(repository, number, write.reason)
        case EditThread():
            title, body = _edited(write)
            host.edit_issue(repository, number, title=title, body=body)


def _edited(write: EditThread) -> tuple[str | None, str | None]:
    """Title and text as they will be; `None` for what stays."""
    title = clean_line(write.title, MAX_TITLE) if write.title else None
    return title, shown_markdown(write.body, MAX_BODY) if write.body else None


def _body(text: str, write: Write, proposed: Proposed) -> str:
    """Through the gate, with who says it and the mark by which it is found again."""
    task = proposed.outcome.request.task
    said = f"Written by the maintenance task `{task}`" if task else "Written by Slash Agent"
    run = f" · [run]({proposed.links.run})" if proposed.links.run else ""
    fields = {"id": _id(write, proposed), **({"task": task} if task else {})}
    shown = shown_markdown(text, MAX_BODY).rstrip()
    return marked(f"{shown}\n\n<sub>{said}{run}</sub>", mark(WRITE, **fields))


def _id(write: Write, proposed: Proposed) -> str:
    """The same for the same write of the same run."""
    told = (proposed.outcome.started_at, write.kind, write.number, *texts_of(write))
    return hashlib.sha256("\0".join(map(str, told)).encode()).hexdigest()[:20]


def _is_of(body: str, author: Account, me: Account | None, write_id: str) -> bool:
    found = read_mark(body, WRITE)
    return found is not None and found.get("id") == write_id and is_ours(author, me)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
