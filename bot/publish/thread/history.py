"""What our own comments record: the requests of a thread and the run of each, whether that asked a model, and when
somebody else last changed a thread.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal, NamedTuple

from github.WorkflowRun import WorkflowRun

from bot.contracts.request import Thread, ThreadState
from bot.events.command import Command, parse_command
from bot.github.client import GitHub
from bot.github.values import Account, CommentData, IssueData
from bot.publish.thread.comments import OwnComment, own_comments
from bot.publish.thread.markers import (
    ANSWER,
    ENDED,
    PROGRESS,
    REFUSED,
    WRITE,
    asking_comment,
    may_be_ours,
    read_mark,
)

_KINDS = (PROGRESS, ENDED, ANSWER)


class ThreadLog(NamedTuple):
    """The comments of a thread, with those on lines of a pull request's diff, by the key of a request in them, and of
    these our `answers` to requests, by their last change."""

    comments: Mapping[str, CommentData]
    answers: Sequence[OwnComment]

    def command(self, key: str) -> Command | None:
        """Return the command in the comment that `key` names, `None` if it holds none that can be carried out."""
        comment = self.comments.get(key)
        command = parse_command(comment.body) if comment else None
        return None if command is None or command.problem else command


def read_log(github: GitHub, thread: Thread | IssueData) -> ThreadLog:
    comments = {str(one.id): one for one in github.comments(thread.number)}
    if thread.is_pull_request:
        comments |= {f"r{one.id}": one for one in github.review_comments(thread.number)}
    own = [one for one in own_comments(github, comments.values()) if one.kind in _KINDS]
    return ThreadLog(comments, sorted(own, key=lambda one: one.data.updated_at))


def newest_requests(answers: Iterable[OwnComment], own: str) -> list[OwnComment]:
    """Return the progress comments before `own`, newest first by creation, since older ones are edited."""
    begun = (one for one in answers if one.kind == PROGRESS and not one.number("refused"))
    earlier = (one for one in begun if comes_before(one.key, own))
    return sorted(earlier, key=lambda one: one.data.id, reverse=True)


def comes_before(key: str, own: str) -> bool:
    """Whether a request came before `own`. Comments in a conversation and on lines are numbered separately."""
    (one, on_lines), (other, of_lines) = asking_comment(key), asking_comment(own)
    return one < other if one and other and on_lines == of_lines else key != own


_HEADS_WORKFLOW = ("pull_request", "pull_request_review", "pull_request_review_comment")


def is_own_run(run: WorkflowRun, repository: str, workflow: str) -> bool:
    """Whether `run` executed our workflow file as people with write access wrote it: not the file of a fork."""
    head = run.head_repository.full_name if run.head_repository else ""
    foreign = run.event in _HEADS_WORKFLOW and head.lower() != repository.lower()
    return not foreign and workflow in ("", (run.path or "").partition("@")[0])


ASKED, UNASKED = {"asked": "yes"}, {"asked": "no"}
"""Fields of a run's mark: from its first request to the model on, and if it ended without one."""
MOST = 2000
"""Comments that are read."""


def unasked_runs(github: GitHub, now: str) -> frozenset[str]:
    """Return the ids of the runs whose comments of today show that no model was asked. Raises `GitHubError`."""
    asked, unasked = set[str](), set[str]()
    today = islice(github.comments_of_all(f"{now[:10]}T00:00:00Z"), MOST)
    for one in own_comments(github, today):
        if one.ours and one.fields.get("run") and one.kind in (*_KINDS, REFUSED):
            free = one.kind in (ANSWER, REFUSED) or UNASKED.items() <= one.fields.items()
            (unasked if free else asked).add(one.fields["run"])
    return frozenset(unasked - asked)


OUR_WRITES_TAKE = timedelta(hours=1)
"""Our label or edit follows our comment within this time. A later change of a thread is by somebody else."""


def thread_state(
    issue: IssueData, comments: Iterable[CommentData], me: Account | None, task: str
) -> ThreadState:
    """Return the state of a thread. Its last activity is `updated_at`, or by others if our own write was the last."""
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
    time = datetime.fromisoformat
    by_us = bool(max(own)) and time(issue.updated_at) <= time(max(own)) + OUR_WRITES_TAKE
    quiet_since = max(others) if by_us else max(issue.updated_at, *others)
    state: Literal["open", "closed"] = "open" if issue.state == "open" else "closed"
    facts = issue.number, issue.is_pull_request, state, issue.locked, issue.labels
    return ThreadState(*facts, quiet_since, last_notice)


def opened_by_us(issue: IssueData, me: Account | None) -> bool:
    """Whether we opened the thread: tasks ignore our own threads."""
    return issue.author.login == me.login if me is not None else issue.author.kind == "Bot"
