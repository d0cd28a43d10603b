"""Publish the answer of an `explain`, or the question of a run that needs one."""

from __future__ import annotations

from itertools import takewhile

from bot.contracts.errors import PublishError
from bot.contracts.outcome import Outcome, Status
from bot.github.errors import GitHubError
from bot.publish.body.title_and_footer import Links, footer
from bot.publish.context import PublishContext
from bot.publish.text import markdown
from bot.publish.text.filters import safe_answer, safe_line, safe_markdown
from bot.publish.thread.comments import put_result
from bot.publish.thread.markers import ANSWER

COMMENT_LIMIT = 64_000
"""Characters of a comment without its mark, below GitHub's limit of 65,536."""
_QUESTION_LIMIT = 4_000
_QUESTION_HEAD = "**A question before this goes on:**"
_NOTE_LIMIT = 500


def publish_answer(context: PublishContext) -> tuple[str, ...]:
    """Post the bundle's answer or question if somebody asked; idempotent. Returns soft failures, a sentence each.
    Raises `PublishError` if nothing could be posted."""
    github, thread_ref, outcome = context.github, context.thread_ref, context.bundle.outcome
    text = answer_text(outcome, context.links, on_lines=bool(thread_ref and thread_ref.lines))
    if thread_ref is None:
        context.say(f"the request came from no thread, so this is not posted:\n{text}")
        return ()
    headline = "A question about this is" if outcome.status is Status.NEEDS_INPUT else "Answered"
    try:
        return put_result(github, thread_ref, ANSWER, text, headline, fields={"result": "done"})
    except GitHubError as error:
        raise PublishError(f"The answer could not be posted: {error}") from error


def answer_text(outcome: Outcome, links: Links, *, on_lines: bool = False) -> str:
    """The comment, without its mark; with `on_lines`, in a thread on lines of a diff, all after two sentences is
    folded. Raises `PublishError` for a bundle without a text to post."""
    tail = [*run_notes(outcome), footer(outcome, links)]
    if outcome.status is Status.NEEDS_INPUT:
        question = safe_markdown(_text(outcome.question, "question"), _QUESTION_LIMIT)
        how = "Answer with `/agent continue` and your answer: the run goes on from where it stopped."
        return "\n\n".join([_QUESTION_HEAD, markdown.quoted(question), how, *tail])
    limit = COMMENT_LIMIT - sum(len(part) + 2 for part in tail)
    answer = safe_answer(_text(outcome.answer, "answer"), limit, rest_note(links))
    return "\n\n".join([markdown.folded(answer) if on_lines else answer, *tail])


def posted_question(comment: str) -> str:
    """The question in a comment that `answer_text` wrote; empty if it holds none."""
    head, _, remainder = comment.replace("\r\n", "\n").partition("\n\n")
    if head != _QUESTION_HEAD:
        return ""
    quote = takewhile(lambda line: line.startswith(">"), remainder.split("\n"))
    return "\n".join(line.removeprefix(">").removeprefix(" ") for line in quote)


def run_notes(outcome: Outcome) -> list[str]:
    """The notes on a run beside its result."""
    thread = outcome.request.thread
    hidden = [thread.hidden] if thread and thread.hidden else []
    return [safe_line(note, _NOTE_LIMIT) for note in (*outcome.notes, *hidden)]


def rest_note(links: Links) -> str:
    """Where the rest of a text is that was too long for a comment."""
    where = next(
        (f"[{name}]({url})" for name, url in (("report", links.report), ("run", links.run)) if url), ""
    )
    return f"*Too long for one comment. The rest is in the {where or 'report'}.*"


def _text(text: str, what: str) -> str:
    if not text.strip():
        raise PublishError(
            f"The bundle says that there is {what} to post, and holds none: nothing was posted."
        )
    return text
