"""Which rule decides one call, and what would have been allowed. Imported only where there are rules."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, product
from typing import Any, TypeVar

from bot.policy.globs import normalise
from bot.policy.matching import covers_path, covers_shell
from bot.policy.patches import patched_paths
from bot.policy.rule import PATCH_TOOL, SHELL_TOOL, WRITING_TOOLS, CommandRule, OpaqueRule, PathRule, Rule
from bot.policy.schema import Effect
from bot.policy.shell import ShellCommand, parse_shell

# Linux opens none that is longer.
_LONGEST_PATH = 4096
_MOST_SPELLINGS = 50
# Letters of what was tried that are compared with what is allowed.
_COMPARED = 200
_SIMPLE_FORM = "commands of plain words, joined by && || ; | alone"

AnyRule = TypeVar("AnyRule", bound=Rule)


def call(
    rules: Sequence[Rule], tool: str, arguments: Mapping[str, Any], root: str
) -> tuple[Rule, str] | None:
    """The strictest rule that covers the call, with the nearest allowed alternative; `None` where none is."""
    if tool == SHELL_TOOL:
        return _command(rules, arguments.get("command"))
    if tool == PATCH_TOOL and "path" not in arguments:
        judged = [_path(rules, tool, path, root) for path in patched_paths(arguments.get("patch"))]
        return max(filter(None, judged), key=lambda one: one[0].effect.rank, default=None)
    return _path(rules, tool, arguments.get("path", "."), root)


def forbids_writing(rules: Iterable[Rule], path: str, written: str = "") -> PathRule | None:
    """The first path rule for a writing tool that covers `path`, and does not except it under the name `written`."""
    for rule in rules:
        if isinstance(rule, PathRule) and rule.tools & WRITING_TOOLS and covers_path(rule, path, written):
            return rule
    return None


def _path(rules: Iterable[Rule], tool: str, path: object, root: str) -> tuple[Rule, str] | None:
    plain = normalise(path, root) if isinstance(path, str) else None
    if plain is None:
        return None
    path_rules = [rule for rule in rules if isinstance(rule, PathRule)]
    if len(plain) > _LONGEST_PATH:
        # No file has such a name; nobody waits for each glob to be tried on it, and nothing is allowed by it.
        over = _strictest(
            [one for one in path_rules if _is_for(one, tool) and one.effect is not Effect.ALLOW]
        )
        return None if over is None else (over, "")
    rule = _strictest([rule for rule in path_rules if _is_for(rule, tool) and covers_path(rule, plain)])
    if rule is None:
        return None
    return rule, _nearest_path(rule, path_rules, tool, plain)


def _is_for(rule: PathRule, tool: str) -> bool:
    """A patch can do what edit and write do, so what is said of either is said of it."""
    return tool in rule.tools or (tool == PATCH_TOOL and bool(rule.tools & WRITING_TOOLS))


def _command(rules: Iterable[Rule], command: object) -> tuple[Rule, str] | None:
    shell_rules = [rule for rule in rules if isinstance(rule, CommandRule | OpaqueRule)]
    if not shell_rules or not isinstance(command, str):
        return None
    shell = parse_shell(command)
    rule = _strictest([rule for rule in shell_rules if _covers(rule, shell)])
    if rule is None:
        return None
    return rule, _nearest_command(rule, shell_rules, shell)


def _covers(rule: CommandRule | OpaqueRule, shell: ShellCommand) -> bool:
    return shell.simple is None if isinstance(rule, OpaqueRule) else covers_shell(rule, shell)


def _strictest(matching: Sequence[AnyRule]) -> AnyRule | None:
    return max(matching, key=lambda rule: rule.effect.rank, default=None)


def _nearest_path(rule: PathRule, rules: Sequence[PathRule], tool: str, path: str) -> str:
    """Looking at the same file, where only changing it is refused; else where such a call is welcome."""
    if rule.effect is Effect.ALLOW:
        return ""
    if tool in WRITING_TOOLS:
        refusing = [one for one in rules if one.effect is not Effect.ALLOW and "view" in one.tools]
        if not any(covers_path(one, path) for one in refusing):
            return f"`view` of {path}"
    welcome = [*rule.exceptions]
    welcome += [
        glob for one in rules if one.effect is Effect.ALLOW and tool in one.tools for glob in one.globs
    ]
    found = difflib.get_close_matches(path[:_COMPARED], welcome, n=1, cutoff=0.0)
    return f"`{tool}` under {found[0]}" if found else ""


def _nearest_command(
    rule: CommandRule | OpaqueRule, rules: Iterable[CommandRule | OpaqueRule], shell: ShellCommand
) -> str:
    """Of the rule's exceptions and of what is allowed, what looks most like what was tried, and is not refused."""
    if rule.effect is Effect.ALLOW:
        return ""
    if isinstance(rule, OpaqueRule):
        return _SIMPLE_FORM
    commands = [one for one in rules if isinstance(one, CommandRule)]
    welcome = [*rule.exceptions]
    for one in commands:
        if one.effect is Effect.ALLOW:
            welcome += one.patterns
    refusing = [one for one in commands if one.effect is not Effect.ALLOW]
    spelled = [
        " ".join(words)
        for pattern in welcome
        for words in islice(product(*map(sorted, pattern)), _MOST_SPELLINGS)
        if not any(covers_shell(one, ShellCommand(None, (words,))) for one in refusing)
    ]
    tried = " ".join(shell.seen[0]) if shell.seen else ""
    found = difflib.get_close_matches(tried[:_COMPARED], spelled, n=1, cutoff=0.0)
    return f"`{found[0]}`" if found else ""
