"""What people read: the pull request's title and body, from the outcome and the gate's verdict.

Pure: data in, Markdown out, the same for the same input, so that a second `publish` writes nothing new. The
failing check comes first, what takes a minute to read comes next, the rest is folded. Lengths are capped part
by part so that the whole stays under GitHub's 65,536 characters whatever the model wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from bot.contracts.outcome import (
    ChangedFile,
    CheckResult,
    CheckRun,
    CheckState,
    Outcome,
    Status,
    WithheldFile,
)
from bot.contracts.request import Verb
from bot.contracts.wording import count_of, duration
from bot.gate.text import break_commit_words, clean_line, clean_markdown, withhold_if_secret
from bot.publish import markdown
from bot.publish.template import Parts, fill_template

if TYPE_CHECKING:
    from types import ModuleType

LIMIT = 65_000
_TITLE_LIMIT = 120
_TAIL_LIMIT = 2_500
_TAILS_SHOWN = 3
_CHECKS_SHOWN = 20
_ROWS_SHOWN = 60
_SHOWN_HASH = 12
_FAILED = frozenset({CheckState.FAILED, CheckState.TIMED_OUT})
_WITHOUT_RESULT = frozenset({CheckState.NOT_RUNNABLE, CheckState.NO_SOCKETS})
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


@dataclass(frozen=True, slots=True)
class _Check:
    """One row of the table, in words."""

    mark: str
    command: str
    before: str
    after: str
    tail: str
    tail_of: str


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


def failing(checks: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """The checks that fail with the change, whatever they did before, or that passed before and cannot run now.

    The latter since the change writes what is read there: a line about a missing network excuses nothing.
    """
    return tuple(c for c in checks if c.after.state in _FAILED or _was_disabled(c))


def _was_disabled(check: CheckResult) -> bool:
    return check.before.state is CheckState.PASSED and check.after.state in _WITHOUT_RESULT


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
        for name in ("alert", "asked", "change", "checks", "files", "remarks", "run")
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
    failed = failing(outcome.checks)
    tails = [check for check in failed if check.after.tail.strip()][:_TAILS_SHOWN]
    shown = sorted(outcome.checks, key=lambda check: check not in failed)[: int(_CHECKS_SHOWN * room)]
    return {
        "room": room,
        "rows": int(_ROWS_SHOWN * room),
        "partial": outcome.status is Status.PARTIAL,
        "reason": outcome.reason or "The run ended early.",
        "failing": failed,
        "requester": request.actor.login,
        "asked_in": f"#{thread.number}" if thread else "the request",
        "request_url": request.trigger.url if request.trigger else (thread.url if thread else ""),
        "instruction": request.wish,
        "plan": request.plan,
        "plan_url": links.plan,
        "approved": request.verb is not Verb.CONTINUE,
        "plan_hash": request.plan.hash[:_SHOWN_HASH] if request.plan else "",
        "summary": outcome.description.summary,
        "review_notes": outcome.description.notes,
        "checks": [_row(check, check in tails and room == 1) for check in shown],
        "checks_left_out": len(outcome.checks) - len(shown),
        "check_remarks": _check_remarks(outcome.checks)[:10],
        "files": sorted(files, key=lambda file: not file.sensitive),
        "additions": sum(file.additions for file in files),
        "removals": sum(file.removals for file in files),
        "withheld": withheld,
        "notes": (*outcome.notes, *filter(None, [thread.hidden if thread else ""])),
        "denials": outcome.denials,
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
            f"${outcome.cost:.2f}" if outcome.cost >= 0.005 or not outcome.cost else "under $0.01",
            duration(seconds),
            f"sandbox {outcome.sandbox}",
            f"slash-agent {outcome.version}",
        )
    )


def _row(check: CheckResult, with_tail: bool) -> _Check:
    near = check.after.tail[-2 * _TAIL_LIMIT :]
    tail = break_commit_words(clean_tail(_gated(near, len(near)))) if with_tail else ""
    return _Check(
        mark=_mark(check),
        command=check.command,
        before=_in_words(check.before),
        after=_in_words(check.after),
        tail=tail,
        tail_of="after the change",
    )


def _mark(check: CheckResult) -> str:
    if failing([check]):
        return "❌"
    return "✅" if check.after.state is CheckState.PASSED else "⚪"


def _in_words(run: CheckRun) -> str:
    words = {
        CheckState.PASSED: "passed",
        CheckState.FAILED: "**failed**",
        CheckState.TIMED_OUT: "**timed out**",
        CheckState.NOT_RUNNABLE: "not runnable",
        CheckState.NO_SOCKETS: "no network in the sandbox",
        CheckState.NOT_RUN: "not run",
    }[run.state]
    if run.state in (CheckState.NOT_RUN, CheckState.NOT_RUNNABLE):
        return words
    exit_code = f", exit {run.exit_code}" if run.exit_code is not None else ""
    return f"{words}{exit_code}, {duration(run.duration)}"


def _check_remarks(checks: Sequence[CheckResult]) -> list[str]:
    """What a reader would otherwise take for evidence, and why a check could not be run."""
    remarks: list[str] = []
    for check in checks[:_CHECKS_SHOWN]:
        name = shown_code(check.command)
        states = (check.before.state, check.after.state)
        if _was_disabled(check):
            remarks.append(
                f"{name} passed before the change and gives no result with it: {shown_line(check.after.note)}"
            )
        elif CheckState.NO_SOCKETS in states:
            remarks.append(
                f"{name} needs a network that the sandbox does not have: its result is no evidence."
            )
        elif CheckState.NOT_RUNNABLE in states:
            why = check.after.note or check.before.note or "a tool or dependency is missing"
            remarks.append(f"{name} is not runnable here: {shown_line(why)}")
        elif check.before.state is CheckState.FAILED and check.after.state is CheckState.FAILED:
            remarks.append(f"{name} failed before the change, too.")
    if any(check.detected for check in checks):
        remarks.append("Checks were detected, since the policy file names none.")
    return remarks


def clean_tail(text: str) -> str:
    """The end of a command's output, for a code block: without control characters, capped."""
    printable = "".join(c for c in text if c == "\n" or c == "\t" or (c.isprintable() and c != "\ufeff"))
    return printable if len(printable) <= _TAIL_LIMIT else "…" + printable[-_TAIL_LIMIT:]


def _seconds_between(start: str, end: str) -> float:
    from datetime import datetime

    return max((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds(), 0.0)


def shown_line(text: str, limit: int = 300) -> str:
    """One line by somebody else, as the characters it has."""
    return markdown.plain(clean_line(_gated(text, limit), limit))


def shown_code(text: str, limit: int = 200) -> str:
    """A command or path by somebody else. In code nothing is live but what a commit message acts on."""
    return markdown.code(break_commit_words(_printable(_gated(text, limit), limit)))


def _shown_markdown(text: str, limit: float) -> str:
    most = int(limit)
    return markdown.contained(markdown.shortened(clean_markdown(_gated(text, most), 4 * most), most))


def _shown_html(text: str) -> str:
    from html import escape

    # Inside a tag and not a code span, so live to whatever looks for mentions and keywords.
    return f"<code>{escape(clean_line(_gated(text, 200), 200)).replace('[', '&#91;')}</code>"


def _gated(text: str, limit: int) -> str:
    """`text`, or why it is withheld. What is far beyond what will be shown is not looked at: it costs time."""
    near = text[: 4 * limit + 1000]
    reason = withhold_if_secret(near)
    return f"({reason})" if reason else near


def _printable(text: str, limit: int) -> str:
    line = "".join(c if c.isprintable() else " " for c in text)
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


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
        md=_shown_markdown,
        line=shown_line,
        line_code=shown_code,
        html=_shown_html,
        cell=markdown.cell,
        quoted=markdown.quoted,
        fenced=markdown.fenced,
        count_of=count_of,
    )
    module: ModuleType = environment.get_template("pull_request.md.j2").module  # type: ignore[assignment]  # jinja2 types it as its own module class
    return module
