"""Validate the writes on threads that a run proposed, and apply them.

The bundle is untrusted. Limits, labels and threads come from the policy and the task's file at the tip of the default
branch, the state of a thread from GitHub. If a bundle has a write that its run may not make, it was modified or the
rules are stricter now, and none is applied. A write that does not fit the current state of its thread is skipped with a
reason, and an existing one is not repeated.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from bot.contracts.errors import AgentError, GateError, PublishError
from bot.contracts.formatting import count_of
from bot.contracts.outcome import Outcome, Status
from bot.contracts.pulls import ReviewThread, Side
from bot.contracts.writes import MAX_BODY, MAX_TITLE, Write, describe_write, texts_of
from bot.gate.clean_text import clean_line
from bot.gate.secrets import withhold_if_secret
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.values import CommentData
from bot.maintenance.apply import allowance_of
from bot.maintenance.task import Task
from bot.maintenance.thread_fit import mismatch
from bot.parsing.parser import Parser
from bot.policy.settings import Policy
from bot.policy.writes import refusal
from bot.publish.body.order_and_footer import Links
from bot.publish.bundle import Bundle
from bot.publish.change.commit import read_policy
from bot.publish.context import PublishContext, make_bare
from bot.publish.markdown import run_link, safe_markdown
from bot.publish.thread.comments import own_comments
from bot.publish.thread.history import opened_by_us, thread_state
from bot.publish.thread.markers import WRITE, mark, marked
from bot.review.diff import parse_diff

_ORDER = ("comment", "reply", "edit", "add_label", "remove_label", "close")
"""The order of writes on a thread: after a comment, a second publishing recognises later changes as ours."""
_ASKED_BEFORE = "This needs a decision of people, and I asked here before: I leave it to you."


class ValidatedWrites(NamedTuple):
    """Writes that their run may make, whatever the state of the threads. `since` is when the run read the threads,
    `known` the last activity that it saw on each; `threads` says of each number whether it is a pull request. `patch`
    is the change of a round that may resolve threads, else empty."""

    outcome: Outcome
    writes: tuple[Write, ...]
    threads: Mapping[int, bool]
    task: Task | None
    since: str
    known: Mapping[int, str]
    links: Links
    patch: bytes = b""

    def by_thread(self) -> Mapping[int, list[Write]]:
        threads: dict[int, list[Write]] = {write.number: [] for write in self.writes}
        for write in sorted(self.writes, key=lambda write: _ORDER.index(write.kind)):
            threads[write.number].append(write)
        return threads


def apply_writes(proposed: ValidatedWrites, github: GitHub) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Make the missing writes. Return those made now, and others with reasons. Raises `PublishError` for a rest."""
    if proposed.outcome.status in (Status.FAILED, Status.REFUSED):
        return (), tuple(f"{describe_write(write)}: the run failed" for write in proposed.writes)
    written: list[str] = []
    withheld: list[str] = []
    failed: list[str] = []
    for number, writes in proposed.by_thread().items():
        try:
            thread = _Thread(proposed, github, number)
            for write in writes:
                if thread.has(write):
                    continue
                if why := thread.unfit(write):
                    withheld.append(f"{describe_write(write)}: {why}")
                    continue
                thread.make(write)
                written.append(describe_write(write))
                if why := thread.resolve(write):
                    withheld.append(f"the thread of {describe_write(write)} is not resolved: {why}")
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


class _Thread:
    """A thread as it is now, and the writes proposed on it."""

    def __init__(self, proposed: ValidatedWrites, github: GitHub, number: int) -> None:
        request = proposed.outcome.request
        self.proposed, self.github = proposed, github
        self.number, self.task = number, request.task
        self.issue = github.issue(number)
        self.comments = tuple(github.comments(number))
        self.state = thread_state(self.issue, self.comments, github.me, self.task)
        self.remarks = {one.id: one for one in request.unresolved}

    def has(self, write: Write) -> bool:
        """Whether the thread is already as the write would leave it."""
        has_label = write.label.casefold() in {label.casefold() for label in self.issue.labels}
        match write.kind:
            case "comment" | "reply":
                comments: Iterable[CommentData] = self.comments
                if write.kind == "reply":
                    comments = self.github.review_comments(self.number, self.proposed.since)
                own = [one for one in own_comments(self.github, comments) if one.ours and one.kind == WRITE]
                return any(one.fields.get("id") == self._id(write) for one in own)
            case "add_label":
                return has_label
            case "remove_label":
                return not has_label
            case "close":
                return self.issue.state == "closed"
            case "edit":
                title, body = _edited(write)
                return title in (None, self.issue.title) and body in (None, self.issue.body)

    def unfit(self, write: Write) -> str:
        """Return why the write does not fit the thread; empty if it does."""
        if self.proposed.threads[write.number] is not self.state.is_pull_request:
            return "it is not the kind of thread that the bundle says"
        if self.task and opened_by_us(self.issue, self.github.me):
            return "it was opened by this bot"
        since = self.proposed.known.get(write.number, self.proposed.since)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if why := mismatch(write, self.state, self.proposed.task, at=now, since=since):
            return why
        if write.kind == "reply":
            lines = self.github.review_thread(write.number, write.comment_id)
            if lines is None or lines.resolved:
                return "the conversation was resolved meanwhile" if lines else "the conversation is gone"
        return ""

    def make(self, write: Write) -> None:
        github, number = self.github, self.number
        match write.kind:
            case "comment":
                github.create_comment(number, self._body(write))
            case "reply":
                github.reply_to_review_comment(number, write.comment_id, self._body(write))
            case "add_label":
                github.add_labels(number, [write.label])
            case "remove_label":
                github.remove_label(number, write.label)
            case "close":
                github.close_issue(number, write.reason)
            case "edit":
                title, body = _edited(write)
                github.edit_issue(number, title=title, body=body)

    def resolve(self, write: Write) -> str:
        """Resolve the thread of a reply in a round that changed its lines. Return why GitHub refused, or empty."""
        lines = self.remarks.get(write.comment_id)
        if lines is None or not self._changes_lines(lines):
            return ""
        try:
            if thread := self.github.unresolved_threads(self.number).get(write.comment_id):
                self.github.resolve_thread(self.number, thread)
        except GitHubError as error:
            return str(error)
        return ""

    def _changes_lines(self, lines: ReviewThread) -> bool:
        """Whether the change has lines of the thread; of its file, for a thread without a line of the head."""
        file = parse_diff(self.proposed.patch).find(lines.path)
        if file is None or not lines.line or lines.side is Side.LEFT:
            return file is not None
        ends = (lines.start_line or lines.line, lines.line)
        return any(hunk.holds(Side.LEFT, line) for hunk in file.hunks for line in ends)

    def _body(self, write: Write) -> str:
        """Return the filtered text with its author and a mark."""
        by = f"Written by the maintenance task `{self.task}`" if self.task else "Written by Slash Agent"
        fields = {"id": self._id(write), **({"task": self.task} if self.task else {})}
        text = safe_markdown(write.body, MAX_BODY).rstrip()
        lines, files = self.remarks.get(write.comment_id), self.proposed.outcome.files
        # The change of a round that answers a review touches the file that the reply is about.
        follows = lines is not None and any(file.path == lines.path for file in files)
        if self.proposed.outcome.request.round and not follows:
            asks = text.endswith("?")
            if asks and self._asked_before(write):
                text, asks = _ASKED_BEFORE, False
            fields["asked" if asks else "declined"] = "1"
        return marked(f"{text}\n\n<sub>{by}{run_link(self.proposed.links.run)}</sub>", mark(WRITE, **fields))

    def _asked_before(self, write: Write) -> bool:
        """Whether a comment of ours in the thread on lines asked something."""
        own = own_comments(
            self.github, self.github.review_comments(self.number), lambda fields: "asked" in fields
        )
        return any(one.ours and one.data.lines == write.comment_id for one in own)

    def _id(self, write: Write) -> str:
        """Return an id that is the same for the same write of the same run."""
        parts = (self.proposed.outcome.started_at, write.kind, write.number, *texts_of(write))
        return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:20]


def _edited(write: Write) -> tuple[str | None, str | None]:
    """Return the new title and text; `None` if unchanged."""
    title = clean_line(write.title, MAX_TITLE) if write.title else None
    return title, safe_markdown(write.body, MAX_BODY) if write.body else None


def count_made(bundle: Bundle, repository: str, host_of: Callable[[str], GitHub]) -> int:
    """Return how many of the bundle's writes `repository` has now, none if that cannot be read. Nothing is written."""
    if bundle.writes is None:
        return 0
    outcome = bundle.outcome
    proposed = ValidatedWrites(outcome, bundle.writes.writes, {}, None, outcome.started_at, {}, Links())
    try:
        github = host_of(repository)
        threads = {number: _Thread(proposed, github, number) for number in proposed.by_thread()}
        return sum(threads[write.number].has(write) for write in proposed.writes)
    except AgentError:
        return 0


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
    resolves = request.round and policy.rounds.resolve
    patch, links = context.bundle.patch if resolves else b"", context.links
    return ValidatedWrites(outcome, writes.writes, allowance.threads, task, since, known, links, patch)


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
