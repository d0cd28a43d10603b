"""Threads, accounts and repositories as GitHub's API returns them.

Times are RFC 3339 in UTC with a trailing `Z`, as GitHub writes them.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

# Every comment that the bot writes has a line that starts with this: how it knows its own words again.
OWN_MARKER = "<!-- slash-agent"
OWN_MARK = re.compile(re.escape(OWN_MARKER) + r" ([a-z-]+)((?: [a-z]+=[A-Za-z0-9._/-]*)*) -->\s*\Z")
"""The marker that ends each comment of the bot: kind and fields, of a closed alphabet."""
_LONGEST_MARK = 4_000
# The keys of what a review left, up to 24,000 digits, are no text.
_KEYS = re.compile(r" left=[0-9a-f]*")
_LONGEST_KEYS = 26_000


def without_own_mark(body: str) -> str:
    """Return `body`, which the bot's account wrote, without the marker at its end. Only the exact marker is
    removed; all other hidden text stays, so that it is detected and reported."""
    match = OWN_MARK.search(body, max(len(body) - _LONGEST_MARK - _LONGEST_KEYS, 0))
    if match is None or len(_KEYS.sub("", match[0])) > _LONGEST_MARK:
        return body
    return body[: match.start()].rstrip()


class Account(NamedTuple):
    """`kind` is `User`, `Bot` or `Organization`. `ghost` with id 0 is a deleted account."""

    login: str
    id: int
    kind: str


class Permission(NamedTuple):
    """An account's permission on a repository.

    `level` is `permission` of the collaborator permission endpoint: `admin`, `write`, `read` or `none`, with
    `maintain` folded into `write` and `triage` into `read`; `role` is its `role_name`, which separates those.
    `user_id` and `kind` are the id and type (`User`, `Bot`, `Organization`) of the account that the API found,
    0 and empty for none. `private` is the repository's. `collaborator` is true only for a listed collaborator,
    since on a public repository everybody has `read`; it is not queried if level or role decide.
    """

    level: str
    user_id: int
    kind: str
    private: bool
    role: str = ""
    collaborator: bool = False


GHOST = Account("ghost", 0, "User")


class Head(NamedTuple):
    """The two ends of a pull request. `repository` is `owner/name`, empty if the fork was deleted."""

    sha: str
    ref: str
    repository: str
    base_ref: str


class IssueData(NamedTuple):
    """An issue or a pull request, as the API returns it now or as an event's payload has it.

    Only a payload has `draft`, the number of `comments` (0 if unknown) and the `head` of a pull request; that of a
    comment in the conversation lacks the head. Its `updated_at` is the last change before the event.
    """

    number: int
    title: str
    body: str
    author: Account
    url: str
    created_at: str
    updated_at: str
    state: str = "open"
    locked: bool = False
    is_pull_request: bool = False
    labels: tuple[str, ...] = ()
    draft: bool = False
    comments: int = 0
    head: Head | None = None


@dataclass(frozen=True)
class CommentData:
    """One comment of a thread."""

    id: int
    author: Account
    body: str
    created_at: str
    updated_at: str

    @property
    def edited(self) -> bool:
        return self.updated_at != self.created_at

    @property
    def lines(self) -> int:
        """The first comment of the conversation on lines of a diff that this one replies to, 0 for none."""
        return 0

    @property
    def anchor(self) -> str:
        """The fragment of its address."""
        return f"issuecomment-{self.id}"


class RepositoryData(NamedTuple):
    """`name` is `owner/name`; `clone_url` is for git over HTTP and contains no credential. `read_only` is `archived`,
    `disabled` or empty."""

    name: str
    default_branch: str
    private: bool
    clone_url: str
    read_only: str = ""


class PushData(NamedTuple):
    """One push to a branch, as GitHub's server recorded it; the dates in commits are the author's claim.

    `after` is 40 zeros for the one that deleted it.
    """

    after: str
    at: str


class TextKind(StrEnum):
    """Of a text; each has ids of its own. `THREAD` is the body of an issue or a pull request."""

    THREAD = "thread"
    COMMENT = "comment"
    REVIEW = "review"
    REVIEW_COMMENT = "review comment"
