"""A skill as a value, and the findings of its validation, each with rule and line."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, NamedTuple

from bot.skills.sources import NO_SOURCE, Entry, SkillSource

Origin = Literal["bundled", "repository", "user"]


class Level(StrEnum):
    """`refused`: the skill is not loaded. `against`: it is loaded, although it violates the specification.
    `note`: a hint for its author."""

    REFUSED = "refused"
    AGAINST = "against the specification"
    NOTE = "note"


class Finding(NamedTuple):
    """`file` is the name for people, `line` counts from 1, 0 for the file as a whole."""

    rule: str
    level: Level
    file: str
    line: int
    message: str

    def __str__(self) -> str:
        position = f"{self.file}:{self.line}" if self.line else self.file
        return f"{position}: {self.rule}: {self.message}"


class Skill(NamedTuple):
    """`folder` is relative to its `source`; `document` the name of its SKILL.md; the paths of its other `files` are
    relative to `folder`. `allowed_tools` is as written.
    `limit` says why no run may have the skill; with `manual` only a person starts it. `scope` is the folder of the
    repository that it is for, empty for all of it."""

    name: str
    description: str
    origin: Origin
    folder: str
    document: str = "SKILL.md"
    allowed_tools: str = ""
    compatibility: str = ""
    files: tuple[Entry, ...] = ()
    limit: str = ""
    manual: bool = False
    scope: str = ""
    source: SkillSource = NO_SOURCE

    @property
    def path(self) -> str:
        return f"{self.source.name}/{self.folder}"


class CheckedSkill(NamedTuple):
    """The result of one folder's validation: a skill, unless a finding refuses it."""

    folder: str
    skill: Skill | None
    findings: tuple[Finding, ...] = ()

    @property
    def conforms(self) -> bool:
        """Whether it strictly conforms to the specification."""
        return all(finding.level is Level.NOTE for finding in self.findings)


class Discovered(NamedTuple):
    """The skills of one source, in the order of their folders; `notes` are about the source as a whole."""

    source: SkillSource
    checked: Sequence[CheckedSkill]
    notes: tuple[str, ...] = ()
