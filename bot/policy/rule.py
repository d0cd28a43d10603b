"""The three kinds of rules. `name` is the rule and its position: `rules[2] (.github/agent.yml:14)`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bot.contracts.request import Tier

# The tools that change a path, those that only read one, and the shell.
PATCH_TOOL = "patch"
WRITING_TOOLS = frozenset({"edit", "write", PATCH_TOOL})
READING_TOOLS = frozenset({"view", "ls", "glob", "grep"})
SHELL_TOOL = "bash"

# The alternative words at one position of a command; a pattern is a list of positions from the first on.
Token = frozenset[str]
CommandPattern = tuple[Token, ...]


class Effect(StrEnum):
    """What a rule does with a call that it matches, from mild to strict. The strictest match decides."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    @property
    def rank(self) -> int:
        return tuple(Effect).index(self)


@dataclass(frozen=True, slots=True)
class PathRule:
    """Globs relative to the root, for calls of `tools`; `exceptions` are globs that the rule does not cover."""

    name: str
    effect: Effect
    reason: str
    tiers: frozenset[Tier]
    globs: tuple[str, ...]
    exceptions: tuple[str, ...]
    tools: frozenset[str]


@dataclass(frozen=True, slots=True)
class CommandRule:
    """Token lists that a command begins with; `exceptions` are longer ones that the rule does not cover."""

    name: str
    effect: Effect
    reason: str
    tiers: frozenset[Tier]
    patterns: tuple[CommandPattern, ...]
    exceptions: tuple[CommandPattern, ...]


@dataclass(frozen=True, slots=True)
class OpaqueRule:
    """For commands that the shell grammar cannot prove simple. Without one they are allowed."""

    name: str
    effect: Effect
    reason: str
    tiers: frozenset[Tier]


Rule = PathRule | CommandRule | OpaqueRule


_HEADERS = tuple(f"*** {what}:" for what in ("Add File", "Delete File", "Update File", "Move to"))


def patched_paths(patch: object) -> list[str]:
    """Return the paths in a patch's text. Only headers begin in the first column: every other line has a prefix. The
    tool itself asks again for each file before it writes."""
    if not isinstance(patch, str):
        return []
    headers = (line.partition(":")[2].strip() for line in patch.split("\n") if line.startswith(_HEADERS))
    return [path for path in headers if path]
