"""Build the event payloads that GitHub would deliver for the current state; changes nothing."""

from __future__ import annotations

from typing import Any

from slash_forge import webhooks
from slash_forge.scenario.base import Base

Event = dict[str, Any]


class Events(Base):
    def pull_request_event(
        self, repo: str, number: int, action: str = "opened", *, sender: str | None = None, before: str = ""
    ) -> Event:
        """The payload of `pull_request` and `pull_request_target`. `before` is for synchronize; the default
        `sender` is the author."""
        with self._state.lock:
            by = self._user(sender) if sender else None
            return webhooks.pull_request(
                self._server.site, *self._pull(repo, number), action=action, sender=by, before=before
            )

    def review_comment_event(self, repo: str, comment_id: int) -> Event:
        """The payload of `pull_request_review_comment`, by the comment's author."""
        with self._state.lock:
            repository = self._repository(repo)
            return webhooks.review_comment(
                self._server.site, repository, *repository.review_comments[comment_id]
            )

    def schedule_event(self, repo: str) -> Event:
        with self._state.lock:
            return webhooks.schedule(
                self._server.site, self._repository(repo), "17 4 * * 1", ".github/workflows/maintenance.yml"
            )

    def workflow_run_event(self, repo: str, run_id: int) -> Event:
        with self._state.lock:
            repository = self._repository(repo)
            return webhooks.workflow_run(self._server.site, repository, repository.runs[run_id])
