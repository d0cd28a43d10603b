"""Format the diagnostics of a change for the model, each problem once, and as a record for the supervisor.

The texts quote the repository: each on one line, without control characters, at most `MAX_SHOWN` problems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
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
_MAX_FILES = 3
_HEADER_BYTES = 200
"""Bytes for the lines around the problems."""


@dataclass(frozen=True, slots=True)
class Report:
    """`tools` has the answer of each server and checker. `change` is of the files with results; `unreported` are
    those of its new problems that were not reported before, `None` for all. `late`: it is of an earlier edit.
    `loading` are those that start or read the project. `announcements` are sentences that the model gets once, each
    with its key."""

    tools: tuple[tuple[str, Answer], ...]
    change: Change
    unreported: tuple[Problem, ...] | None = None
    waited: float = 0.0
    limit: float = 0.0
    late: bool = False
    files: tuple[str, ...] = ()
    announcements: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    loading: tuple[str, ...] = ()
    uses: tuple[ServerUse, ...] = field(default=())


def text(report: Report) -> str:
    """The text for the model: at most `MAX_BYTES`, and a line for each announcement; empty without either."""
    lines = [*_findings(report), *(f"Diagnostics: {sentence}" for _, sentence in report.announcements)]
    return "\n".join(lines)


def record(report: Report) -> dict[str, Any]:
    """The same for the metadata of the tool result."""
    problems = [] if not _complete(report) else report.change.new[:MAX_SHOWN]
    return {
        "tools": [[name, answer.value] for name, answer in report.tools],
        "new": [_problem_record(problem) for problem in problems],
        "new_count": len(report.change.new),
        "fixed": report.change.fixed,
        "hidden": report.change.remaining,
        "waited": round(report.waited, 4),
        "note": " ".join(dict.fromkeys((*(sentence for _, sentence in report.announcements), *report.notes)))[
            :1000
        ],
        "said": [key for key, _ in report.announcements],
        "servers": [use_record(use) for use in report.uses],
    }


def quoted_lines(report: Report) -> dict[str, dict[int, str]]:
    """By file and number, the lines of code that `text` quotes unchanged."""
    unreported = (
        (report.change.new if report.unreported is None else report.unreported) if _complete(report) else ()
    )
    lines: dict[str, dict[int, str]] = {}
    for problem in unreported[: count_fitting(unreported)]:
        if problem.snippet and _plain_line(problem.snippet, _MAX_SNIPPET) == problem.snippet:
            lines.setdefault(problem.path, {})[problem.line] = problem.snippet
    return lines


def error_line(problem: Problem) -> str:
    """One problem for the end of the run, in the form of a syntax error."""
    rule = " ".join(filter(None, (problem.tool, _plain_line(problem.code, _MAX_CODE))))
    path = display_path(problem.path)
    return f"{path}: line {problem.line}: {_plain_line(problem.message, _MAX_MESSAGE)} ({rule})"


def _findings(report: Report) -> Iterator[str]:
    complete, change = _complete(report), report.change
    unknown = "; ".join(_unknown(report))
    where = f" of {_file_list(report.files)}, changed before" if report.late else ""
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
    unreported = change.new if report.unreported is None else report.unreported
    repeated = len(change.new) - len(unreported)
    counts = [
        f"{len(change.new)} new"
        + (f" ({repeated if unreported else 'all'} shown before)" if repeated else "")
    ]
    counts += [f"{change.fixed} fixed"] if change.fixed else []
    counts += (
        [f"{change.remaining} earlier one{'s' * (change.remaining > 1)} hidden"] if change.remaining else []
    )
    counts += [_environment(change)] if change.environment else []
    state = f"; {unknown}" if unknown else "; complete"
    yield f"Diagnostics{where} ({names}{state}): {', '.join(counts)}"
    count = count_fitting(unreported)
    yield from ("\n".join(_lines(problem)) for problem in unreported[:count])
    if rest := len(unreported) - count:
        yield f"[{rest} more new ones are not shown]"


def _unknown(report: Report) -> Iterator[str]:
    late = [name for name, answer in report.tools if answer is Answer.TIMED_OUT]
    if loading := [name for name in late if name in report.loading]:
        is_ = "is" if len(loading) == 1 else "are"
        yield f"{', '.join(loading)} {is_} still getting ready; what is found comes with a later result"
    if silent := [name for name in late if name not in report.loading]:
        yield f"{', '.join(silent)} did not answer in {report.limit:.3g} s; state unknown"


def _environment(change: Change) -> str:
    return f"{count_of(change.environment, 'import')} of what is not installed here not counted"


def count_fitting(problems: Sequence[Problem]) -> int:
    """The number of problems, from the first, that fit into one result."""
    remaining = MAX_BYTES - _HEADER_BYTES
    for number, problem in enumerate(problems[:MAX_SHOWN]):
        remaining -= len("\n".join(_lines(problem)).encode("utf-8", "replace")) + 1
        if remaining < 0:
            return number
    return min(len(problems), MAX_SHOWN)


def _lines(problem: Problem) -> Iterator[str]:
    position = f"{display_path(problem.path)}:{problem.line}" + (
        f":{problem.column}" if problem.column else ""
    )
    code = f":{_plain_line(problem.code, _MAX_CODE)}" if problem.code else ""
    yield f"{position} {problem.severity} {problem.tool}{code} {_plain_line(problem.message, _MAX_MESSAGE)}"
    if problem.snippet.strip():
        yield f"{problem.line:>6} | {_plain_line(problem.snippet, _MAX_SNIPPET)}"


def _plain_line(value: str, limit: int) -> str:
    """The first line without unprintable characters, which include marks of the writing direction."""
    line = printable(value.expandtabs(4)).partition("\n")[0]
    return "".join(letter for letter in line[: 4 * limit] if letter.isprintable())[:limit].rstrip()


def display_path(path: str) -> str:
    return _plain_line(printable_name(path), _MAX_PATH)


def _file_list(files: Sequence[str]) -> str:
    more = f" and {len(files) - _MAX_FILES} more" if len(files) > _MAX_FILES else ""
    return ", ".join(display_path(name) for name in files[:_MAX_FILES]) + more


def _complete(report: Report) -> list[str]:
    return [name for name, answer in report.tools if answer is Answer.COMPLETE]


def _problem_record(problem: Problem) -> dict[str, Any]:
    return {
        "tool": problem.tool,
        "path": problem.path,
        "line": problem.line,
        "column": problem.column,
        "severity": problem.severity.value,
        "code": _plain_line(problem.code, _MAX_CODE),
        "message": _plain_line(problem.message, _MAX_MESSAGE),
        "end_line": problem.end_line,
        "end_column": problem.end_column,
        "snippet": _plain_line(problem.snippet, _MAX_MESSAGE),
    }


def use_record(use: ServerUse) -> dict[str, Any]:
    return {
        "name": use.name,
        "version": _plain_line(use.version, 80),
        "note": _plain_line(use.note, 300),
    }


class ReportedProblems:
    """`compared` has the tool and path of each comparison since the last report."""

    def __init__(self) -> None:
        self.compared: set[tuple[str, str]] = set()
        self._counts: Counter[Problem] = Counter()

    def select_new(self, new: Sequence[Problem]) -> tuple[Problem, ...]:
        """Those that were not reported before. A reported one that disappeared from a compared file counts as new
        again."""
        now = Counter(map(_without_line, new))
        for key, times in list(self._counts.items()):
            if (key.tool, key.path) in self.compared:
                self._counts[key] = min(times, now[key])
        self.compared.clear()
        counts = Counter(self._counts)
        unreported: list[Problem] = []
        for problem in new:
            if counts[key := _without_line(problem)]:
                counts[key] -= 1
            else:
                unreported.append(problem)
        self._counts.update(map(_without_line, unreported[: count_fitting(unreported)]))
        return tuple(unreported)


def _without_line(problem: Problem) -> Problem:
    """The same for any position in its file."""
    return replace(problem, line=0, column=0, end_line=0, end_column=0, snippet="")
