"""The result of publishing, and the comment with it in the thread: an answer, a question, a failure, or a link."""

from functools import partial
from itertools import takewhile
from typing import NamedTuple

from bot.contracts.errors import PublishError
from bot.contracts.formatting import money, sentence
from bot.contracts.outcome import Outcome, Status, StopReason
from bot.evidence.summary import summarize_checks
from bot.github.errors import GitHubError
from bot.publish import markdown
from bot.publish.body.order_and_footer import Links, footer
from bot.publish.context import PublishContext
from bot.publish.macros import macros_of
from bot.publish.markdown import run_link, safe_answer, safe_line, safe_markdown
from bot.publish.thread.markers import ANSWER, ENDED, FINISHED, OVER
from bot.publish.title import title


class PublishResult(NamedTuple):
    """What was published. Without a pull request the number is 0, the texts are empty, and a comment has the reason.

    `created`: this call opened the pull request. `ended` is `merged` or `closed` if the bundle was published before and
    its pull request is not open any more. `commit` on a `branch` that is not the bot's own was pushed to the
    head of the pull request. `suggested`: the change is a review of suggestions, at `pr_url`, on an existing pull
    request. `notes` are soft failures, a sentence each. `written` are the writes on threads that this call made,
    `withheld` those that it did not make, each with the reason.
    """

    pr_url: str = ""
    pr_number: int = 0
    branch: str = ""
    created: bool = False
    commit: str = ""
    notes: tuple[str, ...] = ()
    suggested: bool = False
    ended: str = ""
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
}
_REPLIES = {
    Status.NEEDS_INPUT: "question",
    Status.PLANNED: "plan",
    Status.ANSWERED: "answer",
    Status.REVIEWED: "review",
}
_REASON_LIMIT = 1_000


def headline(outcome: Outcome) -> str:
    if outcome.stop_reason is StopReason.GATE and outcome.withheld and not outcome.files:
        return "The change was held back"
    if outcome.status in _REPLIES:
        return f"The {_REPLIES[outcome.status]} could not be posted"
    return _HEADLINES[outcome.status]


def end_text(outcome: Outcome, links: Links, trouble: str = "", compare: str = "", heading: str = "") -> str:
    """Return the comment on a run without a change, with its last answer, or on `trouble` with publishing."""
    reason = safe_line(sentence(trouble or outcome.reason or "The run gave no reason."), _REASON_LIMIT)
    head, notes = f"**{heading or headline(outcome)}.** {reason}", run_notes(outcome)
    fill = partial(macros_of("no_change").end, outcome, compare, trouble, head, notes, footer(outcome, links))
    answer = ""
    if outcome.answer.strip() and not trouble:
        limit = COMMENT_LIMIT - _REASON_LIMIT - len(fill(""))
        answer = safe_answer(outcome.answer, limit, rest_note(links))
    return str(fill(answer)).strip("\n")


def done_line(outcome: Outcome, links: Links, publish_result: PublishResult) -> str:
    """Return the line that replaces a finished progress comment."""
    name = f"#{publish_result.pr_number}"
    result = f"pull request [{name} {safe_line(title(outcome))}]({publish_result.pr_url})"
    if publish_result.suggested:
        result = f"[suggestions on {name}]({publish_result.pr_url})"
    if outcome.status is Status.PARTIAL:
        why = safe_line(sentence(outcome.reason or "The run ended early."))
        return (
            f"**Not finished:** {result}. {why} `/agent continue` continues from here.{run_link(links.run)}"
        )
    checks = summarize_checks(outcome).headline
    checks_text = f", {safe_line(checks)}" if checks else ""
    return f"**Done:** {result}{checks_text} · {money(outcome.cost)}{run_link(links.run)}"


def pending_line(outcome: Outcome, run_url: str) -> str:
    """Return the progress comment until the result is published. It stays correct if that fails."""
    reply = _REPLIES.get(outcome.status)
    what = f"{reply} is ready and is being posted" if reply else "change is ready and is being published"
    run = f"[the run]({run_url})" if run_url else "the run"
    return f"**The {what}.** If no result appears here, publishing failed or was cancelled: see {run}."


class CancelledAfterPublishing(KeyboardInterrupt):
    """Publishing was cancelled after the change was published."""

    def __init__(self, result: PublishResult) -> None:
        super().__init__()
        self.result = result


class ThreadCommentError(PublishError):
    """The comment that is the whole result could not be posted."""


def report_no_change(context: PublishContext) -> None:
    """Post the result of a run without a change. Raises `ThreadCommentError`."""
    try:
        _put_result(context, end_text(context.outcome, context.links))
    except GitHubError as error:
        raise ThreadCommentError(f"The comment on how the run ended could not be posted: {error}") from error


def report_failure(context: PublishContext, problem: str, compare_url: str = "", heading: str = "") -> str:
    """Post `problem`, unless the thread has the result; return it, with a sentence about further failures."""
    text = end_text(context.outcome, context.links, problem, compare_url, heading)
    try:
        _put_result(context, text, if_open=True)
    except GitHubError as error:
        return f"{problem} The comment could not be posted: {error}"
    return problem


def _put_result(context: PublishContext, text: str, *, if_open: bool = False) -> None:
    # A round is reported in the comment on all rounds.
    if (thread_ref := context.thread_ref) is not None and not context.request.round:
        heading = headline(context.outcome)
        context.failures.extend(thread_ref.put_result(ENDED, text, heading, if_open=if_open))


def report_change(context: PublishContext, result: PublishResult) -> None:
    """Replace the progress comment by a link to the result. A commit on the pull request has a comment of its own."""
    thread_ref, pull = context.thread_ref, context.request.pull
    if not result.pr_number or thread_ref is None:
        return
    if pull is not None and result.pr_number == pull.number and not result.suggested:
        return
    line = done_line(context.outcome, context.links, result)
    if thread_ref.lines:
        with context.tolerating("The reply in the line thread could not be posted"):
            thread_ref.put(DONE, line)
    with context.tolerating("The progress comment could not be finished"):
        state = FINISHED if context.finished else OVER
        thread_ref.edit(line, state)


COMMENT_LIMIT = 64_000
"""Characters of a comment without its mark, below GitHub's limit of 65,536."""
_QUESTION_LIMIT = 4_000
_QUESTION_HEAD = "**A question before this goes on:**"
_NOTE_LIMIT = 500


def publish_answer(context: PublishContext) -> None:
    """Post the answer or question if the request came from a thread, once. Raises `PublishError` and `GitHubError`."""
    thread_ref, outcome = context.thread_ref, context.outcome
    text = answer_text(outcome, context.links, on_lines=bool(thread_ref and thread_ref.lines))
    if thread_ref is None:
        context.say(f"the answer, which is posted nowhere, since nobody asked in a thread:\n{text}")
        return
    headline = "A question about this is" if outcome.status is Status.NEEDS_INPUT else "Answered"
    context.failures.extend(thread_ref.put_result(ANSWER, text, headline, {"result": "done"}))


def answer_text(outcome: Outcome, links: Links, *, on_lines: bool = False) -> str:
    """Return the comment without its mark, `on_lines` folded after its first paragraph. Raises `PublishError`."""
    tail, is_question = [*run_notes(outcome), footer(outcome, links)], outcome.status is Status.NEEDS_INPUT
    if not (outcome.question if is_question else outcome.answer).strip():
        what = "question" if is_question else "answer"
        raise PublishError(f"The bundle says that it has {what} to post, and holds none: nothing was posted.")
    if is_question:
        question = safe_markdown(outcome.question, _QUESTION_LIMIT)
        how = "Answer with `/agent continue` and your answer: the run continues from where it stopped."
        return "\n\n".join([_QUESTION_HEAD, markdown.quoted(question), how, *tail])
    limit = COMMENT_LIMIT - sum(len(part) + 2 for part in tail)
    answer = safe_answer(outcome.answer, limit, rest_note(links))
    return "\n\n".join([markdown.folded(answer) if on_lines else answer, *tail])


def posted_question(comment: str) -> str:
    """Return the question in a comment of `answer_text`; empty if there is none."""
    head, _, remainder = comment.replace("\r\n", "\n").partition("\n\n")
    if head != _QUESTION_HEAD:
        return ""
    quote = takewhile(lambda line: line.startswith(">"), remainder.split("\n"))
    return "\n".join(line.removeprefix(">").removeprefix(" ") for line in quote)


def run_notes(outcome: Outcome) -> list[str]:
    """Return the notes on a run that accompany its result."""
    thread = outcome.request.thread
    hidden = [thread.hidden] if thread and thread.hidden else []
    return [safe_line(note, _NOTE_LIMIT) for note in (*outcome.notes, *hidden)]


def rest_note(links: Links) -> str:
    """Return a sentence that links to the rest of a text that is too long for a comment."""
    named = {"report": links.report, "run": links.run}
    where = next((f"[{name}]({url})" for name, url in named.items() if url), "report")
    return f"*Too long for one comment. The rest is in the {where}.*"
