"""What a bundle says of its review, its parts found to belong together; and the last word to whoever asked."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.contracts.errors import PublishError
from bot.contracts.outcome import Outcome, Status
from bot.contracts.pulls import PullRequest
from bot.contracts.review import Review
from bot.contracts.wording import count_of, money
from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.publish.body.footer import Links
from bot.publish.bundle.read import Bundle
from bot.publish.check_run import CheckReport, report
from bot.publish.remote import Remote
from bot.publish.review.past import CHECK, REVIEWED, Past, still_open, trace_of
from bot.publish.review.text import Report, nothing_text
from bot.publish.thread.comments import edit_comments, put_result
from bot.publish.thread.markers import ENDED, FINISHED, OVER, PROGRESS
from bot.publish.thread.place import Place


@dataclass(frozen=True, slots=True)
class Asked:
    """What the bundle says, its parts found to belong together."""

    outcome: Outcome
    review: Review
    pull: PullRequest
    place: Place | None
    links: Links
    remote: Remote

    @classmethod
    def of(cls, bundle: Bundle, place: Place | None, links: Links, remote: Remote) -> Asked:
        review, pull = bundle.review, bundle.outcome.request.pull
        if review is None:
            raise PublishError("The bundle says that there is a review, and holds none: nothing was posted.")
        if pull is None:
            raise PublishError("The bundle's review is of no pull request: there is nowhere to post it.")
        if review.head_sha != pull.head_sha:
            raise PublishError(
                f"The bundle's review is of {review.head_sha[:12]}, and the head of #{pull.number} was "
                f"{pull.head_sha[:12]}: nothing was posted."
            )
        return cls(bundle.outcome, review, pull, place, links, remote)

    @property
    def repository(self) -> str:
        return self.outcome.request.repository

    @property
    def key(self) -> str:
        return self.place.key if self.place else "none"

    @property
    def finished(self) -> bool:
        return self.outcome.status is not Status.PARTIAL

    @property
    def notes(self) -> tuple[str, ...]:
        if self.finished:
            return ()
        return (f"This review is not finished. {self.outcome.reason}",)

    @property
    def web(self) -> str:
        return self.remote.url.removesuffix("/").removesuffix(".git")

    def finish(self, host: Host, findings: int, url: str) -> tuple[str, ...]:
        """The last word of the comments that speak of this run, where there are some."""
        if self.place is None:
            return ()
        run = f" · [run]({self.links.run})" if self.links.run else ""
        line = f"**Reviewed:** [{count_of(findings, 'finding')}]({url}) · {money(self.outcome.cost)}{run}"
        try:
            # A result of an earlier try that failed is true no longer.
            edit_comments(host, self.place, {PROGRESS: line, ENDED: line}, FINISHED)
        except GitHubError as error:
            return (f"The progress comment could not be finished: {error}",)
        return ()

    def tell_nothing(self, host: Host, report: Report, past: Past) -> tuple[str, ...]:
        """Once: in the progress comment, else in one of its own. If nobody asked, a check run has to do."""
        if self.place is None:
            return self._leave_trace(host)
        fields = {**OVER, **({REVIEWED: self.review.head_sha} if self.finished else {})}
        talk = replace(self.place, lines=0)
        try:
            left = still_open(host, self.repository, self.pull.number, past)
            text = nothing_text(report, left, len(past.on_lines), f"{self.web}/pull/{self.pull.number}")
            trigger = self.outcome.request.trigger
            if trigger is not None and trigger.comment_id:
                return put_result(host, talk, ENDED, text, "Reviewed", fields)
            if edit_comments(host, talk, {PROGRESS: text, ENDED: text}, fields):
                return ()
            return self._leave_trace(host)
        except GitHubError as error:
            raise PublishError(
                f"The comment that there are no new findings could not be posted: {error}"
            ) from error

    def _leave_trace(self, host: Host) -> tuple[str, ...]:
        """So that the next review begins where this one ended. Not every token may, and none need."""
        number, head = self.pull.number, self.review.head_sha
        if not self.finished:
            return ()
        said = "The next review looks only at what is new since this commit."
        one = CheckReport(CHECK, head, "No new findings", said, key=trace_of(number, head))
        return report(host, self.repository, one)
