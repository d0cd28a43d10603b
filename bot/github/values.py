"""Values of GitHub's API. Times are RFC 3339 in UTC; empty for none."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contracts.pulls import Side


@dataclass(frozen=True, slots=True)
class Account:
    """`kind` is `User`, `Bot` or `Organization`. `ghost` with id 0 is a deleted account."""

    login: str
    id: int
    kind: str


@dataclass(frozen=True, slots=True)
class PullData:
    """One pull request. `head_repository` is empty where the fork was deleted. `state` is `open` or `closed`."""

    number: int
    url: str
    title: str
    body: str
    draft: bool
    head_branch: str
    head_sha: str
    head_repository: str
    base_branch: str
    author: Account
    state: str = "open"
    created_at: str = ""
    updated_at: str = ""
    closed_at: str = ""
    merged_at: str = ""
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommitData:
    """One commit of a pull request, by the e-mail addresses that are in the commit itself."""

    sha: str
    author_email: str
    committer_email: str


@dataclass(frozen=True, slots=True)
class ReviewData:
    """One review. `state` is `COMMENTED`, `APPROVED`, `CHANGES_REQUESTED`, `DISMISSED` or `PENDING`."""

    id: int
    author: Account
    body: str
    state: str
    commit_sha: str
    submitted_at: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class ReviewCommentData:
    """One comment on lines of a diff.

    `line` is 0 for a whole file, and where the line is gone (`outdated`); `start_line` is 0 for one line.
    `in_reply_to` is the id of the thread's first comment, 0 for that comment itself. `review_id` is 0 where the
    comment stands in no review.
    """

    id: int
    author: Account
    body: str
    path: str
    line: int
    start_line: int
    side: Side
    commit_sha: str
    hunk: str
    in_reply_to: int
    review_id: int
    created_at: str
    updated_at: str
    outdated: bool = False
    url: str = ""


@dataclass(frozen=True, slots=True)
class ReviewDraft:
    """A comment of a review that is to be made. GitHub takes all of a review's comments or none."""

    path: str
    body: str
    line: int
    side: Side = Side.RIGHT
    start_line: int = 0
    start_side: Side = Side.RIGHT


@dataclass(frozen=True, slots=True)
class JobData:
    """One job of a workflow run. `conclusion` is empty while it is not over."""

    name: str
    conclusion: str


@dataclass(frozen=True, slots=True)
class WorkflowRunData:
    """One run of a workflow. `status` is `queued`, `in_progress`, `completed` …; `conclusion` is empty until then.

    `path` is the workflow's file. `pulls` are the open pull requests of this repository that have the head;
    GitHub names none for a fork's.
    """

    id: int
    name: str
    path: str
    event: str
    status: str
    conclusion: str
    head_branch: str
    head_sha: str
    head_repository: str
    actor: Account
    attempt: int
    url: str
    created_at: str
    updated_at: str
    title: str = ""
    pulls: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ArtifactData:
    """One artifact of a run. `size` is in bytes, of the zip; an expired one cannot be downloaded any more."""

    id: int
    name: str
    size: int
    expired: bool
    created_at: str
    run_id: int = 0


@dataclass(frozen=True, slots=True)
class CheckRunData:
    """One check on a commit. `annotations` is how many there are; `job_id` is 0 where it is no job of Actions.
    `external_id` is what whoever made it calls it, `app` the slug of the app that made it."""

    id: int
    name: str
    status: str
    conclusion: str
    url: str
    summary: str
    annotations: int
    job_id: int
    external_id: str = ""
    app: str = ""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file of a tree that is to be made: its `text`, or the blob `sha`; with neither it is removed."""

    path: str
    mode: str
    text: str | None = None
    sha: str = ""
