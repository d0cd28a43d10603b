"""What people read: the pull request's title and body, from the outcome and the gate's verdict.

Pure: data in, Markdown out, the same for the same input, so that a second `publish` writes nothing new. The
failing check comes first, what takes a minute to read comes next, the rest is folded. Lengths are capped part
by part so that the whole stays under GitHub's 65,536 characters whatever the model wrote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from bot.contracts.outcome import ChangedFile, Denial, Outcome, Status, WithheldFile
from bot.contracts.request import Verb
from bot.contracts.wording import count_of, duration, money
from bot.gate.text import clean_line, withhold_if_secret
from bot.publish.evidence import folded
from bot.publish.evidence.lines import failures
from bot.publish.evidence.look_first import look_first
from bot.publish.evidence.remarks import remarks
from bot.publish.evidence.table import table
from bot.publish.template import Parts, fill_template
from bot.publish.text import markdown
from bot.publish.text.shown import shown_code, shown_html, shown_line, shown_markdown

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["LIMIT", "NO_LINKS", "Links", "closing_line", "figures", "render_body", "title"]

LIMIT = 65_000
_TITLE_LIMIT = 120
_EVIDENCE_SHOWN = 20
_ROWS_SHOWN = 60
_SHOWN_HASH = 12
# How much room the parts get: all of it first, and less when the whole came out too long.
_ROOMS = (1.0, 0.4, 0.1)


@dataclass(frozen=True, slots=True)
class Links:
    """Web addresses of the run in Actions, of its report and of the approved plan's comment; empty where there is
    none."""

    run: str = ""
    report: str = ""
    plan: str = ""


NO_LINKS = Links()


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


def closing_line(outcome: Outcome, keyword: str) -> str:
    """`Fixes #N`, or `Refs #N` where merging would not settle the issue; empty without a thread."""
    thread = outcome.request.thread
    if thread is None:
        return ""
    settles = outcome.status is not Status.PARTIAL and not thread.is_pull_request
    return f"{keyword if settles else 'Refs'} #{thread.number}"


def render_body(
    outcome: Outcome,
    files: Sequence[ChangedFile],
    withheld: Sequence[WithheldFile],
    *,
    keyword: str = "Fixes",
    links: Links = NO_LINKS,
    template: str = "",
    closing: bool = True,
) -> str:
    """The body, without its hidden mark. `template` is the repository's own one, or empty.

    Without `closing` the thread is not named: it is the one that this stands in.
    """
    body, line = "", closing_line(outcome, keyword) if closing else ""
    for room in _ROOMS:
        parts = _render_parts(_view(outcome, files, withheld, links, room), line)
        body = fill_template(template, parts, room) if template.strip() else parts.joined()
        if len(body) <= LIMIT:
            return body
    return markdown.shortened(body, LIMIT)


def _render_parts(view: Mapping[str, Any], closing: str) -> Parts:
    macros: Any = _macros()
    texts = {
        name: str(getattr(macros, name)(view)).strip()
        for name in ("alert", "asked", "change", "look", "evidence", "files", "remarks", "run")
    }
    return Parts(closing=closing, **texts)


def _view(
    outcome: Outcome,
    files: Sequence[ChangedFile],
    withheld: Sequence[WithheldFile],
    links: Links,
    room: float,
) -> dict[str, Any]:
    request, thread = outcome.request, outcome.request.thread
    rows, left_out = table(outcome, int(_EVIDENCE_SHOWN * room))
    return {
        "room": room,
        "rows": int(_ROWS_SHOWN * room),
        "partial": outcome.status is Status.PARTIAL,
        "reason": outcome.reason or "The run ended early.",
        "failing": failures(outcome.checks),
        "requester": request.actor.login,
        "has_thread": thread is not None,
        "asked_in": f"#{thread.number}" if thread else "the request",
        "request_url": request.trigger.url if request.trigger else (thread.url if thread else ""),
        "instruction": request.wish,
        "plan": request.plan,
        "plan_url": links.plan,
        "approved": request.verb is not Verb.CONTINUE,
        "plan_hash": request.plan.hash[:_SHOWN_HASH] if request.plan else "",
        "summary": outcome.description.summary,
        "review_notes": outcome.description.notes,
        "look": look_first(outcome, files, room),
        "evidence": rows,
        "evidence_left_out": left_out,
        "evidence_remarks": remarks(outcome),
        "folded": folded.parts(outcome, room),
        "files": sorted(files, key=lambda file: not file.sensitive),
        "additions": sum(file.additions for file in files),
        "removals": sum(file.removals for file in files),
        "withheld": withheld,
        "notes": (*outcome.notes, *filter(None, [thread.hidden if thread else ""])),
        "denials": _grouped(outcome.denials),
        "denied_by": list(dict.fromkeys(denial.rule for denial in outcome.denials)),
        "figures": figures(outcome),
        "run_url": links.run,
        "report_url": links.report,
    }


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


def _grouped(denials: Sequence[Denial]) -> list[tuple[Denial, int]]:
    """Each denied call once, with how often it was tried."""
    return list(Counter(denials).items())


def _seconds_between(start: str, end: str) -> float:
    from datetime import datetime

    return max((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds(), 0.0)


@cache
def _macros() -> ModuleType:
    """The template's macros, made once. Autoescape is off, since the output is Markdown: the filters escape."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("bot.publish", "."),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701
        keep_trailing_newline=True,
    )
    environment.filters.update(
        md=shown_markdown,
        line=shown_line,
        line_code=shown_code,
        html=shown_html,
        cell=markdown.cell,
        quoted=markdown.quoted,
        fenced=markdown.fenced,
        count_of=count_of,
    )
    module: ModuleType = environment.get_template("pull_request.md.j2").module  # type: ignore[assignment]  # jinja2 types it as its own module class
    return module
