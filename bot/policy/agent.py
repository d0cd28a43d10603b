"""The policy file's key `agent`: how the model is worked with."""

from __future__ import annotations

import re
from collections.abc import Mapping

import yaml

from bot.policy import nodes
from bot.policy.nodes import Problems
from bot.policy.schema import AgentPolicy, StopHookPolicy

AGENT_KEYS = ("stop_hook", "instructions")
STOP_HOOK_KEYS = ("todos", "checks")
MOST_INSTRUCTIONS = 10
_FILE_NAME = re.compile(r"[\w.-]{1,100}")


def read_agent(node: yaml.Node, problems: Problems) -> AgentPolicy:
    found = nodes.entries(node, AGENT_KEYS, problems)
    default = AgentPolicy()
    return AgentPolicy(
        stop_hook=_read_stop_hook(found["stop_hook"], problems)
        if "stop_hook" in found
        else default.stop_hook,
        instructions=(
            _read_instructions(found["instructions"], problems)
            if "instructions" in found
            else default.instructions
        ),
    )


def _read_stop_hook(node: yaml.Node, problems: Problems) -> StopHookPolicy:
    found = nodes.entries(node, STOP_HOOK_KEYS, problems)
    default = StopHookPolicy()
    return StopHookPolicy(
        todos=_truth(found, "todos", default.todos, problems),
        checks=_truth(found, "checks", default.checks, problems),
    )


def _read_instructions(node: yaml.Node, problems: Problems) -> tuple[str, ...]:
    """Names of files, looked for from the root down to the folder that the request names."""
    names: list[str] = []
    for item in nodes.items(node, problems):
        name = nodes.line(item, problems)
        if name is None:
            continue
        if not _FILE_NAME.fullmatch(name) or name in (".", ".."):
            problems.add(item, "expected the name of a file, without a folder, as in AGENTS.md")
        elif name in names:
            problems.add(item, f"`{name}` is listed twice")
        elif len(names) == MOST_INSTRUCTIONS:
            problems.add(item, f"at most {MOST_INSTRUCTIONS} names are looked for")
        else:
            names.append(name)
    return tuple(names)


def _truth(found: Mapping[str, yaml.Node], key: str, otherwise: bool, problems: Problems) -> bool:
    value = nodes.truth(found[key], problems) if key in found else None
    return otherwise if value is None else value
