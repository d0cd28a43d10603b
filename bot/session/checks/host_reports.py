"""Read the tool host's answers about reports and checkers. They are untrusted: the host ran code of the repository."""

import json
from functools import cache
from posixpath import normpath
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, TypeAdapter, ValidationError

from bot.contracts.errors import AgentError
from bot.contracts.evidence import Answer, Problem, Severity, TestCounts, ToolRun
from bot.contracts.formatting import count_of
from bot.contracts.plain_text import printable
from bot.contracts.tools import ToolOutcome
from bot.evidence.checker_comparison import ProjectRun
from bot.evidence.tests import SuiteResult, count_names

_MOST_NAMES = 100_000
_MOST_PROBLEMS = 20_000
_HIGHEST_LINE = 100_000_000
_LONGEST_NOTE = 300


class InvalidReport(AgentError):
    """The host's answer has an invalid shape."""


def _one_line(text: str) -> str:
    return text if text.isascii() and text.isprintable() else " ".join(printable(text).split())


def _repository_path(path: str) -> str:
    outside = normpath(path) != path or path.startswith(("/", "../", ".git/")) or path in (".", "..", ".git")
    if outside or not path.isprintable():
        raise ValueError("it is not one of the repository")
    return path


_Line = Annotated[str, Field(max_length=400), AfterValidator(_one_line)]
_Names = Annotated[tuple[_Line, ...], Field(max_length=_MOST_NAMES)]
_State = Annotated[str, Field(pattern="^(?:passed|failed|skipped)$")]
_Count = Annotated[int, Field(ge=0, lt=1 << 31)]
_Position = Annotated[int, Field(ge=0, le=_HIGHEST_LINE)]
_Row = tuple[
    Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_repository_path)],
    _Position,
    _Position,
    Severity,
    Annotated[str, Field(max_length=80), AfterValidator(_one_line)],
    Annotated[str, Field(max_length=300), AfterValidator(_one_line)],
    Annotated[str, Field(max_length=160), AfterValidator(_one_line)],
]
"""Path, line, column, severity, code, message, snippet."""


def _clean_text(text: str) -> str:
    return " ".join(printable(text[: 20 * _LONGEST_NOTE]).split())[:_LONGEST_NOTE]


_Note = Annotated[str, AfterValidator(_clean_text)]


class _CheckerRun(BaseModel, strict=True):
    state: Answer
    note: _Note = ""
    version: _Note = ""
    rows: Annotated[tuple[_Row, ...], Field(max_length=_MOST_PROBLEMS)]
    outside: _Position


class _Suite(BaseModel, strict=True):
    source: _Line
    names: dict[_State, _Names]
    counts: dict[_State, _Count] | None = None
    whole: bool
    named: bool
    note: _Line
    reasons: Annotated[dict[_Line, _Line], Field(max_length=2_000)] = {}


def parse_suite(value: object) -> SuiteResult | None:
    """Return the tests of one run, `None` if there are none. Raises `InvalidReport`."""
    if value is None:
        return None
    suite: _Suite = _read(_Suite, value)
    failed = frozenset(suite.names.get("failed", ()))
    return SuiteResult(
        suite.source,
        count_names(suite.names),
        TestCounts(**suite.counts) if suite.counts else None,
        suite.whole,
        suite.named,
        suite.note,
        {name: reason for name, reason in suite.reasons.items() if name in failed},
    )


_adapter = cache(TypeAdapter[Any])


def _read(kind: Any, value: object) -> Any:
    try:
        return _adapter(kind).validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidReport(_clean_text(f"{where}: {first['msg']}")) from None


def failed_checker_run(note: str, duration: float = 0.0) -> ProjectRun:
    return ProjectRun(ToolRun(Answer.UNAVAILABLE, duration=duration, note=_clean_text(note)))


def parse_checker_run(tool: str, outcome: ToolOutcome, duration: float) -> ProjectRun:
    """Parse the answer of a checker's run. `duration` is in seconds, measured by the supervisor."""
    if outcome.is_error:
        return failed_checker_run(f"it could not be run: {outcome.content}", duration)
    try:
        run: _CheckerRun = _read(_CheckerRun, dict(outcome.metadata))
    except InvalidReport as error:
        return failed_checker_run(f"its output was not passed on as problems: {error}", duration)
    problems = tuple(Problem(tool, *row) for row in run.rows) if run.state is Answer.COMPLETE else ()
    note = f"{count_of(run.outside, 'problem')} outside the repository left out" if run.outside else run.note
    return ProjectRun(ToolRun(run.state, len(problems), duration, note), problems, run.version)
