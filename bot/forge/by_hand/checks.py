"""Check runs and statuses as other services put them on commits."""

from __future__ import annotations

from collections.abc import Sequence

from bot.forge import checks
from bot.forge.by_hand.people import People
from bot.forge.checks import Annotation, CheckRun, Conclusion


class Checks(People):
    def add_check_run(
        self,
        repo: str,
        sha: str,
        name: str,
        conclusion: Conclusion | None = "failure",
        *,
        app: str = "some-ci[bot]",
        title: str | None = None,
        summary: str | None = None,
        text: str | None = None,
        details_url: str | None = None,
        annotations: Sequence[Annotation] = (),
        at: str | None = None,
    ) -> int:
        """By another app's bot, which is added where it is new. Without a conclusion it still runs."""
        with self._state.lock:
            self.add_user(app, kind="Bot")
            repository = self._repository(repo)
            when = at or self._state.now()
            run = CheckRun(
                self._state.next_id(),
                checks.suite(self._state, repository, sha, self._user(app)),
                name,
                "completed" if conclusion else "in_progress",
                conclusion,
                when,
                when if conclusion else None,
                title,
                summary,
                text,
                details_url,
                annotations=list(annotations),
            )
            repository.check_runs[run.id] = run
            return run.id

    def add_status(
        self,
        repo: str,
        sha: str,
        context: str,
        state: str,
        *,
        login: str = "some-ci[bot]",
        description: str | None = None,
        target_url: str | None = None,
    ) -> None:
        """`state`: error, failure, pending or success."""
        with self._state.lock:
            self.add_user(login, kind="Bot" if login.endswith("[bot]") else "User")
            now = self._state.now()
            number = self._state.next_id()
            self._repository(repo).statuses.append(
                checks.Status(number, sha, context, state, description, target_url, self._user(login), now)
            )
