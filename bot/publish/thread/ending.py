"""Tells the thread how publishing ended: that there is a result, that there is none, or why it failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bot.contracts.errors import AgentError, PublishError
from bot.contracts.outcome import Outcome, Status
from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.publish.body.footer import Links
from bot.publish.published import Published
from bot.publish.thread.comments import edit_comments, put_comment, put_result
from bot.publish.thread.ended import done_line, end_text, headline
from bot.publish.thread.markers import ENDED, FINISHED, OVER, PROGRESS
from bot.publish.thread.place import Place

DONE = "done"


class ThreadUntoldError(PublishError):
    """The thread is all that was to be told, and it could not be."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The thread that gets to know how it ended. `place` is `None` where nobody asked in one. `know_rules` is called
    before the first text: what else looks like a secret in it."""

    host: Host
    outcome: Outcome
    links: Links
    place: Place | None
    know_rules: Callable[[], object]

    def ended(self) -> tuple[str, ...]:
        """There is no change: what is said in the thread is all that people get, so it must get there."""
        self.know_rules()
        if self.place is None:
            return ()
        try:
            return self._put(self.place, end_text(self.outcome, self.links))
        except GitHubError as error:
            raise ThreadUntoldError(
                f"The comment on how the run ended could not be posted: {error}"
            ) from error

    def failed(self, trouble: str, compare_url: str = "") -> str:
        """`trouble`, told to the thread; with a further sentence for what failed besides."""
        try:
            self.know_rules()
        except AgentError as error:
            trouble = f"{trouble} {error}"
        if self.place is None:
            return trouble
        try:
            self._put(self.place, end_text(self.outcome, self.links, trouble, compare_url))
        except GitHubError as error:
            return f"{trouble} The comment could not be posted: {error}"
        return trouble

    def _put(self, place: Place, text: str) -> tuple[str, ...]:
        return put_result(self.host, place, ENDED, text, headline(self.outcome))

    def published(self, number: int, published: Published) -> tuple[str, ...]:
        """The progress comment shrinks to one line that links to the result. Without a number it was a dry run, of
        which the thread knows already; a commit on the pull request itself has a comment of its own."""
        place = self.place
        if not number or place is None:
            return ()
        pull = self.outcome.request.pull
        if pull is not None and number == pull.number and not published.suggested:
            return ()
        line = done_line(self.outcome, self.links, published)
        notes: tuple[str, ...] = ()
        try:
            if place.lines:
                put_comment(self.host, place, DONE, line)
        except GitHubError as error:
            notes = (f"The reply in the line thread could not be posted: {error}",)
        try:
            # A result of an earlier try that failed is true no longer.
            over = OVER if self.outcome.status is Status.PARTIAL else FINISHED
            edit_comments(self.host, place, {PROGRESS: line, ENDED: line}, over)
        except GitHubError as error:
            return (*notes, f"The progress comment could not be finished: {error}")
        return notes
