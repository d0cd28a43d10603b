"""A title for a change that its model did not describe, where the request is too long to be one (S-169).

One request of its own, which nothing of the session is kept waiting for: without an answer in time the request's first
words do.
"""

from __future__ import annotations

import threading

from bot.agent.finish import exceeded
from bot.agent.prompt import new_marker, render
from bot.agent.receive import drained
from bot.agent.results import MAX_TITLE
from bot.agent.session import LoopEnd, Session
from bot.agent.spent import Spent
from bot.contracts.cancel import CancelToken
from bot.contracts.events import Complete
from bot.contracts.journal import BudgetChanged, Note
from bot.contracts.messages import Finish, Message, Text
from bot.contracts.model import ModelRequest
from bot.contracts.outcome import StopReason
from bot.contracts.plain_text import quoted_names
from bot.contracts.room import when_there_is_room

SECONDS = 20.0
_READ = 4_000
_FILES = 20
_TOKENS = 2_048
"""Of which a title needs few; a model that thinks needs the rest."""


def titled(session: Session, asked: str, end: LoopEnd, seconds: float = SECONDS) -> tuple[str, LoopEnd]:
    """The title, empty where there is no need of one or none to be had in `seconds`, and what the session has cost
    with it."""
    short = len(asked) <= MAX_TITLE and "\n" not in asked.strip()
    if short or end.stop is not StopReason.END_TURN or not end.files.changed or session.cancel.fired:
        return "", end
    spent = Spent()
    spent.use(end.usage, end.cost)
    if exceeded(session.limits, spent, 0.0):
        return "", end
    answer = drained(session.provider, _request(asked, end), token := _until(session.cancel, seconds))
    token.fire("time")  # ends the timer's work, too
    usage, cost = end.usage + answer.usage, end.cost + session.price(answer.usage, session.provider.info)
    session.journal.write(BudgetChanged(end.turns, usage, cost))
    title = ""
    if isinstance(answer, Complete) and answer.finish is Finish.END_TURN:
        title = _line(answer.message.text)
    if title:
        session.journal.write(
            Note(f"The model did not describe its change. Asked for a title it said: {title}")
        )
    return title, end._replace(usage=usage, cost=cost)


def _request(asked: str, end: LoopEnd) -> ModelRequest:
    text = render(
        "title",
        longest=str(MAX_TITLE),
        asked=asked.strip()[:_READ],
        files=quoted_names(end.files.changed, _FILES),
        marker=new_marker(),
    )
    return ModelRequest("", (), (Message("user", (Text(text),)),), max_output=_TOKENS)


def _until(cancel: CancelToken, seconds: float) -> CancelToken:
    """A token that fires with `cancel`, or when the time is over."""
    token = CancelToken()
    timer = threading.Timer(seconds, token.fire, args=("time",))
    timer.daemon = True
    when_there_is_room(timer.start)
    forget = cancel.on_fire(lambda: token.fire(cancel.reason))
    token.on_fire(timer.cancel)
    token.on_fire(forget)
    return token


def _line(text: str) -> str:
    """The first line of it that says something, without what models put around a title; empty where it is too long."""
    lines = (" ".join(line.split()).strip("#*`\"' ").removesuffix(".") for line in text.split("\n"))
    line = next(filter(None, lines), "")
    return line if len(line) <= MAX_TITLE else ""
