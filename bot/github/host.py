"""What others need of a GitHub, real or recorded. See `bot.github.client.GitHub` for each method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from bot.contracts.pulls import Annotation, FailedCheck, PullRequest, ReviewThread
from bot.contracts.threads import CommentData, IssueData, Permission
from bot.github.values import (
    Account,
    ArtifactData,
    CheckRunData,
    CommitData,
    PullData,
    ReviewCommentData,
    ReviewData,
    ReviewDraft,
    TreeEntry,
    WorkflowRunData,
)


class CommentHost(Protocol):
    """Comments of a thread, and of the threads on lines of a diff."""

    def me(self) -> Account | None: ...

    def permission(self, repository: str, login: str) -> Permission: ...

    def comments(self, repository: str, number: int, since: str = "") -> Iterator[CommentData]: ...

    def comment(self, repository: str, comment_id: int) -> CommentData | None: ...

    def create_comment(self, repository: str, number: int, body: str) -> CommentData: ...

    def edit_comment(self, repository: str, number: int, comment_id: int, body: str) -> None: ...

    def delete_comment(self, repository: str, comment_id: int) -> None: ...

    def add_reaction(
        self, repository: str, comment_id: int, content: str, review_comment: bool = False
    ) -> None: ...

    def review_comments(
        self, repository: str, number: int, since: str = ""
    ) -> Iterator[ReviewCommentData]: ...

    def reply_to_review_comment(
        self, repository: str, number: int, comment_id: int, body: str
    ) -> ReviewCommentData: ...

    def edit_review_comment(self, repository: str, comment_id: int, body: str) -> None: ...


class PullHost(Protocol):
    """Pull requests and the branches they are made of."""

    def pull(self, repository: str, number: int) -> PullRequest: ...

    def pulls(self, repository: str, state: str = "open", base: str = "") -> Iterator[PullData]: ...

    def open_pulls(self, repository: str, branch: str) -> list[PullData]: ...

    def pull_commits(self, repository: str, number: int) -> list[CommitData]: ...

    def branch_sha(self, repository: str, branch: str) -> str: ...

    def wait_for_branch(self, repository: str, branch: str, sha: str, seconds: float = 15.0) -> bool: ...

    def contains(self, repository: str, branch: str, sha: str) -> bool: ...

    def open_pull(
        self, repository: str, *, title: str, body: str, head: str, base: str, draft: bool
    ) -> PullData: ...

    def edit_pull(self, repository: str, number: int, *, title: str, body: str) -> None: ...

    def request_review(self, repository: str, number: int, login: str) -> None: ...


class ReviewHost(Protocol):
    """Reviews of a pull request."""

    def reviews(self, repository: str, number: int) -> Iterator[ReviewData]: ...

    def review_threads(self, repository: str, number: int) -> list[ReviewThread]: ...

    def review_thread(self, repository: str, number: int, comment_id: int) -> ReviewThread | None: ...

    def review_comment(self, repository: str, comment_id: int) -> ReviewCommentData | None: ...

    def create_review(
        self,
        repository: str,
        number: int,
        *,
        commit_sha: str,
        body: str,
        event: str,
        comments: Sequence[ReviewDraft],
    ) -> ReviewData: ...


class CheckHost(Protocol):
    """Checks of a commit."""

    def failed_checks(self, repository: str, sha: str) -> list[FailedCheck]: ...

    def check_runs(self, repository: str, sha: str, name: str = "") -> Iterator[CheckRunData]: ...

    def create_check_run(
        self,
        repository: str,
        *,
        name: str,
        head_sha: str,
        conclusion: str,
        title: str,
        summary: str,
        annotations: Sequence[Annotation],
        external_id: str = "",
    ) -> int: ...

    def add_annotations(
        self, repository: str, check_run: int, *, title: str, summary: str, annotations: Sequence[Annotation]
    ) -> None: ...


class GitHost(Protocol):
    """Commits made by GitHub. Never asked for in a dry run."""

    def create_blob(self, repository: str, content: bytes) -> str: ...

    def create_tree(self, repository: str, base_tree: str, entries: Sequence[TreeEntry]) -> str: ...

    def create_commit(self, repository: str, *, message: str, tree: str, parent: str) -> str: ...


class RunHost(Protocol):
    """Runs of workflows."""

    def workflow_run(self, repository: str, run_id: int) -> WorkflowRunData: ...

    def workflow_runs(
        self,
        repository: str,
        workflow: str = "",
        event: str = "",
        created: str = "",
        status: str = "",
        actor: str = "",
    ) -> Iterator[WorkflowRunData]: ...

    def artifacts(self, repository: str, run_id: int) -> list[ArtifactData]: ...

    def download_artifact(self, repository: str, artifact_id: int, limit: int) -> bytes: ...

    def cancel_run(self, repository: str, run_id: int) -> None: ...

    def dispatch_workflow(
        self, repository: str, workflow: str, ref: str, inputs: Mapping[str, str] | None = None
    ) -> None: ...


class IssueHost(Protocol):
    """Issues, as a keeper of the repository sees them."""

    def issue(self, repository: str, number: int) -> IssueData: ...

    def issues(
        self, repository: str, state: str = "open", labels: Sequence[str] = (), creator: str = ""
    ) -> Iterator[IssueData]: ...

    def create_issue(
        self, repository: str, *, title: str, body: str, labels: Sequence[str] = ()
    ) -> IssueData: ...

    def edit_issue(
        self, repository: str, number: int, *, title: str | None = None, body: str | None = None
    ) -> None: ...

    def close_issue(self, repository: str, number: int, reason: str = "completed") -> None: ...

    def add_labels(self, repository: str, number: int, labels: Sequence[str]) -> None: ...

    def remove_label(self, repository: str, number: int, label: str) -> None: ...


class Host(CommentHost, PullHost, ReviewHost, CheckHost, GitHost, RunHost, IssueHost, Protocol):
    """All of it."""
