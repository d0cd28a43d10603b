"""Parse the tool host's answers about reports and checkers. They are untrusted: the host ran code of the repository."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from posixpath import normpath
from typing import Any

from bot.contracts.evidence import Answer, Problem, Severity, TestCounts, ToolRun
from bot.contracts.formatting import count_of
from bot.contracts.plain_text import printable
from bot.contracts.tools import ToolOutcome
from bot.evidence.coverage import MeasuredCoverage
from bot.evidence.tests import SuiteResult, count_names

_STATES = ("passed", "failed", "skipped")
_MOST_NAMES = 100_000
_LONGEST = 400
_HIGHEST_COUNT = 1 << 31
_MOST_SOURCES = 20
_MOST_REASONS = 2_000


class InvalidReport(ValueError):
    """The host's answer has an invalid shape."""


def parse_suite(value: object) -> SuiteResult | None:
    """Return the tests of one run, `None` if there are none. Raises `InvalidReport`."""
    if value is None:
        return None
    answer = _mapping(value)
    names = _mapping(answer.get("names"))
    if set(names) - set(_STATES):
        raise InvalidReport("it knows other states than there are")
    names_by_state = {state: _names(names.get(state, [])) for state in _STATES}
    if sum(map(len, names_by_state.values())) > _MOST_NAMES:
        raise InvalidReport("it names too many tests")
    failed_checker_run = frozenset(names_by_state["failed"])
    reasons_read = _mapping(answer.get("reasons", {}))
    if len(reasons_read) > _MOST_REASONS:
        raise InvalidReport("it explains too many tests")
    reasons = {_line(name): _line(reason) for name, reason in reasons_read.items()}
    return SuiteResult(
        source=_line(answer.get("source")),
        tests=count_names(names_by_state),
        counts=_counts(answer.get("counts")),
        whole=_boolean(answer.get("whole")),
        named=_boolean(answer.get("named")),
        note=_line(answer.get("note")),
        reasons={name: reason for name, reason in reasons.items() if name in failed_checker_run},
    )


def parse_coverage(value: object, wanted: Mapping[str, frozenset[int]]) -> MeasuredCoverage:
    """Return the coverage of the `wanted` lines. Raises `InvalidReport`."""
    answer = _mapping(value)
    sources = answer.get("sources")
    if not isinstance(sources, list) or len(sources) > _MOST_SOURCES:
        raise InvalidReport("its sources are no list")
    files: dict[str, dict[int, bool]] = {}
    for path, lines in _mapping(answer.get("files")).items():
        if path not in wanted:
            raise InvalidReport("it measured a file that nobody asked about")
        lines_of_file = _mapping(lines)
        hit, missed = _numbers(lines_of_file.get("covered")), _numbers(lines_of_file.get("missed"))
        if not (hit | missed) <= wanted[path] or hit & missed:
            raise InvalidReport("it measured lines that nobody asked about")
        files[path] = {line: line in hit for line in hit | missed}
    return MeasuredCoverage(
        tuple(map(_line, sources)), files, _line(answer.get("note")), _boolean(answer.get("database"))
    )


def parse_opened(value: object, watched: Collection[str]) -> frozenset[str] | None:
    """Return those of the `watched` files that were opened, `None` if that is unknown."""
    return frozenset(watched).intersection(map(str, value)) if isinstance(value, list) else None


def parse_stamps(value: object) -> dict[str, Any]:
    """Return the host's stamps of its files, which are passed back to it unchanged."""
    return dict(_mapping(value))


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidReport("it is no object where one was due")
    return value


def _names(value: object) -> list[str]:
    if not isinstance(value, list):
        raise InvalidReport("its names are no list")
    return [_line(name) for name in value]


def _line(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise InvalidReport("a text is none, or too long")
    return value if value.isascii() and value.isprintable() else " ".join(printable(value).split())


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidReport("a yes or no is neither")
    return value


def _numbers(value: object) -> frozenset[int]:
    if not isinstance(value, list) or not all(type(number) is int for number in value):
        raise InvalidReport("its lines are no list of numbers")
    return frozenset(value)


def _counts(value: object) -> TestCounts | None:
    if value is None:
        return None
    answer = _mapping(value)
    numbers = [answer.get(state) for state in _STATES]
    if set(answer) != set(_STATES) or not all(
        type(one) is int and 0 <= one < _HIGHEST_COUNT for one in numbers
    ):
        raise InvalidReport("its figures are no numbers of tests")
    return TestCounts(*(int(one) for one in numbers if one is not None))


_MOST_PROBLEMS = 20_000
_HIGHEST_LINE = 100_000_000
_LONGEST_FIELDS = {"path": 500, "code": 80, "message": 300, "snippet": 160, "version": 60, "note": 300}
_FIELDS = 9
_SEVERITIES = {severity.value: severity for severity in Severity}


class InvalidProblem(ValueError):
    """A row is not a valid problem."""


@dataclass(frozen=True, slots=True)
class CheckerRun:
    """One run of one checker. `python`: the project has a Python environment."""

    run: ToolRun
    problems: tuple[Problem, ...] = ()
    version: str = ""
    python: bool = True

    def with_note(self, note: str) -> CheckerRun:
        """Return the run with `note` added."""
        return replace(self, run=replace(self.run, note="; ".join(filter(None, [self.run.note, note]))))

    def incomparable(self, note: str) -> CheckerRun:
        """Return the run without an answer, with `note` added: with other settings, numbers of problems are not
        comparable."""
        return replace(self.with_note(note), run=replace(self.with_note(note).run, answer=Answer.UNAVAILABLE))


def failed_checker_run(note: str, duration: float = 0.0) -> CheckerRun:
    return CheckerRun(ToolRun(Answer.UNAVAILABLE, duration=duration, note=_clean_text(note, "note")))


def parse_checker_run(tool: str, outcome: ToolOutcome, duration: float) -> CheckerRun:
    """Parse the answer of a checker's run. `duration` is in seconds, measured by the supervisor."""
    metadata = outcome.metadata
    if outcome.is_error or metadata.get("state") not in [answer.value for answer in Answer]:
        return failed_checker_run(f"it could not be run: {outcome.content}", duration)
    answer = Answer(metadata["state"])
    note = _clean_text(metadata.get("note"), "note")
    if answer is not Answer.COMPLETE:
        return CheckerRun(
            ToolRun(answer, duration=duration, note=note),
            version=_clean_text(metadata.get("version"), "version"),
        )
    try:
        problems = _problems(tool, metadata)
    except InvalidProblem as error:
        return failed_checker_run(f"its output was not passed on as problems: {error}", duration)
    outside = metadata.get("outside")
    if type(outside) is int and 0 < outside <= _HIGHEST_LINE:
        note = f"{count_of(outside, 'problem')} outside the repository left out"
    return CheckerRun(
        ToolRun(answer, len(problems), duration, note),
        problems,
        _clean_text(metadata.get("version"), "version"),
        metadata.get("python") is not False,
    )


def _problems(tool: str, answer: Mapping[str, Any]) -> tuple[Problem, ...]:
    rows = answer.get("rows")
    if not isinstance(rows, list) or len(rows) > _MOST_PROBLEMS:
        raise InvalidProblem("there is no list of them, or one without end")
    return tuple(_problem(tool, row) for row in rows)


def _problem(tool: str, row: object) -> Problem:
    if not isinstance(row, list) or len(row) != _FIELDS:
        raise InvalidProblem("one has not nine fields")
    path, line, column, end_line, end_column, severity, code, message, snippet = row
    numbers = (line, column, end_line, end_column)
    if any(type(number) is not int or not 0 <= number <= _HIGHEST_LINE for number in numbers):
        raise InvalidProblem("a line or column is no number of one")
    if not isinstance(severity, str) or severity not in _SEVERITIES:
        raise InvalidProblem("a severity is not known")
    return Problem(
        tool,
        _path(path),
        line,
        column,
        _SEVERITIES[severity],
        _text(code, "code"),
        _text(message, "message"),
        end_line,
        end_column,
        _text(snippet, "snippet"),
    )


def _path(value: object) -> str:
    path = _text(value, "path")
    if not path or path != value or normpath(path) != path or path.startswith(("/", "../", ".git/")):
        raise InvalidProblem("a path is not one of the repository")
    if path in (".", "..", ".git") or not path.isprintable():
        raise InvalidProblem("a path is not one of the repository")
    return path


def _text(value: object, field: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_FIELDS[field]:
        raise InvalidProblem(f"a {field} is no text, or too long")
    return _clean_text(value, field)


def _clean_text(value: object, field: str) -> str:
    text = value if isinstance(value, str) else ""
    return " ".join(printable(text[: 20 * _LONGEST_FIELDS[field]]).split())[: _LONGEST_FIELDS[field]]
