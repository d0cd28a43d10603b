"""A skill as a value, and the reasons why a folder is none, each with rule and line."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from bot.skills.sources import NO_SOURCE, Entry, SkillSource

Origin = Literal["bundled", "repository", "user"]


class Finding(NamedTuple):
    """`file` is the name for people, `line` counts from 1, 0 for the file as a whole."""

    rule: str
    file: str
    line: int
    message: str

    def __str__(self) -> str:
        position = f"{self.file}:{self.line}" if self.line else self.file
        return f"{position}: {self.rule}: {self.message}"


class Skill(NamedTuple):
    """A folder with a SKILL.md: a skill, or one that the `findings` refuse. `folder` is relative to its `source`;
    `document` the name of its SKILL.md; the paths of its other `files` are relative to `folder`. `allowed_tools` is as
    written. `limit` says why no run may have the skill; with `manual` only a person starts it. `scope` is the folder of
    the repository that it is for, empty for all of it."""

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
    findings: tuple[Finding, ...] = ()

    @property
    def path(self) -> str:
        return f"{self.source.name}/{self.folder}"


class Discovered(NamedTuple):
    """The folders with a SKILL.md of one source, in order; `notes` are about the source as a whole."""

    source: SkillSource
    skills: Sequence[Skill]
    notes: tuple[str, ...] = ()
