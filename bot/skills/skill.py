"""A skill as a value, and what is wrong with one: each finding names its rule and its line."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, NamedTuple

Origin = Literal["bundled", "repository"]


class Level(StrEnum):
    """`refused`: the skill is not loaded. `against`: it is loaded, though against the specification. `note`: a word
    to whoever wrote it."""

    REFUSED = "refused"
    AGAINST = "against the specification"
    NOTE = "note"


class Finding(NamedTuple):
    """One finding. `file` as it is named to people, `line` from 1, 0 where it is about the file as a whole."""

    rule: str
    level: Level
    file: str
    line: int
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.rule}: {self.message}"


class SkillFile(NamedTuple):
    """A file of a skill besides its SKILL.md. `path` is relative to the skill's folder, `size` in bytes."""

    path: str
    size: int
    executable: bool = False


class Skill(NamedTuple):
    """`folder` is where it was found, relative to the repository or to the bundled ones; `document` the name of its
    SKILL.md. `allowed_tools` is as written, in pieces."""

    name: str
    description: str
    origin: Origin
    folder: str
    document: str = "SKILL.md"
    allowed_tools: tuple[str, ...] = ()
    model: str = ""
    compatibility: str = ""
    files: tuple[SkillFile, ...] = ()


class Judged(NamedTuple):
    """What came of one folder: a skill, unless a finding refuses it."""

    folder: str
    skill: Skill | None
    findings: tuple[Finding, ...] = ()

    @property
    def conforms(self) -> bool:
        """Whether it is a skill by the letter of the specification."""
        return conform(self.findings)


def conform(findings: Sequence[Finding]) -> bool:
    return all(finding.level is Level.NOTE for finding in findings)
