"""The result of publishing, and the comment that reports it in the thread."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contracts.errors import AgentError, PublishError
from bot.contracts.formatting import money, sentence
from bot.contracts.outcome import Outcome, Status, StopReason
from bot.evidence.summary import summarize_checks
from bot.github.errors import GitHubError
from bot.publish.answer import COMMENT_LIMIT, rest_note, run_notes
from bot.publish.body.title_and_footer import Links, footer, title
from bot.publish.context import PublishContext
from bot.publish.text import markdown
from bot.publish.text.filters import safe_answer, safe_code, safe_line
from bot.publish.thread.comments import edit_comments, put_comment, put_result
from bot.publish.thread.markers import ENDED, FINISHED, OVER, PROGRESS


@dataclass(frozen=True, slots=True)
class PublishResult:
    """What there is now. Without a pull request, number 0 and empty texts: a comment tells why.

    `created` is true when this very call opened it. `commit` on a `branch` that is not the bot's own went onto the
    head of the pull request. `suggested` says that the change is a review of suggestions, at `pr_url`, on the pull
    request that is there. `notes` are soft failures, a sentence each. `written` are the writes on threads that were
    made now, `withheld` those that were not, each with why.
    """

    pr_url: str = ""
    pr_number: int = 0
    branch: str = ""
    created: bool = False
    commit: str = ""
    notes: tuple[str, ...] = ()
    suggested: bool = False
    written: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()


DONE = "done"
"""The kind of the mark of the one-line reply in a thread on lines."""

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
        parts.append(markdown.quoted(safe_line(outcome.description.notes, 2000)))
    parts += run_notes(outcome)
    parts.append(footer(outcome, links))
    if outcome.answer.strip() and not trouble:
        if outcome.status is Status.NO_CHANGE:
            parts.insert(-1, "<sub>No file was changed.</sub>")
        else:
            parts.insert(0, "What the model wrote last:")
        limit = COMMENT_LIMIT - 2 * _REASON_LIMIT - sum(len(part) + 2 for part in parts)
        answer = safe_answer(outcome.answer, limit, rest_note(links))
        if outcome.status is Status.NO_CHANGE:
            return "\n\n".join([answer, *parts])
        parts.insert(1, answer)
    reason = trouble or outcome.reason or "The run gave no reason."
    return "\n\n".join([f"**{headline(outcome)}.** {safe_line(sentence(reason), _REASON_LIMIT)}", *parts])


def done_line(outcome: Outcome, links: Links, publish_result: PublishResult) -> str:
    """The one line that a finished progress comment shrinks to."""
    pull = outcome.request.pull
    name = f"#{publish_result.pr_number}"
    if publish_result.suggested:
        result = f"[suggestions on {name}]({publish_result.pr_url})"
    elif pull is not None and publish_result.pr_number == pull.number:
        result = f"a commit on [{name}]({publish_result.pr_url})"
    else:
        result = f"pull request [{name} {safe_line(title(outcome))}]({publish_result.pr_url})"
    run = f" · [run]({links.run})" if links.run else ""
    if outcome.status is Status.PARTIAL:
        why = safe_line(sentence(outcome.reason or "The run ended early."))
        return f"**Not finished:** {result}. {why} {_GO_ON}{run}"
    checks = summarize_checks(outcome).headline
    checks_text = f", {safe_line(checks)}" if checks else ""
    return f"**Done:** {result}{checks_text} · {money(outcome.cost)}{run}"


def pending_line(outcome: Outcome, run_url: str) -> str:
    """What the progress comment says between the end of the run and the publishing of its result: true as well if
    that is cancelled or fails."""
    what = _PENDING.get(outcome.status, "The change is ready and is being published")
    run = f"[the run]({run_url})" if run_url else "the run"
    return f"**{what}.** If no result appears here, publishing failed or was cancelled: see {run}."


def _withheld(outcome: Outcome) -> str:
    rows = [
        f"- {safe_code(file.path)}: {safe_line(file.reason)}" for file in outcome.withheld[:_WITHHELD_SHOWN]
    ]
    more = len(outcome.withheld) - _WITHHELD_SHOWN
    return "\n".join([*rows, *([f"- and {more} more"] if more > 0 else [])])


class ThreadCommentError(PublishError):
    """The comment that is the whole result could not be posted."""


def report_no_change(context: PublishContext) -> tuple[str, ...]:
    """Post the result of a run without a change; returns soft failures. Raises `ThreadCommentError`."""
    context.rules()
    try:
        return _put_result(context, end_text(context.outcome, context.links))
    except GitHubError as error:
        raise ThreadCommentError(f"The comment on how the run ended could not be posted: {error}") from error


def report_failure(context: PublishContext, problem: str, compare_url: str = "") -> str:
    """Post `problem` in the thread; returns it, with a further sentence for what failed besides."""
    try:
        context.rules()
    except AgentError as error:
        problem = f"{problem} {error}"
    try:
        _put_result(context, end_text(context.outcome, context.links, problem, compare_url))
    except GitHubError as error:
        return f"{problem} The comment could not be posted: {error}"
    return problem


def _put_result(context: PublishContext, text: str) -> tuple[str, ...]:
    if context.thread_ref is None:
        return ()
    return put_result(context.github, context.thread_ref, ENDED, text, headline(context.outcome))


def report_change(context: PublishContext, result: PublishResult) -> tuple[str, ...]:
    """Shrink the progress comment to one line that links to the result; returns soft failures. A commit on the pull
    request itself has a comment of its own."""
    thread_ref, pull = context.thread_ref, context.request.pull
    if not result.pr_number or thread_ref is None:
        return ()
    if pull is not None and result.pr_number == pull.number and not result.suggested:
        return ()
    line = done_line(context.outcome, context.links, result)
    notes: tuple[str, ...] = ()
    try:
        if thread_ref.lines:
            put_comment(context.github, thread_ref, DONE, line)
    except GitHubError as error:
        notes = (f"The reply in the line thread could not be posted: {error}",)
    try:
        # A result of an earlier try that failed is true no longer.
        state = OVER if context.outcome.status is Status.PARTIAL else FINISHED
        edit_comments(context.github, thread_ref, {PROGRESS: line, ENDED: line}, state)
    except GitHubError as error:
        return (*notes, f"The progress comment could not be finished: {error}")
    return notes
