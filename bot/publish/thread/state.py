"""The state of a thread as GitHub reports it: when it last changed other than by us."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from bot.contracts.request import ThreadState
from bot.contracts.threads import CommentData, IssueData
from bot.github.values import Account
from bot.publish.thread.markers import PROGRESS, WRITE, may_be_ours, read_mark

OUR_WRITES_TAKE = timedelta(hours=1)
"""Our label or edit follows our comment within this time. A later change of a thread is by somebody else."""


def thread_state(
    issue: IssueData, comments: Iterable[CommentData], me: Account | None, task: str = ""
) -> ThreadState:
    """`comments` are all of the thread. GitHub's `updated_at` counts every change, so it is believed, except where
    it is the mark of our own writes: then what people wrote counts."""
    own, others, last_notice = [""], [issue.created_at], ""
    for comment in comments:
        kind = PROGRESS if read_mark(comment.body, PROGRESS) else WRITE
        if may_be_ours(Account(comment.author, comment.author_id, comment.author_kind), me, kind):
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


def is_own(issue: IssueData, me: Account | None) -> bool:
    """Whether we opened it: no task is about our own threads."""
    return issue.author == me.login if me is not None else issue.author_kind == "Bot"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
