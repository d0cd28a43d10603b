"""Create issues and comments, and change labels and assignees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from slash_forge import attachments, pulls, threads, webhooks
from slash_forge.operations.labels import label_named
from slash_forge.scenario.base import Base
from slash_forge.timeline import set_assignees, set_labels


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
            issue = threads.begin(self._state, repository, self._user(login), title=title, body=body, at=at)
            named = [repository.labels[name.casefold()] for name in labels]
            set_labels(self._state, issue, named, self._user(login))
            return issue.number

    def attach(self, repo: str, login: str, data: bytes, content_type: str = "image/png") -> str:
        """Upload a picture as the web page does. Returns the address for the Markdown."""
        with self._state.lock:
            path = attachments.upload(
                self._state, self._repository(repo), self._user(login), data, content_type
            )
            return f"{self.url}{path}"

    def attach_file(self, repo: str, login: str, name: str, data: bytes) -> str:
        """Upload a file that is no picture. Returns the address for the Markdown."""
        with self._state.lock:
            path = attachments.upload_file(self._state, self._repository(repo), self._user(login), name, data)
            return f"{self.url}{path}"

    def label(self, repo: str, number: int, login: str, *names: str) -> None:
        """Add labels; the repository gets those it does not have."""
        with self._state.lock:
            repository, actor = self._repository(repo), self._user(login)
            issue = repository.threads[number]
            added = [label_named(self._state, repository, name) for name in names]
            remaining = [one for one in issue.labels if one not in added]
            set_labels(self._state, issue, [*remaining, *added], actor)

    def assign(self, repo: str, number: int, login: str, *assignees: str) -> None:
        """`login` assigns these people, and nobody else stays assigned."""
        with self._state.lock:
            issue = self._repository(repo).threads[number]
            users = [self._user(name) for name in assignees]
            set_assignees(self._state, issue, users, self._user(login))

    def comment(
        self, repo: str, number: int, login: str, body: str, *, at: str | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Comment on a thread. Returns the comment's id and the event that GitHub would send."""
        with self._state.lock:
            repository = self._repository(repo)
            issue = repository.threads[number]
            comment = threads.add_comment(self._state, repository, issue, self._user(login), body=body, at=at)
            event = webhooks.issue_comment(self._server.site, repository, issue, comment, "created")
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
    ) -> None:
        """Close, reopen, lock or unlock, as a maintainer would."""
        with self._state.lock:
            issue = self._repository(repo).threads[number]
            if state == "closed":
                pulls.close(self._state, issue, self._repository(repo).owner)
            elif state == "open":
                issue.state, issue.closed_at, issue.closed_by = "open", None, None
            issue.locked = issue.locked if locked is None else locked
