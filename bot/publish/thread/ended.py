"""What people are told when a run ended: the result where there is no change, and one line where there is one."""

from __future__ import annotations

from bot.contracts.outcome import Outcome, Status, StopReason
from bot.contracts.wording import money, sentence
from bot.evidence.summary import summarize_checks
from bot.publish.answer import ROOM, notes_of, rest
from bot.publish.body.footer import Links, footer
from bot.publish.body.title import title
from bot.publish.published import Published
from bot.publish.text import markdown
from bot.publish.text.shown import shown_answer, shown_code, shown_line

_HEADLINES = {
    Status.CHANGED: "The change could not be published",
    Status.NO_CHANGE: "No file was changed",
    Status.PARTIAL: "The run ended early, without a change",
    Status.REFUSED: "Refused",
    Status.FAILED: "The run failed",
    Status.NEEDS_INPUT: "The question could not be posted",
    Status.PLANNED: "The plan could not be posted",
    Status.ANSWERED: "The answer could not be posted",
    Status.REVIEWED: "The review could not be posted",
}
_PENDING = {
    Status.NEEDS_INPUT: "The question is ready and is being posted",
    Status.PLANNED: "The plan is ready and is being posted",
    Status.ANSWERED: "The answer is ready and is being posted",
    Status.REVIEWED: "The review is ready and is being posted",
}
_WITHHELD_SHOWN = 20
_REASON_LIMIT = 1_000
_GO_ON = "`/agent continue` goes on from here."


def headline(outcome: Outcome) -> str:
    if outcome.stop_reason is StopReason.GATE and outcome.withheld and not outcome.files:
        return "The change was held back"
    return _HEADLINES.get(outcome.status, "The run ended")


def end_text(outcome: Outcome, links: Links, trouble: str = "", compare_url: str = "") -> str:
    """The result of a run that came to no change, or, with `trouble`, why its change could not be published.

    If the model ended it with an answer, that is the result."""
    parts = []
    if compare_url:
        parts.append(f"The branch is pushed: [open the pull request yourself]({compare_url}).")
    elif trouble and outcome.files:
        parts.append("The patch is kept in the run's artifact as `changes.patch`.")
    if outcome.withheld:
        parts.append("Held back:\n\n" + _withheld(outcome))
        if any(file.in_patch for file in outcome.withheld):
            parts.append(
                "The patch is kept in the run's artifact as `withheld.patch`. A maintainer can apply it by hand."
            )
    if outcome.description.notes and not trouble:
        parts.append(markdown.quoted(shown_line(outcome.description.notes, 2000)))
    parts += notes_of(outcome)
    parts.append(footer(outcome, links))
    if outcome.answer.strip() and not trouble:
        if outcome.status is Status.NO_CHANGE:
            parts.insert(-1, "<sub>No file was changed.</sub>")
        else:
            parts.insert(0, "What the model wrote last:")
        room = ROOM - 2 * _REASON_LIMIT - sum(len(part) + 2 for part in parts)
        answer = shown_answer(outcome.answer, room, rest(links))
        if outcome.status is Status.NO_CHANGE:
            return "\n\n".join([answer, *parts])
        parts.insert(1, answer)
    reason = trouble or outcome.reason or "The run gave no reason."
    return "\n\n".join([f"**{headline(outcome)}.** {shown_line(sentence(reason), _REASON_LIMIT)}", *parts])


def done_line(outcome: Outcome, links: Links, published: Published) -> str:
    """The one line that a finished progress comment shrinks to."""
    pull = outcome.request.pull
    name = f"#{published.pr_number}"
    if published.suggested:
        result = f"[suggestions on {name}]({published.pr_url})"
    elif pull is not None and published.pr_number == pull.number:
        result = f"a commit on [{name}]({published.pr_url})"
    else:
        result = f"pull request [{name} {shown_line(title(outcome))}]({published.pr_url})"
    run = f" · [run]({links.run})" if links.run else ""
    if outcome.status is Status.PARTIAL:
        why = shown_line(sentence(outcome.reason or "The run ended early."))
        return f"**Not finished:** {result}. {why} {_GO_ON}{run}"
    checks = summarize_checks(outcome).headline
    told = f", {shown_line(checks)}" if checks else ""
    return f"**Done:** {result}{told} · {money(outcome.cost)}{run}"


def pending_line(outcome: Outcome, run_url: str) -> str:
    """What the progress comment says between the end of the run and the publishing of its result: true as well if
    that is cancelled or fails."""
    what = _PENDING.get(outcome.status, "The change is ready and is being published")
    run = f"[the run]({run_url})" if run_url else "the run"
    return f"**{what}.** If no result appears here, publishing failed or was cancelled: see {run}."


def _withheld(outcome: Outcome) -> str:
    rows = [
        f"- {shown_code(file.path)}: {shown_line(file.reason)}" for file in outcome.withheld[:_WITHHELD_SHOWN]
    ]
    more = len(outcome.withheld) - _WITHHELD_SHOWN
    return "\n".join([*rows, *([f"- and {more} more"] if more > 0 else [])])
