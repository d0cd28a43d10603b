"""The policy file's keys about what is run in the repository beside the agent: `checks`, `setup`, `bring`."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import yaml

from bot.policy import nodes
from bot.policy.defaults import CHECK_TIMEOUT, SETUP_TIMEOUT
from bot.policy.kinds import Kind, glob, line, script, seconds
from bot.policy.nodes import Problems
from bot.policy.schema import CheckSpec, SetupStep
from bot.policy.table import Found, Key, Table
from bot.policy.tiers import EGRESS

MAX_TIMEOUT = 6 * 3600

Step = TypeVar("Step")

_COMMAND = Key("command", script(), "A shell command; it may have several lines.", "this has no `command`")
_NAME = Key("name", line(), "What the check is called; by default its command.")
_SECONDS, _HOW_LONG = seconds(MAX_TIMEOUT), "How long it may take."
_CHECK_TIMEOUT = Key("timeout", _SECONDS, _HOW_LONG, default=CHECK_TIMEOUT)
_SETUP_TIMEOUT = Key("timeout", _SECONDS, _HOW_LONG, default=SETUP_TIMEOUT)
_PLACE = replace(glob(), words="path or glob")
_JUNIT = Key("junit", _PLACE, "The JUnit XML that it writes, so that tests are compared by name.")
_COVERAGE = Key(
    "coverage", _PLACE, "The coverage report that it writes, of which the changed lines are shown."
)
_EGRESS = Key("egress", EGRESS, "Package registries that this command may reach, by preset.", default="none")
CHECK = Table((_NAME, _COMMAND, _CHECK_TIMEOUT, _JUNIT, _COVERAGE))
SETUP_STEP = Table((_COMMAND, _SETUP_TIMEOUT, _EGRESS))


def _steps(
    table: Table, make: Callable[[str, Found], Step], words: str
) -> Kind[list[tuple[yaml.Node, Step]]]:
    """A list of commands, each by itself or as a mapping."""

    def read(node: yaml.Node, problems: Problems) -> list[tuple[yaml.Node, Step]]:
        steps = []
        for item in nodes.items(node, problems):
            if isinstance(item, yaml.ScalarNode):
                command, found = nodes.script(item, problems), Found({}, {})
            else:
                found = table.read(item, problems)
                command = found.values.get(_COMMAND.name)
            if command is not None:
                steps.append((item, make(command, found)))
        return steps

    schema: dict[str, Any] = {
        "type": "array",
        "items": {"anyOf": [_COMMAND.kind.schema, table.schema()]},
    }
    return Kind(read, schema, words)


def _check(command: str, found: Found) -> CheckSpec:
    name = found.get(_NAME, "") or " ".join(command.split())[:80]
    timeout = found.get(_CHECK_TIMEOUT, CHECK_TIMEOUT)
    junit, coverage = found.get(_JUNIT, ""), found.get(_COVERAGE, "")
    return CheckSpec(name, command, timeout, (junit,) if junit else (), (coverage,) if coverage else ())


def _setup_step(command: str, found: Found) -> SetupStep:
    return SetupStep(command, found.get(_SETUP_TIMEOUT, SETUP_TIMEOUT), found.get(_EGRESS, ()))


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
