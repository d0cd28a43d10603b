"""What people are told when a run ended: the end comment where no pull request tells them, and the last line
of the progress comment."""

from __future__ import annotations

from bot.contracts.outcome import Outcome, Status
from bot.contracts.wording import sentence
from bot.github.host import Host
from bot.publish.body.footer import Links, figures, footer
from bot.publish.text import markdown
from bot.publish.text.shown import shown_code, shown_line
from bot.publish.thread.comments import edit_comments, put_comment
from bot.publish.thread.markers import ENDED, PROGRESS
from bot.publish.thread.place import Place
from bot.publish.thread.progress import OVER, ProgressState

_HEADLINES = {
    Status.CHANGED: "The change could not be published",
    Status.NO_CHANGE: "Nothing was changed",
    Status.PARTIAL: "The run ended early, without a change",
    Status.REFUSED: "Refused",
    Status.FAILED: "The run failed",
    Status.NEEDS_INPUT: "An answer is needed",
    Status.PLANNED: "A plan is made",
    Status.ANSWERED: "Answered",
    Status.REVIEWED: "Reviewed",
}
DONE = "done"
_WITHHELD_SHOWN = 20
_GO_ON = "The command /agent continue goes on from here."


def headline(outcome: Outcome) -> str:
    return _HEADLINES.get(outcome.status, "The run ended")


def end_text(outcome: Outcome, links: Links, trouble: str = "", compare_url: str = "") -> str:
    """The end comment. `trouble` is why a change that there is could not be published."""
    reason = trouble or outcome.reason or "The run gave no reason."
    parts = [f"**{headline(outcome)}.** {shown_line(sentence(reason), 1000)}"]
    if compare_url:
        parts.append(f"The branch is pushed: [open the pull request yourself]({compare_url}).")
    elif trouble and outcome.files:
        parts.append("The patch is kept in the run's artifact as `changes.patch`.")
    if outcome.withheld:
        parts.append("Held back by the gate:\n\n" + _withheld(outcome))
    if outcome.description.notes and not trouble:
        parts.append(markdown.quoted(shown_line(outcome.description.notes, 2000)))
    parts.append(footer(outcome, links))
    return "\n\n".join(parts)


def tell_end(
    host: Host, place: Place, outcome: Outcome, links: Links, trouble: str = "", compare_url: str = ""
) -> None:
    """Write the end comment, once for a request; a later end of the same request edits it."""
    put_comment(host, place, ENDED, end_text(outcome, links, trouble, compare_url))


def tell_published(host: Host, place: Place, state: ProgressState, pull_number: int) -> None:
    """Finish the progress comment; an end comment of an earlier try that failed is true no longer."""
    after_all = f"**Published after all:** pull request #{pull_number}."
    edit_comments(host, place, {PROGRESS: state.text(), ENDED: after_all}, OVER)


def tell_on_lines(host: Host, place: Place, state: ProgressState) -> None:
    """Say in the thread on lines of a diff, where it was asked, what came of it: the progress comment stands
    elsewhere."""
    put_comment(host, place, DONE, state.text())


def final_state(
    outcome: Outcome, links: Links, *, pull_number: int = 0, suggested: bool = False, trouble: str = ""
) -> ProgressState:
    """What the progress comment says for good."""
    lines = (figures(outcome),)
    if pull_number:
        what = f"{'suggestions on ' if suggested else ''}pull request #{pull_number}"
        if outcome.status is Status.PARTIAL:
            reason = outcome.reason or "The run ended early."
            return ProgressState(f"Not finished: {what}", (reason, _GO_ON, *lines), links.run)
        return ProgressState(f"Done: {what}", lines, links.run)
    reason = trouble or outcome.reason
    return ProgressState(headline(outcome), (*((reason,) if reason else ()), *lines), links.run)


def _withheld(outcome: Outcome) -> str:
    rows = [
        f"- {shown_code(file.path)}: {shown_line(file.reason)}" for file in outcome.withheld[:_WITHHELD_SHOWN]
    ]
    more = len(outcome.withheld) - _WITHHELD_SHOWN
    return "\n".join([*rows, *([f"- and {more} more"] if more > 0 else [])])
