"""Build the event payloads that GitHub would deliver for the current state; changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from slash_forge import webhooks
from slash_forge.scenario.base import Base
from slash_forge.state import Label, Repository, User

Event = dict[str, Any]


class Events(Base):
    """The default `sender` is the author of the thread or comment."""

    def issue_comment_event(
        self, repo: str, comment_id: int, action: Literal["created", "edited", "deleted"] = "created"
    ) -> Event:
        """The payload of `issue_comment`."""
        with self._state.lock:
            issue, comment = self._comment(repo, comment_id)
            return webhooks.issue_comment(self._server.site, self._repository(repo), issue, comment, action)

    def issues_event(
        self,
        repo: str,
        number: int,
        action: str = "opened",
        *,
        sender: str | None = None,
        label: str | None = None,
        assignee: str | None = None,
    ) -> Event:
        """The payload of `issues`; `label` or `assignee` is what a labeled or assigned one is about."""
        with self._state.lock:
            repository = self._repository(repo)
            issue = repository.threads[number]
            return webhooks.issues(
                self._server.site,
                repository,
                issue,
                action,
                self._sender(sender, issue.author),
                label=self._label(repository, label),
                assignee=self._user(assignee) if assignee else None,
            )

    def pull_request_event(
        self,
        repo: str,
        number: int,
        action: str = "opened",
        *,
        sender: str | None = None,
        label: str | None = None,
        assignee: str | None = None,
        before: str = "",
    ) -> Event:
        """The payload of `pull_request` and of `pull_request_target`; `before` is for synchronize."""
        with self._state.lock:
            repository, issue, pull = self._pull(repo, number)
            return webhooks.pull_request(
                self._server.site,
                repository,
                issue,
                pull,
                action=action,
                sender=self._sender(sender, issue.author),
                label=self._label(repository, label),
                assignee=self._user(assignee) if assignee else None,
                before=before,
            )

    def review_event(
        self,
        repo: str,
        number: int,
        review_id: int,
        action: Literal["submitted", "edited", "dismissed"] = "submitted",
    ) -> Event:
        """The payload of `pull_request_review`."""
        with self._state.lock:
            repository, issue, pull = self._pull(repo, number)
            (review,) = (one for one in pull.reviews if one.id == review_id)
            return webhooks.review(self._server.site, repository, issue, pull, review, action=action)

    def review_comment_event(
        self, repo: str, comment_id: int, action: Literal["created", "edited", "deleted"] = "created"
    ) -> Event:
        """The payload of `pull_request_review_comment`."""
        with self._state.lock:
            repository = self._repository(repo)
            match = repository.review_comments[comment_id]
            return webhooks.review_comment(self._server.site, repository, *match, action=action)

    def workflow_dispatch_event(
        self,
        repo: str,
        login: str,
        inputs: Mapping[str, Any] | None = None,
    ) -> Event:
        with self._state.lock:
            repository = self._repository(repo)
            ref = f"refs/heads/{repository.default_branch}"
            workflow = ".github/workflows/agent.yml"
            return webhooks.workflow_dispatch(
                self._server.site, repository, self._user(login), workflow, ref=ref, inputs=inputs
            )

    def repository_dispatch_event(
        self, repo: str, login: str, event_type: str, client_payload: Mapping[str, Any] | None = None
    ) -> Event:
        with self._state.lock:
            return webhooks.repository_dispatch(
                self._server.site, self._repository(repo), self._user(login), event_type, client_payload or {}
            )

    def schedule_event(self, repo: str) -> Event:
        with self._state.lock:
            repository = self._repository(repo)
            return webhooks.schedule(
                self._server.site, repository, "17 4 * * 1", ".github/workflows/maintenance.yml"
            )

    def workflow_run_event(self, repo: str, run_id: int) -> Event:
        with self._state.lock:
            repository = self._repository(repo)
            return webhooks.workflow_run(self._server.site, repository, repository.runs[run_id], "completed")

    def push_event(
        self, repo: str, login: str, *, branch: str | None = None, before: str, after: str | None = None
    ) -> Event:
        """The payload of `push`: from `before` to `after` (the branch's tip), zeros for neither there."""
        with self._state.lock:
            repository = self._repository(repo)
            name = branch or repository.default_branch
            tip = after or repository.git.branch(name) or "0" * 40
            return webhooks.push(
                self._state,
                self._server.site,
                repository,
                self._user(login),
                ref=f"refs/heads/{name}",
                before=before,
                after=tip,
            )

    def _sender(self, login: str | None, author: User | None) -> User | None:
        return self._user(login) if login else author

    def _label(self, repository: Repository, name: str | None) -> Label | None:
        return repository.labels[name.casefold()] if name else None
