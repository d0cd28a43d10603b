"""GitHub clients whose writes pass the gate with the secrets of the job, and a reader with a cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bot.gate.outbound import connect
from bot.github.threads import Signer
from bot.session.context.github_env import GitHubEnvironment
from bot.session.context.secrets import known_secrets

if TYPE_CHECKING:
    from bot.github.client import GitHub


from collections.abc import Iterator

from bot.contracts.pulls import FailedCheck, PullRequest, ReviewText, ReviewThread
from bot.contracts.threads import CommentData, IssueData, Permission, PullReader, PushData, RepositoryData


def client_for(where: GitHubEnvironment, environment: Mapping[str, str], token: str = "") -> GitHub:
    """A client with `token`, by default that of `where`. Not for two threads at once: each has its own."""
    secrets = {**known_secrets(environment), **where.minted_secrets}
    client = connect(token or where.token, where.api_url, secrets=secrets, server_url=where.server_url)
    client.signer = Signer(where.app_key) if where.app_key else None
    return client


class CachingReader:
    """A `PullReader` that keeps what it read: `comments` of the conversation by id, `threads` on lines of the diff, and
    `last_permission`, the newest answer about an account."""

    def __init__(self, reader: PullReader) -> None:
        self._reader = reader
        self.comments: dict[int, CommentData] = {}
        self.threads: list[ReviewThread] = []
        self.last_permission: Permission | None = None

    def newest_comments(self, repository: str, number: int) -> Iterator[CommentData]:
        for comment in self._reader.newest_comments(repository, number):
            self.comments[comment.id] = comment
            yield comment

    def permission(self, repository: str, login: str) -> Permission:
        self.last_permission = self._reader.permission(repository, login)
        return self.last_permission

    def issue(self, repository: str, number: int) -> IssueData:
        return self._reader.issue(repository, number)

    def repository(self, repository: str) -> RepositoryData:
        return self._reader.repository(repository)

    def pull(self, repository: str, number: int) -> PullRequest:
        return self._reader.pull(repository, number)

    def pushes(self, repository: str, branch: str) -> list[PushData] | None:
        return self._reader.pushes(repository, branch)

    def review_threads(self, repository: str, number: int) -> list[ReviewThread]:
        self.threads = self._reader.review_threads(repository, number)
        return self.threads

    def review_thread(self, repository: str, number: int, comment_id: int) -> ReviewThread | None:
        return self._reader.review_thread(repository, number, comment_id)

    def failed_checks(self, repository: str, sha: str) -> list[FailedCheck]:
        return self._reader.failed_checks(repository, sha)

    def failed_statuses(self, repository: str, sha: str) -> list[FailedCheck]:
        return self._reader.failed_statuses(repository, sha)

    def newest_reviews(self, repository: str, number: int) -> Iterator[ReviewText]:
        return self._reader.newest_reviews(repository, number)
