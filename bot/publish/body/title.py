"""The pull request's title, which is the commit's subject."""

from __future__ import annotations

from bot.contracts.outcome import Outcome
from bot.gate.text import clean_line, withhold_if_secret

_TITLE_LIMIT = 120


def title(outcome: Outcome) -> str:
    """The pull request's title and the commit's subject: the model's, else the thread's, else the request."""
    thread = outcome.request.thread
    for candidate in (
        outcome.description.title,
        f"{thread.title} (#{thread.number})" if thread else "",
        outcome.request.instruction,
    ):
        near = candidate[:2000]
        if not withhold_if_secret(near) and (line := clean_line(near, _TITLE_LIMIT)):
            return line
    return "Change by the agent"
