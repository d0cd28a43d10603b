"""The order and the headings of the parts of a pull request's body, and the figures below our texts."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from bot.contracts.formatting import count_of, duration, money
from bot.contracts.outcome import Outcome
from bot.publish.markdown import safe_line

# The parts of a body in their order, each with our heading.
PARTS = {
    "alert": "",
    "asked": "",
    "change": "What changed",
    "look": "Look at first",
    "evidence": "Evidence",
    "files": "Files",
    "remarks": "Remarks",
    "closing": "",
    "run": "",
}


def joined(parts: Mapping[str, str], names: Iterable[str] = PARTS) -> str:
    """Return the body for a repository without a template. `parts` are texts by the names of `PARTS`, some empty."""
    heads = {name: f"### {title}\n\n" if title else "" for name, title in PARTS.items()}
    return blocks(*(heads[name] + parts[name] for name in names if parts[name]))


def blocks(*texts: str) -> str:
    """Return the texts that are not blank, a blank line between them."""
    return "\n\n".join(text.strip() for text in texts if text.strip())


class Links(NamedTuple):
    """Addresses of the run, its report and the plan's comment. A report's with a fragment is of an archive."""

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
    started, ended = map(datetime.fromisoformat, (outcome.started_at, outcome.ended_at))
    return " · ".join(
        (
            outcome.model,
            count_of(outcome.turns, "turn"),
            f"{outcome.usage.total:,} tokens",
            money(outcome.cost),
            duration(max((ended - started).total_seconds(), 0.0)),
            f"sandbox {outcome.sandbox}",
            f"slash-agent {outcome.version}",
        )
    )
