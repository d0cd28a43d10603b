"""The pull request's title, and the last line of our texts in small print: cost and links."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from bot.contracts.formatting import count_of, duration, money
from bot.contracts.outcome import Outcome
from bot.gate.secrets import withhold_if_secret
from bot.gate.text import clean_line
from bot.publish.markdown import safe_line


@dataclass(frozen=True, slots=True)
class Links:
    """Web addresses of the run in Actions, of its report and of the approved plan's comment; empty if there is none.

    An address of a report with a fragment (`#download`) is that of an archive, not of the page."""

    run: str = ""
    report: str = ""
    plan: str = ""


NO_LINKS = Links()


def footer(outcome: Outcome, links: Links) -> str:
    """Return the figures of the run and its links, in small print."""
    return small_line(figures(outcome), links)


def small_line(text: str, links: Links) -> str:
    """Return `text`, escaped, and the links of run and report, in small print."""
    report = "download the report" if "#" in links.report else "report"
    named = (("run", links.run), (report, links.report if links.report != links.run else ""))
    linked = "".join(f" · [{name}]({url})" for name, url in named if url)
    return f"<sub>{safe_line(text)}{linked}</sub>"


def figures(outcome: Outcome) -> str:
    """Return the model, usage, cost and duration of the run in one line."""
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
    return max((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds(), 0.0)


_TITLE_LIMIT = 120


def title(outcome: Outcome) -> str:
    """Return the pull request's title and the commit's subject: the model's title, the thread's, the task's
    name, or the instruction."""
    thread = outcome.request.thread
    for candidate in (
        outcome.description.title,
        f"{thread.title} (#{thread.number})" if thread else "",
        f"Maintenance: {outcome.request.task.replace('-', ' ')}" if outcome.request.task else "",
        outcome.request.full_instruction,
    ):
        near = candidate[:2000]
        if not withhold_if_secret(near) and (line := clean_line(near, _TITLE_LIMIT)):
            return line
    return "Change by the agent"
