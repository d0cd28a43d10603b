"""What intake asks of GitHub, as values and one protocol. `bot/github` implements it.

Times are RFC 3339 in UTC with a trailing `Z`, as GitHub writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from bot.contracts.pulls import FailedCheck, PullRequest, ReviewText, ReviewThread

# Every comment that the bot writes has a line that starts with this: how it knows its own words again.
OWN_MARKER = "<!-- slash-agent"
OWN_MARK = re.compile(re.escape(OWN_MARKER) + r" ([a-z-]+)((?: [a-z]+=[A-Za-z0-9._/-]*)*) -->\s*\Z")
"""The mark that ends what the bot writes: kind and fields, of a closed alphabet."""
_LONGEST_MARK = 4_000


def without_own_mark(body: str) -> str:
    """`body`, which the bot's account wrote, without the mark that ends it. Only the very form that the bot writes is
    taken off; whatever else is hidden stays, to be found and told."""
    found = OWN_MARK.search(body, max(len(body) - _LONGEST_MARK, 0))
    return body[: found.start()].rstrip() if found else body


@dataclass(frozen=True, slots=True)
class Permission:
    """What an account may do on a repository.

    `level` is `permission` of the collaborator permission endpoint: `admin`, `write`, `read` or `none`, with
    `maintain` folded into `write` and `triage` into `read`; `role` is its `role_name`, which tells those
    apart. `user_id` and `kind` are the id and type (`User`, `Bot`, `Organization`) of the account that the
    API found, 0 and empty where it found none. `private` is the repository's. `collaborator` is true only
    for somebody who is listed as one, since on a public repository everybody has `read`; it need not be
    asked where the level or the role says enough.
    """

    level: str
    user_id: int
    kind: str
    private: bool
    role: str = ""
    collaborator: bool = False


@dataclass(frozen=True, slots=True)
class IssueData:
    """An issue or a pull request as the API gives it now. `author` is `ghost` for a deleted account."""

    number: int
    title: str
    body: str
    author: str
    author_kind: str
    url: str
    created_at: str
    updated_at: str
    state: str = "open"
    locked: bool = False
    is_pull_request: bool = False
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommentData:
    """One comment of a thread. `author_id` is 0 and `author` is `ghost` for a deleted account."""

    id: int
    author: str
    author_id: int
    author_kind: str
    body: str
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class RepositoryData:
    """`name` is `owner/name`; `clone_url` is for git over HTTP and holds no credential."""

    name: str
    default_branch: str
    private: bool
    clone_url: str


@dataclass(frozen=True, slots=True)
class PushData:
    """One push to a branch, as GitHub's server saw it: dates in commits are whatever their author wrote.

    `before` is 40 zeros for the push that made the branch, `after` for the one that deleted it.
    """

    before: str
    after: str
    at: str


class ThreadReader(Protocol):
    """Reads of one GitHub. Each raises an `AgentError` when GitHub does not answer what was asked."""

    def permission(self, repository: str, login: str) -> Permission:
        """What `login` may do. An account that GitHub does not know (404) has level `none` and id 0."""
        ...

    def issue(self, repository: str, number: int) -> IssueData: ...

    def newest_comments(self, repository: str, number: int) -> Iterator[CommentData]:
        """All comments of the thread, newest first, a page asked for when it is wanted."""
        ...

    def repository(self, repository: str) -> RepositoryData: ...


class PullReader(ThreadReader, Protocol):
    """What is read besides where the request is about a pull request."""

    def pull(self, repository: str, number: int) -> PullRequest: ...

    def pushes(self, repository: str, branch: str) -> list[PushData] | None:
        """The newest pushes to a branch, newest first; `None` where GitHub does not tell us of them, as of the
        branch of a private fork."""
        ...

    def review_threads(self, repository: str, number: int) -> list[ReviewThread]:
        """All conversations on lines of a pull request's diff, resolved ones included."""
        ...

    def review_thread(self, repository: str, number: int, comment_id: int) -> ReviewThread | None:
        """The conversation that holds a review comment; `None` where there is none (any more)."""
        ...

    def failed_checks(self, repository: str, sha: str) -> list[FailedCheck]:
        """What failed on a commit, each with its annotations and the last lines of each failed step's log."""
        ...

    def failed_statuses(self, repository: str, sha: str) -> list[FailedCheck]:
        """The contexts whose last commit status on a commit is a failure or an error."""
        ...

    def newest_reviews(self, repository: str, number: int) -> Iterator[ReviewText]:
        """All reviews of a pull request, newest first, a page asked for when it is wanted."""
        ...
