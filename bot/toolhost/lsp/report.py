"""Format the diagnostics of a change for the model, and as a record for the supervisor.

The texts quote the repository: each on one line, without control characters, at most `MAX_SHOWN` problems.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bot.contracts.evidence import Answer, Problem, ServerUse
from bot.contracts.formatting import count_of
from bot.contracts.plain_text import printable, printable_name
from bot.toolhost.lsp.baseline import Change

MAX_SHOWN = 10
MAX_BYTES = 3000

_MAX_MESSAGE = 300
_MAX_SNIPPET = 160
_MAX_CODE = 60
_MAX_PATH = 200
_HEADER_BYTES = 200
"""Bytes for the lines around the problems."""


@dataclass(frozen=True, slots=True)
class Report:
    """`tools` has the answer of each server. `change` is of the files with results; `unreported` are those of its new
    problems that were not reported before, `None` for all. `announcements` are sentences that the model gets once, each
    with its key."""

    tools: tuple[tuple[str, Answer], ...]
    change: Change
    unreported: tuple[Problem, ...] | None = None
    waited: float = 0.0
    limit: float = 0.0
    announcements: tuple[tuple[str, str], ...] = ()
    uses: tuple[ServerUse, ...] = ()


def text(report: Report) -> str:
    """The text for the model: at most `MAX_BYTES`, and a line for each announcement; empty without either."""
    lines = [*_findings(report), *(f"Diagnostics: {sentence}" for _, sentence in report.announcements)]
    return "\n".join(lines)


def record(report: Report) -> dict[str, Any]:
    """The same for the metadata of the tool result."""
    return {
        "tools": [[name, answer.value] for name, answer in report.tools],
        "new": [_problem_record(problem) for problem in report.change.new[:MAX_SHOWN]],
        "new_count": len(report.change.new),
        "fixed": report.change.fixed,
        "hidden": report.change.remaining,
        "waited": round(report.waited, 4),
        "note": " ".join(sentence for _, sentence in report.announcements)[:1000],
        "said": [key for key, _ in report.announcements],
        "servers": [use_record(use) for use in report.uses],
    }


def _findings(report: Report) -> Iterator[str]:
    names = ", ".join(name for name, answer in report.tools if answer is Answer.COMPLETE)
    late = ", ".join(name for name, answer in report.tools if answer is Answer.TIMED_OUT)
    unknown = f"{late} did not answer in {report.limit:.3g} s; state unknown" if late else ""
    change = report.change
    fixed = [f"{change.fixed} fixed"] if change.fixed else []
    if not names:
        if unknown:
            yield f"Diagnostics: {unknown}"
        return
    if not change.new:
        yield f"Diagnostics: {', '.join((f'no new problems ({names})', *fixed))}{'; ' if unknown else ''}{unknown}"
        return
    unreported = change.new if report.unreported is None else report.unreported
    repeated = len(change.new) - len(unreported)
    shown = f" ({repeated if unreported else 'all'} shown before)" if repeated else ""
    hidden = [f"{count_of(change.remaining, 'earlier one')} hidden"] if change.remaining else []
    counts = ", ".join((f"{len(change.new)} new{shown}", *fixed, *hidden))
    yield f"Diagnostics ({names}; {unknown or 'complete'}): {counts}"
    count = count_fitting(unreported)
    yield from ("\n".join(_lines(problem)) for problem in unreported[:count])
    if rest := len(unreported) - count:
        yield f"[{rest} more new ones are not shown]"


def count_fitting(problems: Sequence[Problem]) -> int:
    """The number of problems, from the first, that fit into one result."""
    remaining = MAX_BYTES - _HEADER_BYTES
    for number, problem in enumerate(problems[:MAX_SHOWN]):
        remaining -= len("\n".join(_lines(problem)).encode("utf-8", "replace")) + 1
        if remaining < 0:
            return number
    return min(len(problems), MAX_SHOWN)


def _lines(problem: Problem) -> Iterator[str]:
    column = f":{problem.column}" if problem.column else ""
    position = f"{_plain_line(printable_name(problem.path), _MAX_PATH)}:{problem.line}{column}"
    code = f":{_plain_line(problem.code, _MAX_CODE)}" if problem.code else ""
    yield f"{position} {problem.severity} {problem.tool}{code} {_plain_line(problem.message, _MAX_MESSAGE)}"
    if problem.snippet.strip():
        yield f"{problem.line:>6} | {_plain_line(problem.snippet, _MAX_SNIPPET)}"


def _plain_line(value: str, limit: int) -> str:
    """The first line without unprintable characters, which include marks of the writing direction."""
    line = printable(value.expandtabs(4)).partition("\n")[0]
    return "".join(letter for letter in line[: 4 * limit] if letter.isprintable())[:limit].rstrip()


def _problem_record(problem: Problem) -> dict[str, Any]:
    code, message = _plain_line(problem.code, _MAX_CODE), _plain_line(problem.message, _MAX_MESSAGE)
    snippet = _plain_line(problem.snippet, _MAX_MESSAGE)
    return asdict(problem) | {"code": code, "message": message, "snippet": snippet}


def use_record(use: ServerUse) -> dict[str, Any]:
    return {"name": use.name, "version": _plain_line(use.version, 80), "note": _plain_line(use.note, 300)}
