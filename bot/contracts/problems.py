"""What checkers and language servers find in code, and how two such finds compare. See `bot/evidence`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_NUMBER = re.compile(r"\d+\.\d[\w.+-]*")


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Answer(StrEnum):
    """How a tool answered. Only `COMPLETE` says anything about the code: silence of the other two is not "clean"."""

    COMPLETE = "complete"
    TIMED_OUT = "timed_out"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Problem:
    """One find. Lines and columns begin at 1, columns count code points; 0 where the tool names none. `message` is its
    first line, `snippet` the source line it stands on."""

    tool: str
    path: str
    line: int
    column: int
    severity: Severity
    code: str
    message: str
    end_line: int = 0
    end_column: int = 0
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One run of a checker over the whole project. `duration` is in seconds; `note` says why there is no answer, or
    what makes it doubtful."""

    answer: Answer
    problems: int = 0
    duration: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """A checker before and after the change. `new` and `fixed` are those shown, `new_count` and `fixed_count` all of
    them; `remaining` were there before and are. `environment` counts new ones that a missing dependency explains,
    `uncovered` are on lines that the change left alone, in what could not be read before. No figure but those of the
    runs holds unless both are complete.

    `projects` are the folders that it ran in, one after the other; empty for the repository as a whole."""

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
    uncovered: tuple[Problem, ...] = ()
    uncovered_count: int = 0
    projects: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return self.before.answer is Answer.COMPLETE and self.after.answer is Answer.COMPLETE

    @property
    def named(self) -> str:
        """The tool, the number of its version, beside which most print their name and more, and where it ran."""
        number = _NUMBER.search(self.version)
        return f"{self.tool} {number[0] if number else self.version}".rstrip() + self.where

    @property
    def where(self) -> str:
        """` in web`, or ` in 3 projects`; empty for the repository as a whole."""
        if len(self.projects) > 1:
            return f" in {len(self.projects)} projects"
        return f" in {self.projects[0]}" if self.projects and self.projects[0] else ""


@dataclass(frozen=True, slots=True)
class ServerUse:
    """A language server in a run. `first_answer` is seconds from its start, 0 where none came; `memory` the most that
    it held with all that it started, in bytes; `note` says why it is off, empty where it is not."""

    name: str
    version: str
    first_answer: float = 0.0
    asked: int = 0
    waited: float = 0.0
    memory: int = 0
    note: str = ""
