"""What our own comments record: the requests of a thread and the run of each, whether that asked a model, and when
somebody else last changed a thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from github.WorkflowRun import WorkflowRun

from bot.contracts.request import Thread, ThreadState
from bot.contracts.threads import Account, CommentData, IssueData
from bot.github.client import GitHub
from bot.publish.markdown import unescaped
from bot.publish.thread.comments import comments_at
from bot.publish.thread.markers import (
    ANSWER,
    ENDED,
    PROGRESS,
    REFUSED,
    WRITE,
    ThreadRef,
    asking_comment,
    is_ours,
    may_be_ours,
    own_fields,
    read_mark,
    tries_key,
)

_LINK = re.compile(r"(?<!\\)\[((?:[^\[\]\\]|\\.)*)\]\([^()\s]*\)")
_KINDS = (PROGRESS, ENDED, ANSWER)


@dataclass(frozen=True, slots=True)
class Trace:
    """One comment of ours. `key` is that of the request, `of` the key of the request that it repeats, `run` the
    Actions run that worked on it, 0 if unknown. `over`: that run has ended. `queued`: it never began. `refused` is the
    account whose request was refused, 0 for none. If not `ours`, the comment only may be ours (`may_be_ours`), and its
    statements are not trusted."""

    kind: str
    key: str
    of: str
    run: int
    over: bool
    text: str
    url: str
    updated_at: str
    queued: bool = False
    id: int = 0
    refused: int = 0
    ours: bool = True

    @property
    def request_key(self) -> str:
        """The key of the original request."""
        return self.of or self.key

    @property
    def headline(self) -> str:
        """The first line as plain text, without links and figures."""
        line = _LINK.sub(r"\1", self.text.partition("\n")[0])
        return unescaped(line.partition(" · ")[0].replace("**", "").strip())

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of its list as plain text."""
        return tuple(unescaped(line[2:]) for line in self.text.splitlines() if line.startswith("- "))


def traces(github: GitHub, repository: str, thread: Thread, since: str = "") -> list[Trace]:
    """Return our comments in the thread, oldest first, with those on lines of a pull request's diff. A mark counts only
    if we wrote it."""
    me = github.me()
    comments = list(comments_at(github, ThreadRef(repository, thread.number, "", since)))
    if thread.is_pull_request:
        comments += github.review_comments(repository, thread.number, since)
    results = [_trace(one, f"{thread.url}#{one.anchor}", me) for one in comments]
    return sorted((one for one in results if one is not None), key=lambda one: one.updated_at)


def newest_requests(results: Iterable[Trace], own: str) -> list[Trace]:
    """Return the progress comments for the requests before `own`, newest first, without refused ones. They are ordered
    by creation, since an older one is edited when its plan is carried out."""
    mine = [one for one in results if one.kind == PROGRESS and not one.refused and comes_before(one.key, own)]
    return sorted(mine, key=lambda one: one.id, reverse=True)


def comes_before(key: str, own: str) -> bool:
    """Whether a request came before `own`. Comments in a conversation and on lines are numbered separately."""
    (one, on_lines), (other, of_lines) = asking_comment(key), asking_comment(own)
    return one < other if one and other and on_lines == of_lines else key != own


def count_tries(github: GitHub, repository: str, number: int, head_sha: str) -> int:
    """Return how many runs were started for failed checks at this head of a pull request."""
    begun = tries_key(head_sha)
    comments = comments_at(github, ThreadRef(repository, number, ""))
    results = (_trace(one, "", github.me()) for one in comments)
    return len({trace.key for trace in results if trace is not None and trace.key.startswith(begun)})


def _trace(comment: CommentData, url: str, me: Account | None) -> Trace | None:
    read = ((kind, read_mark(comment.body, kind)) for kind in _KINDS)
    kind, fields = next(((kind, fields) for kind, fields in read if fields is not None), ("", None))
    if fields is None or not may_be_ours(comment.author, me, kind):
        return None
    run = fields.get("run", "")
    return Trace(
        kind,
        fields.get("request", ""),
        fields.get("of", ""),
        int(run) if run.isdecimal() and len(run) < 20 else 0,
        fields.get("state") != "on",
        comment.body.rpartition("<!--")[0].rstrip(),
        url,
        comment.updated_at,
        "queued" in fields,
        comment.id,
        int(refused) if (refused := fields.get("refused", "")).isdecimal() and len(refused) < 20 else 0,
        is_ours(comment.author, me, kind),
    )


_HEADS_WORKFLOW = ("pull_request", "pull_request_review", "pull_request_review_comment")


def is_own_run(run: WorkflowRun, repository: str, workflow: str) -> bool:
    """Whether `run` executed our workflow file, if known, as people with write access wrote it. A mark may name any
    run, and a fork's pull request brings a workflow file of its own."""
    head = run.head_repository.full_name if run.head_repository else ""
    foreign = run.event in _HEADS_WORKFLOW and head.lower() != repository.lower()
    return not foreign and workflow in ("", (run.path or "").partition("@")[0])


ASKED, UNASKED = {"asked": "yes"}, {"asked": "no"}
"""Fields of a run's mark: from its first request to the model on, and if it ended without one."""
MOST = 2000
"""Comments that are read."""


def unasked_runs(github: GitHub, repository: str, now: str) -> frozenset[str]:
    """Return the ids of the runs whose comments of today by us all show that no model was asked. Raises
    `GitHubError`."""
    requested: dict[str, bool] = {}
    me = github.me()
    for comment in islice(github.comments_of_all(repository, f"{now[:10]}T00:00:00Z"), MOST):
        for kind in (PROGRESS, ENDED, ANSWER, REFUSED):
            fields = own_fields(comment.body, comment.author, kind, me)
            if fields is None or not fields.get("run"):
                continue
            free = kind in (ANSWER, REFUSED) or UNASKED.items() <= fields.items()
            requested[fields["run"]] = requested.get(fields["run"], False) or not free
    return frozenset(run for run, was_asked in requested.items() if not was_asked)


OUR_WRITES_TAKE = timedelta(hours=1)
"""Our label or edit follows our comment within this time. A later change of a thread is by somebody else."""


def thread_state(
    issue: IssueData, comments: Iterable[CommentData], me: Account | None, task: str = ""
) -> ThreadState:
    """Return the state of a thread with all its `comments`. GitHub's `updated_at` counts every change, so it is the
    last activity, unless our own write caused it: then the last comment by others is."""
    own, others, last_notice = [""], [issue.created_at], ""
    for comment in comments:
        kind = PROGRESS if read_mark(comment.body, PROGRESS) else WRITE
        if may_be_ours(comment.author, me, kind):
            own.append(max(comment.created_at, comment.updated_at))
            mark = read_mark(comment.body, WRITE)
            if mark is not None and mark.get("task", "") == task:
                last_notice = max(last_notice, comment.created_at)
        else:
            others.append(comment.created_at)
    by_us = bool(max(own)) and _time(issue.updated_at) <= _time(max(own)) + OUR_WRITES_TAKE
    return ThreadState(
        number=issue.number,
        is_pull_request=issue.is_pull_request,
        state="open" if issue.state == "open" else "closed",
        locked=issue.locked,
        labels=issue.labels,
        quiet_since=max(others) if by_us else max(issue.updated_at, *others),
        told_at=last_notice,
    )


def opened_by_us(issue: IssueData, me: Account | None) -> bool:
    """Whether we opened the thread: tasks ignore our own threads."""
    return issue.author.login == me.login if me is not None else issue.author.kind == "Bot"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
