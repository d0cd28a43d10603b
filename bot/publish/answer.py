"""What is said and not done: the answer of an `explain`, and the question of a run that needs one."""

from __future__ import annotations

from bot.contracts.errors import PublishError
from bot.contracts.outcome import Outcome, Status
from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.publish.body.footer import Links, figures, footer
from bot.publish.telling import Telling
from bot.publish.text import markdown
from bot.publish.text.shown import shown_line, shown_markdown
from bot.publish.thread.comments import put_comment
from bot.publish.thread.markers import ANSWER
from bot.publish.thread.place import Place
from bot.publish.thread.progress import ProgressState, finish_progress

_ANSWER_LIMIT = 30_000
_QUESTION_LIMIT = 4_000
_GO_ON = "Answer with `/agent continue` and what you say to it: the run goes on from where it is."


def publish_answer(telling: Telling) -> tuple[str, ...]:
    """Say the bundle's answer or question where somebody asked; done twice it changes nothing.

    Returns soft failures, a sentence each. Raises `PublishError` where the thread could not be told.
    """
    host, place, outcome, links = telling.host, telling.place, telling.bundle.outcome, telling.links
    text = answer_text(outcome, links)
    if place is None:
        telling.say(f"nobody asked in a thread, so this is posted nowhere:\n{text}")
        return ()
    try:
        put_comment(host, place, ANSWER, text)
    except GitHubError as error:
        raise PublishError(f"The answer could not be posted: {error}") from error
    return finished(host, place, outcome, links)


def answer_text(outcome: Outcome, links: Links) -> str:
    """The comment, without its mark. Raises `PublishError` for a bundle that holds nothing to say."""
    if outcome.status is Status.NEEDS_INPUT:
        asked = markdown.quoted(_said(outcome.question, _QUESTION_LIMIT, "question"))
        parts = ["**A question before this goes on:**", asked, _GO_ON]
    else:
        parts = [_said(outcome.answer, _ANSWER_LIMIT, "answer")]
    thread = outcome.request.thread
    hidden = [thread.hidden] if thread and thread.hidden else []
    parts += [shown_line(note, 500) for note in (*outcome.notes, *hidden)]
    return "\n\n".join([*parts, footer(outcome, links)])


def finished(host: Host, place: Place, outcome: Outcome, links: Links) -> tuple[str, ...]:
    """The progress comment's last word; a soft failure where GitHub does not take it."""
    headline = {Status.NEEDS_INPUT: "A question stands in the thread", Status.PLANNED: "Planned"}.get(
        outcome.status, "Answered"
    )
    try:
        finish_progress(host, place, ProgressState(headline, (figures(outcome),), links.run))
    except GitHubError as error:
        return (f"The progress comment could not be finished: {error}",)
    return ()


def _said(text: str, limit: int, what: str) -> str:
    if not text.strip():
        raise PublishError(
            f"The bundle says that there is {what} to post, and holds none: nothing was posted."
        )
    return shown_markdown(text, limit)
