"""The policy file's keys about commands: `checks`, `setup`, `bring`, `sandbox`, `dangerous`."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import yaml

from bot.policy import nodes
from bot.policy.dangerous import NAMES
from bot.policy.key_kinds import (
    Key,
    Kind,
    Section,
    Table,
    choice,
    glob,
    line,
    list_of,
    script,
    seconds,
    whole,
)
from bot.policy.keys_tiers import EGRESS
from bot.policy.nodes import Problems
from bot.policy.tiers import CHECK_TIMEOUT, SETUP_TIMEOUT
from bot.policy.values import CheckSpec, DangerousPolicy, SandboxLimits, SandboxPolicy, SetupStep

MAX_TIMEOUT = 6 * 3600

Step = TypeVar("Step")

_COMMAND = Key("command", script(), "A shell command; it may have several lines.", "this has no `command`")
_NAME = Key("name", line(), "What the check is called; by default its command.")
_SECONDS, _HOW_LONG = seconds(MAX_TIMEOUT), "How long it may take."
_CHECK_TIMEOUT = Key("timeout", _SECONDS, _HOW_LONG, default=CHECK_TIMEOUT)
_SETUP_TIMEOUT = Key("timeout", _SECONDS, _HOW_LONG, default=SETUP_TIMEOUT)
_PATH_OR_GLOB = replace(glob(), words="path or glob")
_JUNIT = Key("junit", _PATH_OR_GLOB, "The JUnit XML that it writes, so that tests are compared by name.")
_COVERAGE = Key(
    "coverage", _PATH_OR_GLOB, "The coverage report that it writes, of which the changed lines are shown."
)
_EGRESS = Key("egress", EGRESS, "Package registries that this command may reach, by preset.", default="none")
CHECK = Table((_NAME, _COMMAND, _CHECK_TIMEOUT, _JUNIT, _COVERAGE))
SETUP_STEP = Table((_COMMAND, _SETUP_TIMEOUT, _EGRESS))


def _steps(
    table: Table, make: Callable[[str, Section], Step], words: str
) -> Kind[list[tuple[yaml.Node, Step]]]:
    """A list of commands, each as text or as a mapping."""

    def read(node: yaml.Node, problems: Problems) -> list[tuple[yaml.Node, Step]]:
        steps = []
        for item in nodes.items(node, problems):
            if isinstance(item, yaml.ScalarNode):
                command, section = nodes.script(item, problems), Section({}, {})
            else:
                section = table.read(item, problems)
                command = section.values.get(_COMMAND.name)
            if command is not None:
                steps.append((item, make(command, section)))
        return steps

    schema: dict[str, Any] = {
        "type": "array",
        "items": {"anyOf": [_COMMAND.kind.schema, table.schema()]},
    }
    return Kind(read, schema, words)


def _check(command: str, section: Section) -> CheckSpec:
    name = section.get(_NAME, "") or " ".join(command.split())[:80]
    timeout = section.get(_CHECK_TIMEOUT, CHECK_TIMEOUT)
    junit, coverage = section.get(_JUNIT, ""), section.get(_COVERAGE, "")
    return CheckSpec(name, command, timeout, (junit,) if junit else (), (coverage,) if coverage else ())


def _setup_step(command: str, section: Section) -> SetupStep:
    return SetupStep(command, section.get(_SETUP_TIMEOUT, SETUP_TIMEOUT), section.get(_EGRESS, ()))


_CHECKS = _steps(CHECK, _check, "list of commands, or of `{name, command, timeout, junit, coverage}`")
_SETUP = _steps(SETUP_STEP, _setup_step, "list of commands, or of `{command, timeout, egress}`")


def read_checks(node: yaml.Node, problems: Problems) -> tuple[CheckSpec, ...]:
    checks: dict[str, CheckSpec] = {}
    for item, check in _CHECKS.read(node, problems) or ():
        if check.name in checks:
            problems.add(item, f"a second check has the name `{check.name}`")
        checks[check.name] = check
    return tuple(checks.values())


def read_bring(node: yaml.Node, problems: Problems) -> tuple[str, ...]:
    brought: list[str] = []
    for item in nodes.items(node, problems):
        folder = nodes.line(item, problems)
        if folder is None:
            continue
        plain = posixpath.normpath(folder)
        if plain.startswith("/") or plain == "." or ".." in plain.split("/"):
            problems.add(item, "expected a folder inside the repository, relative to its root")
        elif plain.split("/")[0] == ".git":
            problems.add(item, "the repository's .git is never brought in")
        else:
            brought.append(plain)
    return tuple(brought)


CHECKS = Kind(read_checks, _CHECKS.schema, _CHECKS.words)
SETUP: Kind[tuple[SetupStep, ...]] = _SETUP.into(lambda steps: tuple(step for _, step in steps))
BRING: Kind[tuple[str, ...]] = Kind(
    read_bring,
    {"type": "array", "items": {**line().schema, "pattern": r"^[^/\u0000-\u001f\u007f-\u009f]"}},
    "list of folders",
)


_MOST_MIB = 64 * 1024
_MOST_PROCESSES = 10_000
LIMITS = Table(
    (
        Key("memory", whole(64, _MOST_MIB), "MiB that its processes hold together."),
        Key("processes", whole(10, _MOST_PROCESSES), "Processes at once."),
        Key("file", whole(1, _MOST_MIB), "MiB of one file."),
        Key("disk", whole(1, _MOST_MIB), "MiB that all commands together add to the work tree and tmp."),
    )
)
SANDBOX = Table((Key("limits", LIMITS.over(SandboxLimits()), "For each command with all that it starts."),))
SANDBOX_KIND: Kind[SandboxPolicy] = SANDBOX.over(SandboxPolicy())
_ALLOW: Kind[tuple[str, ...]] = list_of(choice(NAMES), most=len(NAMES), once=True)
DANGEROUS = Table((Key("allow", _ALLOW, "Built-in rules that do not hold here, by name."),))
DANGEROUS_KIND: Kind[DangerousPolicy] = DANGEROUS.over(DangerousPolicy())
