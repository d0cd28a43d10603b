"""A reader that remembers what passes through it, so that nobody has to ask GitHub for it a second time."""

from __future__ import annotations

from collections.abc import Iterator

from bot.contracts.pulls import FailedCheck, PullRequest, ReviewText, ReviewThread
from bot.contracts.threads import CommentData, IssueData, Permission, PullReader, PushData, RepositoryData


class Overheard:
    """A `PullReader` in front of another. `heard` is every comment of the conversation that was read, `threads` those
    on lines of the diff, `standing` what GitHub said of the person that was asked about last."""

    def __init__(self, reader: PullReader) -> None:
        self._reader = reader
        self.heard: dict[int, CommentData] = {}
        self.threads: list[ReviewThread] = []
        self.standing: Permission | None = None

    def newest_comments(self, repository: str, number: int) -> Iterator[CommentData]:
        for comment in self._reader.newest_comments(repository, number):
            self.heard[comment.id] = comment
            yield comment

    def permission(self, repository: str, login: str) -> Permission:
        self.standing = self._reader.permission(repository, login)
        return self.standing

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
