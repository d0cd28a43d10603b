"""The reads of a `Host`, handed through: the half of a dry run that is real."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.contracts.pulls import FailedCheck, PullRequest, ReviewThread
from bot.contracts.threads import CommentData, IssueData, Permission
from bot.github.host import Host
from bot.github.values import (
    Account,
    ArtifactData,
    CheckRunData,
    CommitData,
    PullData,
    ReviewCommentData,
    ReviewData,
    WorkflowRunData,
)


class Reads:
    """Base of `Recorder`. Written out, so that a write that is forgotten there is missing and not carried out."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def me(self) -> Account | None:
        return self._host.me()

    def permission(self, repository: str, login: str) -> Permission:
        return self._host.permission(repository, login)

    def comments(self, repository: str, number: int, since: str = "") -> Iterator[CommentData]:
        return self._host.comments(repository, number, since)

    def comment(self, repository: str, comment_id: int) -> CommentData | None:
        return self._host.comment(repository, comment_id)

    def pull(self, repository: str, number: int) -> PullRequest:
        return self._host.pull(repository, number)

    def pulls(self, repository: str, state: str = "open", base: str = "") -> Iterator[PullData]:
        return self._host.pulls(repository, state, base)

    def open_pulls(self, repository: str, branch: str) -> list[PullData]:
        return self._host.open_pulls(repository, branch)

    def pull_commits(self, repository: str, number: int) -> list[CommitData]:
        return self._host.pull_commits(repository, number)

    def branch_sha(self, repository: str, branch: str) -> str:
        return self._host.branch_sha(repository, branch)

    def contains(self, repository: str, branch: str, sha: str) -> bool:
        return self._host.contains(repository, branch, sha)

    def reviews(self, repository: str, number: int) -> Iterator[ReviewData]:
        return self._host.reviews(repository, number)

    def review_threads(self, repository: str, number: int) -> list[ReviewThread]:
        return self._host.review_threads(repository, number)

    def review_thread(self, repository: str, number: int, comment_id: int) -> ReviewThread | None:
        return self._host.review_thread(repository, number, comment_id)

    def review_comments(self, repository: str, number: int, since: str = "") -> Iterator[ReviewCommentData]:
        return self._host.review_comments(repository, number, since)

    def review_comment(self, repository: str, comment_id: int) -> ReviewCommentData | None:
        return self._host.review_comment(repository, comment_id)

    def failed_checks(self, repository: str, sha: str) -> list[FailedCheck]:
        return self._host.failed_checks(repository, sha)

    def check_runs(self, repository: str, sha: str, name: str = "") -> Iterator[CheckRunData]:
        return self._host.check_runs(repository, sha, name)

    def workflow_run(self, repository: str, run_id: int) -> WorkflowRunData:
        return self._host.workflow_run(repository, run_id)

    def workflow_runs(
        self,
        repository: str,
        workflow: str = "",
        event: str = "",
        created: str = "",
        status: str = "",
        actor: str = "",
    ) -> Iterator[WorkflowRunData]:
        return self._host.workflow_runs(repository, workflow, event, created, status, actor)

    def artifacts(self, repository: str, run_id: int) -> list[ArtifactData]:
        return self._host.artifacts(repository, run_id)

    def download_artifact(self, repository: str, artifact_id: int, limit: int) -> bytes:
        return self._host.download_artifact(repository, artifact_id, limit)

    def issue(self, repository: str, number: int) -> IssueData:
        return self._host.issue(repository, number)

    def issues(
        self, repository: str, state: str = "open", labels: Sequence[str] = (), creator: str = ""
    ) -> Iterator[IssueData]:
        return self._host.issues(repository, state, labels, creator)
