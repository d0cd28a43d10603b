"""What the host says of a checker's run, read as from a stranger: it ran code of the repository. Wrong shapes and
numbers end the comparison with this checker and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from posixpath import normpath
from typing import Any

from bot.contracts.plain_text import printable
from bot.contracts.problems import Answer, Problem, Severity, ToolRun
from bot.contracts.tools import ToolOutcome
from bot.contracts.wording import count_of

_MOST = 20_000
_HIGHEST = 100_000_000
_LONGEST = {"path": 500, "code": 80, "message": 300, "snippet": 160, "version": 60, "note": 300}
_FIELDS = 9
_SEVERITIES = {severity.value: severity for severity in Severity}


class NoProblem(ValueError):
    """A row that is none."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """One run of one checker. `python` says whether the project's Python environment was there."""

    run: ToolRun
    problems: tuple[Problem, ...] = ()
    version: str = ""
    python: bool = True

    def because(self, note: str) -> Inspected:
        """The same, with `note` for what makes it doubtful."""
        return replace(self, run=replace(self.run, note="; ".join(filter(None, [self.run.note, note]))))

    def incomparable(self, note: str) -> Inspected:
        """The same as no answer, with `note` for why: fewer problems may be fewer that it looks for."""
        return replace(self.because(note), run=replace(self.because(note).run, answer=Answer.UNAVAILABLE))


def failed(note: str, duration: float = 0.0) -> Inspected:
    return Inspected(ToolRun(Answer.UNAVAILABLE, duration=duration, note=_words(note, "note")))


def inspected(tool: str, outcome: ToolOutcome, duration: float) -> Inspected:
    """`duration` is in seconds, measured outside."""
    said = outcome.metadata
    if outcome.is_error or said.get("state") not in [answer.value for answer in Answer]:
        return failed(f"it could not be run: {outcome.content}", duration)
    answer = Answer(said["state"])
    note = _words(said.get("note"), "note")
    if answer is not Answer.COMPLETE:
        return Inspected(
            ToolRun(answer, duration=duration, note=note), version=_words(said.get("version"), "version")
        )
    try:
        problems = _problems(tool, said)
    except NoProblem as error:
        return failed(f"its output was not passed on as problems: {error}", duration)
    outside = said.get("outside")
    if type(outside) is int and 0 < outside <= _HIGHEST:
        note = f"{count_of(outside, 'problem')} outside the repository left out"
    return Inspected(
        ToolRun(answer, len(problems), duration, note), problems, _words(said.get("version"), "version"),
        said.get("python") is not False,
    )  # fmt: skip


def _problems(tool: str, said: Mapping[str, Any]) -> tuple[Problem, ...]:
    rows = said.get("rows")
    if not isinstance(rows, list) or len(rows) > _MOST:
        raise NoProblem("there is no list of them, or one without end")
    return tuple(_problem(tool, row) for row in rows)


def _problem(tool: str, row: object) -> Problem:
    if not isinstance(row, list) or len(row) != _FIELDS:
        raise NoProblem("one has not nine fields")
    path, line, column, end_line, end_column, severity, code, message, snippet = row
    numbers = (line, column, end_line, end_column)
    if any(type(number) is not int or not 0 <= number <= _HIGHEST for number in numbers):
        raise NoProblem("a line or column is no number of one")
    if not isinstance(severity, str) or severity not in _SEVERITIES:
        raise NoProblem("a severity is not known")
    return Problem(
        tool, _path(path), line, column, _SEVERITIES[severity], _text(code, "code"), _text(message, "message"),
        end_line, end_column, _text(snippet, "snippet"),
    )  # fmt: skip


def _path(value: object) -> str:
    path = _text(value, "path")
    if not path or path != value or normpath(path) != path or path.startswith(("/", "../", ".git/")):
        raise NoProblem("a path is not one of the repository")
    if path in (".", "..", ".git") or not path.isprintable():
        raise NoProblem("a path is not one of the repository")
    return path


def _text(value: object, field: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST[field]:
        raise NoProblem(f"a {field} is no text, or too long")
    return _words(value, field)


def _words(value: object, field: str) -> str:
    text = value if isinstance(value, str) else ""
    return " ".join(printable(text[: 20 * _LONGEST[field]]).split())[: _LONGEST[field]]
