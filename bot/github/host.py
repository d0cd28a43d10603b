"""What publishing needs of a GitHub, real or recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from bot.contracts.threads import CommentData
from bot.github.values import Account, CommitData, PullData


class CommentHost(Protocol):
    """Comments of a thread. See `bot.github.client.GitHub` for each method."""

    def me(self) -> Account | None: ...

    def comments(self, repository: str, number: int, since: str = "") -> Iterator[CommentData]: ...

    def create_comment(self, repository: str, number: int, body: str) -> CommentData: ...

    def edit_comment(self, repository: str, number: int, comment_id: int, body: str) -> None: ...


class Host(CommentHost, Protocol):
    """Comments and pull requests."""

    def open_pulls(self, repository: str, branch: str) -> list[PullData]: ...

    def pull_commits(self, repository: str, number: int) -> list[CommitData]: ...

    def contains(self, repository: str, branch: str, sha: str) -> bool: ...

    def open_pull(
        self, repository: str, *, title: str, body: str, head: str, base: str, draft: bool
    ) -> PullData: ...

    def edit_pull(self, repository: str, number: int, *, title: str, body: str) -> None: ...

    def request_review(self, repository: str, number: int, login: str) -> None: ...
