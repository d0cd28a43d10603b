"""What intake asks of GitHub, as values and one protocol. `bot/github` implements it.

Times are RFC 3339 in UTC with a trailing `Z`, as GitHub writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

# Every comment that the bot writes has a line that starts with this: how it knows its own words again.
OWN_MARKER = "<!-- slash-agent"


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


class ThreadReader(Protocol):
    """Reads of one GitHub. Each raises an `AgentError` when GitHub does not answer what was asked."""

    def permission(self, repository: str, login: str) -> Permission:
        """What `login` may do. An account that GitHub does not know (404) has level `none` and id 0."""
        ...

    def issue(self, repository: str, number: int) -> IssueData: ...

    def comments(self, repository: str, number: int) -> Iterator[CommentData]:
        """All comments of the thread, oldest first, all pages, fetched as they are taken."""
        ...

    def repository(self, repository: str) -> RepositoryData: ...
