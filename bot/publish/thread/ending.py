"""Tells the thread how publishing ended: that there is a result, that there is none, or why it failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bot.contracts.errors import AgentError, PublishError
from bot.contracts.outcome import Outcome
from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.publish.body.footer import Links
from bot.publish.published import Published
from bot.publish.thread.ended import final_state, tell_end, tell_on_lines, tell_published
from bot.publish.thread.place import Place
from bot.publish.thread.progress import ProgressState, finish_progress


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
        """There is no change: the end comment is all that people get, so it must get there."""
        self.know_rules()
        if self.place is None:
            return ()
        try:
            tell_end(self.host, self.place, self.outcome, self.links)
        except GitHubError as error:
            raise ThreadUntoldError(f"The thread could not be told how the run ended: {error}") from error
        return self._finish(final_state(self.outcome, self.links))

    def failed(self, trouble: str, compare_url: str = "") -> str:
        """`trouble`, told to the thread; with a further sentence for what failed besides."""
        try:
            self.know_rules()
        except AgentError as error:
            trouble = f"{trouble} {error}"
        if self.place is None:
            return trouble
        try:
            tell_end(self.host, self.place, self.outcome, self.links, trouble, compare_url)
        except GitHubError as error:
            return f"{trouble} The thread could not be told: {error}"
        self._finish(final_state(self.outcome, self.links, trouble=trouble))
        return trouble

    def published(self, number: int, published: Published) -> tuple[str, ...]:
        """Without a number it was a dry run, of which the thread knows already."""
        if not number or self.place is None:
            return ()
        state = final_state(self.outcome, self.links, pull_number=number, suggested=published.suggested)
        pull = self.outcome.request.pull
        pushed = pull is not None and number == pull.number and not published.suggested
        try:
            if self.place.lines and not pushed:
                tell_on_lines(self.host, self.place, state)
        except GitHubError as error:
            return (f"The thread on the lines could not be told: {error}", *self._finish(state, number))
        return self._finish(state, number)

    def _finish(self, state: ProgressState, pull_number: int = 0) -> tuple[str, ...]:
        if self.place is None:
            return ()
        try:
            if pull_number:
                tell_published(self.host, self.place, state, pull_number)
            else:
                finish_progress(self.host, self.place, state)
        except GitHubError as error:
            return (f"The progress comment could not be finished: {error}",)
        return ()
