"""Values of GitHub's API. Times are RFC 3339 in UTC; empty for none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.contracts.pulls import Side
from bot.contracts.threads import Account, CommentData

ACTIONS = "github-actions"
"""The slug of the app that Actions' own token is one of."""


@dataclass(frozen=True, slots=True)
class PullData:
    """One pull request. `head_repository` is empty where the fork was deleted. `state` is `open` or `closed`."""

    number: int
    url: str
    title: str
    body: str
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


@dataclass(frozen=True, slots=True)
class ReviewCommentData(CommentData):
    """One comment on lines of a diff.

    `line` is 0 for a whole file, and where the line is gone (`outdated`); `start_line` is 0 for one line.
    `in_reply_to` is the id of the thread's first comment, 0 for that comment itself; `review` is the id of its review.
    """

    path: str
    line: int
    start_line: int
    side: Side
    hunk: str
    in_reply_to: int
    outdated: bool = False
    url: str = ""
    review: int = 0

    @property
    def lines(self) -> int:
        return self.in_reply_to

    @property
    def anchor(self) -> str:
        return f"discussion_r{self.id}"


@dataclass(frozen=True, slots=True)
class ReviewDraft:
    """A comment of a review that is to be made. GitHub takes all of a review's comments or none."""

    path: str
    body: str
    line: int
    side: Side = Side.RIGHT
    start_line: int = 0


@dataclass(frozen=True, slots=True)
class ActionsSettings:
    """`may_open_pulls` is the setting "Allow GitHub Actions to create and approve pull requests"."""

    enabled: bool
    may_open_pulls: bool


@dataclass(frozen=True, slots=True)
class BranchDemands:
    """`checks` are the names of required checks. `signed`: commits must be signed; `None` if that is unknown."""

    checks: tuple[str, ...]
    signed: bool | None


@dataclass(frozen=True, slots=True)
class Installation:
    """How an app is installed. `permissions` by GitHub's names, such as `pull_requests`, are `read`, `write` or
    `admin`."""

    id: int
    slug: str
    permissions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RenderedText:
    """`author` has the id 0 for a deleted account."""

    author: Account
    body: str
    html: str


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file of a tree that is to be made: its `text`, or the blob `sha`; with neither it is removed."""

    path: str
    mode: str
    text: str | None = None
    sha: str = ""
