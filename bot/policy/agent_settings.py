"""Keys of the agent and its sandbox: instruction files, limits of commands, dangerous commands, attachments,
diagnostics."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from bot.contracts.request import Tier
from bot.ecosystems.registry import checker_names, server_names
from bot.policy.dangerous import NAMES
from bot.policy.field_types import FROZEN, ONCE, Line, key, line, one_of, seconds, whole, word

MAX_WAIT = 30
"""Seconds: the longest time that a policy may let an edit wait for diagnostics. The default is 2."""
# Only the loader checks characters beyond ASCII: \w differs between regular expression dialects.
_NAME = r"[^\u0000-,/:-@\[-^`{-\u007f]{1,100}"
_File = Annotated[
    str,
    line(
        "the name of a file, as in AGENTS.md or .github/copilot-instructions.md",
        r"(?:(?!\.\.?/)[\w.-]{1,100}/){0,3}(?!\.\.?$)[\w.-]{1,100}",
        schema=rf"(?:(?!\.\.?/){_NAME}/){{0,3}}(?!\.\.?$){_NAME}",
    ),
]
_Mib = Annotated[int, whole(1, 64 * 1024)]
# A schedule has no author of a text.
_AUTHORS = (Tier.MAINTAINER, Tier.CONTRIBUTOR, Tier.OUTSIDER, Tier.BOT)


@dataclass(frozen=True)
class AgentPolicy:
    """`instructions` are names of files whose text goes into the first message."""

    instructions: Annotated[tuple[_File, ...], Field(max_length=10), ONCE] = key(
        ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"),
        "Names of instruction files, read from the base: in each folder the first that is not empty.",
    )


@dataclass(frozen=True)
class SandboxLimits:
    """Limits of each command with all its processes; sizes in MiB. The defaults are those of
    `bot/toolhost/resource_limits.py`."""

    memory: Annotated[int, whole(64, 64 * 1024)] = key(8192, "Memory of all its processes, in MiB.")
    processes: Annotated[int, whole(10, 10_000)] = key(1000, "Processes at the same time.")
    file: _Mib = key(4096, "Size of one file, in MiB.")
    disk: _Mib = key(8192, "Growth of the work tree and temporary folder by all commands, in MiB.")


@dataclass(frozen=True)
class DangerousPolicy:
    """Built-in rules for commands that are switched off, by their names in `bot.policy.dangerous`."""

    allow: Annotated[tuple[Annotated[str, one_of(NAMES)], ...], ONCE] = key(
        (), "Built-in rules to turn off, by name."
    )


@dataclass(frozen=True)
class SandboxPolicy:
    """Resources that a command may use."""

    limits: SandboxLimits = key(SandboxLimits(), "Limits of each command and its child processes.")


@dataclass(frozen=True)
class AttachmentsPolicy:
    """Whose pictures and files are sent to the model."""

    tiers: frozenset[Annotated[Tier, one_of(_AUTHORS)]] = key(
        frozenset({Tier.MAINTAINER}), "Tiers of the authors whose pictures and files are sent."
    )


@dataclass(frozen=True)
class ServerPolicy:
    """Settings of one language server or parser. `command` starts it, empty for the default."""

    command: Line = key("", "The command that starts it, split into words like a shell does.")
    off: bool = key(False, "Turn this one off.")


@dataclass(frozen=True)
class DiagnosticsPolicy:
    """Diagnostics of code. `wait` is in seconds for one edit; `servers` is by the names of `bot.ecosystems.checker`.
    `checkers` run before and after the change: `None` for those that the repository uses."""

    off: bool = key(False, "Turn off language servers and checkers.")
    wait: Annotated[float, seconds(MAX_WAIT)] = key(
        2.0, "The longest time that an edit's result waits for diagnostics."
    )
    servers: Annotated[Mapping[Annotated[str, one_of(server_names())], ServerPolicy], FROZEN] = key(
        None,
        "Settings of language servers and parsers by name.",
        factory=dict,
        title=f"a mapping by name, one of {', '.join(server_names())}",
    )
    checkers: (
        Annotated[tuple[Annotated[str, one_of(checker_names())], ...], ONCE, word("none", ())] | None
    ) = key(None, "Checkers that run before and after; by default those that are available.")
