"""The pull request's title, and the small last line of what we write: cost and links."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contracts.formatting import count_of, duration, money
from bot.contracts.outcome import Outcome
from bot.gate.secrets import withhold_if_secret
from bot.gate.text import clean_line
from bot.publish.text.filters import safe_line


@dataclass(frozen=True, slots=True)
class Links:
    """Web addresses of the run in Actions, of its report and of the approved plan's comment; empty if there is none.

    An address of a report that ends in a fragment (`#download`) leads to an archive, not to the page."""

    run: str = ""
    report: str = ""
    plan: str = ""


NO_LINKS = Links()


def footer(outcome: Outcome, links: Links) -> str:
    """The cost and the address of the run, in small print."""
    return small_line(figures(outcome), links)


def small_line(text: str, links: Links) -> str:
    """`text` as the characters it has, and where run and report are."""
    report = "download the report" if "#" in links.report else "report"
    named = (("run", links.run), (report, links.report if links.report != links.run else ""))
    linked = "".join(f" · [{name}]({url})" for name, url in named if url)
    return f"<sub>{safe_line(text)}{linked}</sub>"


def figures(outcome: Outcome) -> str:
    """What the run cost, in one line."""
    seconds = _seconds_between(outcome.started_at, outcome.ended_at)
    return " · ".join(
        (
            outcome.model,
            count_of(outcome.turns, "turn"),
            f"{outcome.usage.total:,} tokens",
            money(outcome.cost),
            duration(seconds),
            f"sandbox {outcome.sandbox}",
            f"slash-agent {outcome.version}",
        )
    )


def _seconds_between(start: str, end: str) -> float:
    from datetime import datetime

    return max((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds(), 0.0)


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
