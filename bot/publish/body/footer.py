"""The small line that ends what we write: what the run cost, and where it is to be seen."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contracts.outcome import Outcome
from bot.contracts.wording import count_of, duration, money
from bot.publish.text.shown import shown_line


@dataclass(frozen=True, slots=True)
class Links:
    """Web addresses of the run in Actions, of its report and of the approved plan's comment; empty if there is none.

    An address of a report that ends in a fragment (`#download`) leads to an archive, not to the page."""

    run: str = ""
    report: str = ""
    plan: str = ""


NO_LINKS = Links()


def footer(outcome: Outcome, links: Links) -> str:
    """What it cost and where the run is, small."""
    return small_line(figures(outcome), links)


def small_line(text: str, links: Links) -> str:
    """`text` as the characters it has, and where run and report are."""
    report = "download the report" if "#" in links.report else "report"
    named = (("run", links.run), (report, links.report if links.report != links.run else ""))
    linked = "".join(f" · [{name}]({url})" for name, url in named if url)
    return f"<sub>{shown_line(text)}{linked}</sub>"


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
