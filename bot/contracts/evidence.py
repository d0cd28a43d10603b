"""Results of checkers, language servers, tests and coverage, and their comparison before and after a change."""

import re
from enum import StrEnum
from typing import Literal, NamedTuple

_NUMBER = re.compile(r"\d+\.\d[\w.+-]*")


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Answer(StrEnum):
    """How a tool answered. Only `COMPLETE` is a statement about the code; no problems from the other two does
    not mean "clean"."""

    COMPLETE = "complete"
    TIMED_OUT = "timed_out"
    UNAVAILABLE = "unavailable"


class Problem(NamedTuple):
    """One diagnostic. Lines and columns begin at 1, columns count code points; 0 if the tool gives none.
    `message` is its first line, `snippet` the source line."""

    tool: str
    path: str
    line: int
    column: int
    severity: Severity
    code: str
    message: str
    snippet: str = ""


class ToolRun(NamedTuple):
    """One run of a checker over the whole project. `duration` is in seconds; `note` says why there is no
    answer, or what makes it unreliable."""

    answer: Answer
    problems: int = 0
    duration: float = 0.0
    note: str = ""


class CheckerComparison(NamedTuple):
    """A checker's results before and after the change. `new` and `fixed` are the listed problems, `new_count`
    and `fixed_count` the totals; `remaining` counts problems present on both sides. `environment` counts new
    problems that a missing dependency explains. The comparison holds only if both runs are complete.

    `projects` are the folders that the checker ran in, empty for the repository as a whole.
    """

    tool: str
    version: str
    command: str
    before: ToolRun
    after: ToolRun
    new: tuple[Problem, ...] = ()
    fixed: tuple[Problem, ...] = ()
    new_count: int = 0
    fixed_count: int = 0
    remaining: int = 0
    environment: int = 0
    projects: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return self.before.answer is Answer.COMPLETE and self.after.answer is Answer.COMPLETE

    def total(self, kind: Literal["new", "fixed"]) -> int:
        """The number of problems of a kind, with those that are not listed."""
        number: int = getattr(self, f"{kind}_count")
        return max(number, len(getattr(self, kind)))

    @property
    def named(self) -> str:
        """The tool's name and version number, and the folder it ran in."""
        number = _NUMBER.search(self.version)
        return f"{self.tool} {number[0] if number else self.version}".rstrip() + self.where

    @property
    def where(self) -> str:
        """` in web`, or ` in 3 projects`; empty for the repository as a whole."""
        if len(self.projects) > 1:
            return f" in {len(self.projects)} projects"
        return f" in {self.projects[0]}" if self.projects and self.projects[0] else ""


class ServerUse(NamedTuple):
    """A language server in a run. `note` says why it is off, empty if it is on."""

    name: str
    version: str
    note: str = ""


class TestCounts(NamedTuple):
    """Counts of one run of one check."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def ran(self) -> int:
        return self.passed + self.failed


class TestChanges(NamedTuple):
    """The tests of a check before and after the change, by name. The tuples are the listed tests; `counts` has
    the totals by field name.

    `broken` passed before and fail now. `mended` failed before and pass now, and the change fixed them: if it touches
    tests, they also pass as the base has them. `appeared` and `new_failing` ran after only, `vanished` before only:
    they are reported as "did not run", never as "fixed". `flaky` both failed and passed on the same code; `newly_flaky`
    are those of them that passed before the change. `note` says what makes the comparison unreliable. `reasons` are
    pairs of a newly failing test and the runner's one-line reason.
    """

    before: TestCounts | None = None
    after: TestCounts | None = None
    broken: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    appeared: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    source: str = ""
    note: str = ""
    newly_flaky: tuple[str, ...] = ()
    new_failing: tuple[str, ...] = ()
    reasons: tuple[tuple[str, str], ...] = ()
