"""What the model is told of the problems in what it changed, and the same as a record for the supervisor. Pure.

Everything here quotes the repository or what a program made of it: one line each, nothing that a terminal or a reader
would carry out, and never more than `MOST` of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.contracts.plain_text import named, printable
from bot.contracts.problems import Answer, Problem, ServerUse
from bot.contracts.wording import count_of
from bot.workshop.host.lsp.baseline import Change

MOST = 10
BYTES = 3000

_MESSAGE = 300
_SNIPPET = 160
_CODE = 60
_PATH = 200
_MOST_FILES = 3
_ROOM = 200
"""Bytes for the lines around the problems."""


@dataclass(frozen=True, slots=True)
class Report:
    """One look. `tools` are those that were asked, each with how it answered; `change` is of the files of those that
    answered, and `fresh` what of its new problems was not shown before, `None` for all; `late`: it is of an edit
    before. `loading` are those that did not answer since they still start, or read the project. `said` are sentences
    that are said once, each by a key."""

    tools: tuple[tuple[str, Answer], ...]
    change: Change
    fresh: tuple[Problem, ...] | None = None
    waited: float = 0.0
    limit: float = 0.0
    late: bool = False
    files: tuple[str, ...] = ()
    said: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    loading: tuple[str, ...] = ()
    uses: tuple[ServerUse, ...] = field(default=())


def text(report: Report) -> str:
    """At most `BYTES`, and a line for each sentence that is said once; empty where there is nothing to say."""
    lines = [*_findings(report), *(f"Diagnostics: {sentence}" for _, sentence in report.said)]
    return "\n".join(lines)


def record(report: Report) -> dict[str, Any]:
    """As the result's metadata carries it."""
    shown = [] if not _complete(report) else report.change.new[:MOST]
    return {
        "tools": [[name, answer.value] for name, answer in report.tools],
        "new": [_plain(problem) for problem in shown],
        "new_count": len(report.change.new),
        "fixed": report.change.fixed,
        "hidden": report.change.remaining,
        "waited": round(report.waited, 4),
        "note": " ".join(dict.fromkeys((*(sentence for _, sentence in report.said), *report.notes)))[:1000],
        "said": [key for key, _ in report.said],
        "servers": [plain_use(one) for one in report.uses],
    }


def printed_lines(report: Report) -> dict[str, dict[int, str]]:
    """By file the lines of code that `text` shows just as they are."""
    fresh = (report.change.new if report.fresh is None else report.fresh) if _complete(report) else ()
    found: dict[str, dict[int, str]] = {}
    for problem in fresh[: fitting(fresh)]:
        if problem.snippet and _plain_line(problem.snippet, _SNIPPET) == problem.snippet:
            found.setdefault(problem.path, {})[problem.line] = problem.snippet
    return found


def error_line(problem: Problem) -> str:
    """One problem for the end of the run, worded as what does not parse is."""
    rule = " ".join(filter(None, (problem.tool, _plain_line(problem.code, _CODE))))
    path = shown(problem.path)
    return f"{path}: line {problem.line}: {_plain_line(problem.message, _MESSAGE)} ({rule})"


def _findings(report: Report) -> Iterator[str]:
    complete, change = _complete(report), report.change
    unknown = "; ".join(_unknown(report))
    where = f" of {_named(report.files)}, changed before" if report.late else ""
    if not complete:
        if unknown:
            yield f"Diagnostics{where}: {unknown}"
        return
    names = ", ".join(complete)
    if not change.new:
        fixed = f", {change.fixed} fixed" if change.fixed else ""
        left_out = f", {_environment(change)}" if change.environment else ""
        yield f"Diagnostics{where}: no new problems ({names}){fixed}{left_out}{'; ' if unknown else ''}{unknown}"
        return
    fresh = change.new if report.fresh is None else report.fresh
    before = len(change.new) - len(fresh)
    counts = [f"{len(change.new)} new" + (f" ({before if fresh else 'all'} shown before)" if before else "")]
    counts += [f"{change.fixed} fixed"] if change.fixed else []
    counts += (
        [f"{change.remaining} earlier one{'s' * (change.remaining > 1)} hidden"] if change.remaining else []
    )
    counts += [_environment(change)] if change.environment else []
    doubts = f"; {unknown}" if unknown else "; complete"
    yield f"Diagnostics{where} ({names}{doubts}): {', '.join(counts)}"
    count = fitting(fresh)
    yield from ("\n".join(_lines(problem)) for problem in fresh[:count])
    if left := len(fresh) - count:
        yield f"[{left} more new ones are not shown]"


def _unknown(report: Report) -> Iterator[str]:
    late = [name for name, answer in report.tools if answer is Answer.TIMED_OUT]
    if loading := [name for name in late if name in report.loading]:
        is_ = "is" if len(loading) == 1 else "are"
        yield f"{', '.join(loading)} {is_} still getting ready; what is found comes with a later result"
    if silent := [name for name in late if name not in report.loading]:
        yield f"{', '.join(silent)} did not answer in {report.limit:.3g} s; state unknown"


def _environment(change: Change) -> str:
    return f"{count_of(change.environment, 'import')} of what is not installed here not counted"


def fitting(problems: Sequence[Problem]) -> int:
    """How many of them, from the first on, are shown with one result."""
    room = BYTES - _ROOM
    for number, problem in enumerate(problems[:MOST]):
        room -= len("\n".join(_lines(problem)).encode("utf-8", "replace")) + 1
        if room < 0:
            return number
    return min(len(problems), MOST)


def _lines(problem: Problem) -> Iterator[str]:
    place = f"{shown(problem.path)}:{problem.line}" + (f":{problem.column}" if problem.column else "")
    code = f":{_plain_line(problem.code, _CODE)}" if problem.code else ""
    yield f"{place} {problem.severity} {problem.tool}{code} {_plain_line(problem.message, _MESSAGE)}"
    if problem.snippet.strip():
        yield f"{problem.line:>6} | {_plain_line(problem.snippet, _SNIPPET)}"


def _plain_line(words: str, most: int) -> str:
    """On one line, without what cannot be seen: marks that turn a line round hide as much as a control character."""
    shown = printable(words.expandtabs(4)).partition("\n")[0]
    return "".join(letter for letter in shown[: 4 * most] if letter.isprintable())[:most].rstrip()


def shown(path: str) -> str:
    return _plain_line(named(path), _PATH)


def _named(files: Sequence[str]) -> str:
    more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
    return ", ".join(shown(name) for name in files[:_MOST_FILES]) + more


def _complete(report: Report) -> list[str]:
    return [name for name, answer in report.tools if answer is Answer.COMPLETE]


def _plain(problem: Problem) -> dict[str, Any]:
    return {
        "tool": problem.tool,
        "path": problem.path,
        "line": problem.line,
        "column": problem.column,
        "severity": problem.severity.value,
        "code": _plain_line(problem.code, _CODE),
        "message": _plain_line(problem.message, _MESSAGE),
        "end_line": problem.end_line,
        "end_column": problem.end_column,
        "snippet": _plain_line(problem.snippet, _MESSAGE),
    }


def plain_use(use: ServerUse) -> dict[str, Any]:
    """As the supervisor is told of it."""
    return {
        "name": use.name,
        "version": _plain_line(use.version, 80),
        "first_answer": round(use.first_answer, 4),
        "asked": use.asked,
        "waited": round(use.waited, 4),
        "memory": use.memory,
        "note": _plain_line(use.note, 300),
    }
