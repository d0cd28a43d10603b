"""Create and change issues, comments, pull requests and reviews as people do in the web interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from slash_forge import attachments, pulls, reviews, threads, webhooks
from slash_forge.diffs import Side
from slash_forge.operations.labels import ensure_label
from slash_forge.reviews import AnchorRequest, Draft, ReviewComment, resolve_anchor
from slash_forge.scenario.base import Base
from slash_forge.state import Issue, Pull, Repository


class Threads(Base):
    def create_issue(
        self,
        repo: str,
        login: str,
        title: str,
        body: str | None = None,
        *,
        labels: Sequence[str] = (),
        at: str | None = None,
    ) -> int:
        """Returns the number. `at` is its time of writing (RFC 3339, UTC), now without one."""
        with self._state.lock:
            repository = self._repository(repo)
            issue = threads.create(self._state, repository, self._user(login), title=title, body=body, at=at)
            issue.labels = [repository.labels[name.casefold()] for name in labels]
            return issue.number

    def attach(self, repo: str, login: str, data: bytes) -> str:
        """Upload a picture as the web page does. Returns the address for the Markdown."""
        with self._state.lock:
            path = attachments.upload(
                self._state, self._repository(repo), self._user(login), data, "image/png"
            )
            return f"{self.url}{path}"

    def attach_file(self, repo: str, login: str, name: str, data: bytes) -> str:
        """Upload a file that is no picture. Returns the address for the Markdown."""
        with self._state.lock:
            path = attachments.upload_file(self._state, self._repository(repo), self._user(login), name, data)
            return f"{self.url}{path}"

    def label(self, repo: str, number: int, *names: str) -> None:
        """Add labels; the repository gets those it does not have."""
        with self._state.lock:
            repository = self._repository(repo)
            issue = repository.threads[number]
            added = [ensure_label(self._state, repository, name) for name in names]
            remaining = [one for one in issue.labels if one not in added]
            issue.labels = [*remaining, *added]

    def comment(
        self, repo: str, number: int, login: str, body: str, *, at: str | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Comment on a thread. Returns the comment's id and the event that GitHub would send."""
        with self._state.lock:
            repository = self._repository(repo)
            issue = repository.threads[number]
            comment = threads.add_comment(self._state, repository, issue, self._user(login), body=body, at=at)
            event = webhooks.issue_comment(self._server.site, repository, issue, comment)
            return comment.id, event

    def edit_comment(self, repo: str, comment_id: int, body: str, *, at: str | None = None) -> None:
        with self._state.lock:
            _, comment = self._comment(repo, comment_id)
            comment.body = body
            comment.updated_at = at or self._state.now()

    def delete_comment(self, repo: str, comment_id: int) -> None:
        with self._state.lock:
            threads.remove_comment(self._repository(repo), self._comment(repo, comment_id)[1])

    def set_thread(
        self,
        repo: str,
        number: int,
        *,
        state: Literal["open", "closed"] | None = None,
        locked: bool | None = None,
        body: str | None = None,
    ) -> None:
        """Close, reopen, lock, unlock or edit, as a maintainer would."""
        with self._state.lock:
            issue = self._repository(repo).threads[number]
            if state == "closed":
                pulls.close(self._state, issue)
            elif state == "open":
                issue.state, issue.closed_at, issue.closed_by = "open", None, None
            issue.locked = issue.locked if locked is None else locked
            issue.body = issue.body if body is None else body


class Pulls(Base):
    def open_pull(
        self,
        repo: str,
        login: str,
        head: str,
        *,
        base: str | None = None,
        title: str = "A change",
        body: str | None = None,
        draft: bool = False,
        maintainer_can_modify: bool = True,
        at: str | None = None,
    ) -> int:
        """Open one as `login`; `head` is a branch, or `owner:branch` of a fork. Returns its number."""
        with self._state.lock:
            repository = self._repository(repo)
            source, head_ref = pulls.find_head(self._state, repository, head)
            if source is None:
                raise KeyError(head)
            issue = pulls.open_pull(
                self._state,
                repository,
                source,
                head_ref,
                base or repository.default_branch,
                author=self._user(login),
                title=title,
                body=body,
                draft=draft,
                maintainer_can_modify=maintainer_can_modify,
                at=at,
            )
            return issue.number

    def set_pull(
        self,
        repo: str,
        number: int,
        *,
        draft: bool | None = None,
        maintainer_can_modify: bool | None = None,
        queued: bool = False,
        computing: int = 0,
    ) -> None:
        """Turn it into a draft or make it ready, and let maintainers push to its head or not; put it into the merge
        queue; let so many queries find that GitHub does not know yet whether it can be merged."""
        with self._state.lock:
            _, _, pull = self._pull(repo, number)
            pull.draft = pull.draft if draft is None else draft
            pull.queued, pull.computing = queued, computing
            if maintainer_can_modify is not None:
                pull.maintainer_can_modify = maintainer_can_modify

    def merge(self, repo: str, number: int, login: str, method: Literal["merge", "squash"] = "merge") -> str:
        """Merge a pull request. Returns the id of the commit that did. A conflict is a `ValueError`."""
        with self._state.lock:
            repository, issue, pull = self._pull(repo, number)
            return pulls.merge(self._state, repository, issue, pull, self._user(login), method=method)


class Reviews(Base):
    """A place that is not in the diff is an `Unanchored`."""

    def review(
        self,
        repo: str,
        number: int,
        login: str,
        body: str = "",
        *,
        state: str = "COMMENTED",
        comments: Sequence[Mapping[str, Any]] = (),
        at: str | None = None,
    ) -> int:
        """Review a pull request. Each of `comments` has the fields of `AnchorRequest`.

        `state`: APPROVED, CHANGES_REQUESTED, COMMENTED or PENDING. Returns the review's id.
        """
        with self._state.lock:
            repository, issue, pull = self._pull(repo, number)
            drafts = [_draft(repository, pull, AnchorRequest(**comment)) for comment in comments]
            author = self._user(login)
            review = reviews.add_review(
                self._state, pull, author, body=body, verdict=state, commit=pull.head_sha, at=at
            )
            for draft in drafts:
                reviews.add_thread(self._state, repository, issue, pull, review, draft=draft)
            return review.id

    def review_comment(
        self,
        repo: str,
        number: int,
        login: str,
        path: str,
        line: int | None,
        *,
        body: str,
        side: Side = "RIGHT",
        start_line: int | None = None,
        at: str | None = None,
    ) -> int:
        """Begin a thread on a line of the diff; `line` None is the whole file. Returns the comment's id."""
        requested = AnchorRequest(path, body, line, side, start_line, whole_file=line is None)
        with self._state.lock:
            repository, issue, pull = self._pull(repo, number)
            draft = _draft(repository, pull, requested)
            author = self._user(login)
            review = reviews.add_review(
                self._state, pull, author, body="", verdict="COMMENTED", commit=pull.head_sha, at=at
            )
            return reviews.add_thread(self._state, repository, issue, pull, review, draft=draft).id

    def reply(self, repo: str, comment_id: int, login: str, body: str, *, at: str | None = None) -> int:
        """Answer in the thread of any of its comments. Returns the new comment's id."""
        with self._state.lock:
            repository, issue, pull, comment = self._review_comment(repo, comment_id)
            author = self._user(login)
            review = reviews.add_review(
                self._state, pull, author, body="", verdict="COMMENTED", commit=pull.head_sha, at=at
            )
            thread = comment.thread
            return reviews.add_comment(
                self._state, repository, issue, pull, review, thread=thread, body=body
            ).id

    def edit_review_comment(self, repo: str, comment_id: int, body: str, *, at: str | None = None) -> None:
        with self._state.lock:
            *_, comment = self._review_comment(repo, comment_id)
            comment.body, comment.updated_at = body, at or self._state.now()

    def delete_review_comment(self, repo: str, comment_id: int) -> None:
        with self._state.lock:
            repository, _, _, comment = self._review_comment(repo, comment_id)
            reviews.remove_comment(repository, comment)

    def resolve(self, repo: str, comment_id: int, login: str) -> None:
        """Resolve the thread of this comment."""
        with self._state.lock:
            *_, comment = self._review_comment(repo, comment_id)
            comment.thread.resolved = True
            comment.thread.resolved_by = self._user(login)

    def is_resolved(self, repo: str, comment_id: int) -> bool:
        """Whether the thread of this comment is resolved."""
        *_, comment = self._review_comment(repo, comment_id)
        return comment.thread.resolved

    def _review_comment(self, repo: str, comment_id: int) -> tuple[Repository, Issue, Pull, ReviewComment]:
        repository = self._repository(repo)
        return repository, *repository.review_comments[comment_id]


def _draft(repository: Repository, pull: Pull, requested: AnchorRequest) -> Draft:
    base = reviews.base_of(repository, pull, pull.head_sha)
    return resolve_anchor(repository.git, base, pull.head_sha, requested)
