"""Find the rule that decides a call, and the nearest allowed alternative. Imported only if the policy has rules."""

import difflib
from collections.abc import Iterable, Sequence
from itertools import islice, product
from typing import TypeVar

from bot.contracts.globs import matches, normalise
from bot.contracts.tool_descriptions import PATCH, SHELL
from bot.contracts.tools import ToolArguments
from bot.policy.rule import (
    WRITING_TOOLS,
    CommandPattern,
    CommandRule,
    Effect,
    OpaqueRule,
    PathRule,
    Rule,
    patched_paths,
)
from bot.policy.shell import ShellCommand, parse_shell
from bot.policy.wrappers import Words

# The limit of Linux.
_LONGEST_PATH = 4096
_MOST_SPELLINGS = 50
# Characters of a path or command that are compared with the allowed ones.
_COMPARED = 200
_SIMPLE_FORM = "commands of plain words, joined by && || ; | alone"

AnyRule = TypeVar("AnyRule", bound=Rule)


def call(rules: Sequence[Rule], tool: str, arguments: ToolArguments, root: str) -> tuple[Rule, str] | None:
    """Return the strictest rule that covers the call and the nearest allowed alternative; `None` without such a
    rule."""
    if tool == SHELL:
        return _command(rules, arguments.get("command"))
    if tool == PATCH and "path" not in arguments:
        matches = [_path(rules, tool, path, root) for path in patched_paths(arguments.get("patch"))]
        return max(filter(None, matches), key=lambda one: one[0].effect.rank, default=None)
    return _path(rules, tool, arguments.get("path", "."), root)


def _path(rules: Iterable[Rule], tool: str, path: object, root: str) -> tuple[Rule, str] | None:
    plain = normalise(path, root) if isinstance(path, str) else None
    if plain is None or len(plain) > _LONGEST_PATH:
        return None  # no file has such a name
    path_rules = [rule for rule in rules if isinstance(rule, PathRule)]
    # Rules for edit or write apply to patch, which can do the same.
    tools = WRITING_TOOLS if tool == PATCH else {tool}
    decisive = _strictest([rule for rule in path_rules if rule.tools & tools and covers_path(rule, plain)])
    return None if decisive is None else (decisive, _nearest_path(decisive, path_rules, tool, plain))


def _command(rules: Iterable[Rule], command: object) -> tuple[Rule, str] | None:
    shell_rules = [rule for rule in rules if isinstance(rule, CommandRule | OpaqueRule)]
    if not shell_rules or not isinstance(command, str):
        return None
    shell = parse_shell(command)
    covering = [
        rule
        for rule in shell_rules
        if (shell.simple is None if isinstance(rule, OpaqueRule) else covers_shell(rule, shell))
    ]
    decisive = _strictest(covering)
    return None if decisive is None else (decisive, _nearest_command(decisive, shell_rules, shell))


def _strictest(matching: Sequence[AnyRule]) -> AnyRule | None:
    return max(matching, key=lambda rule: rule.effect.rank, default=None)


def _nearest_path(rule: PathRule, rules: Sequence[PathRule], tool: str, path: str) -> str:
    """Return `view` of the same file if only changing it is refused; else a path where the call is allowed."""
    if rule.effect is Effect.ALLOW:
        return ""
    if tool in WRITING_TOOLS:
        refusing = [one for one in rules if one.effect is not Effect.ALLOW and "view" in one.tools]
        if not any(covers_path(one, path) for one in refusing):
            return f"`view` of {path}"
    allowing = [one for one in rules if one.effect is Effect.ALLOW and tool in one.tools]
    closest = _closest(path, [*rule.exceptions, *(glob for one in allowing for glob in one.paths)])
    return f"`{tool}` under {closest}" if closest else ""


def _nearest_command(
    rule: CommandRule | OpaqueRule, rules: Iterable[CommandRule | OpaqueRule], shell: ShellCommand
) -> str:
    """Return the command most similar to this one among the rule's exceptions and the allowed ones."""
    if rule.effect is Effect.ALLOW:
        return ""
    if isinstance(rule, OpaqueRule):
        return _SIMPLE_FORM
    commands = [one for one in rules if isinstance(one, CommandRule)]
    allowed = [pattern for one in commands if one.effect is Effect.ALLOW for pattern in one.commands]
    refusing = [one for one in commands if one.effect is not Effect.ALLOW]
    spelled = [
        " ".join(words)
        for pattern in (*rule.exceptions, *allowed)
        for words in islice(product(*map(sorted, pattern)), _MOST_SPELLINGS)
        if not any(covers_shell(one, ShellCommand(None, (words,))) for one in refusing)
    ]
    closest = _closest(" ".join(shell.seen[0]) if shell.seen else "", spelled)
    return f"`{closest}`" if closest else ""


def _closest(tried: str, choices: Sequence[str]) -> str:
    return next(iter(difflib.get_close_matches(tried[:_COMPARED], choices, n=1, cutoff=0.0)), "")


def covers_path(rule: PathRule, path: str, written: str = "") -> bool:
    """Whether `rule` covers `path`, relative to the root. A path outside is covered by no rule: the tool host refuses
    it. An exception for the own name, `written`, holds for `path`, too."""
    plain = normalise(path)
    if plain is None or not any(matches(glob, plain) for glob in rule.paths):
        return False
    return not any(matches(glob, name) for glob in rule.exceptions for name in (plain, written) if name)


def covers_shell(rule: CommandRule, shell: ShellCommand) -> bool:
    """Whether `rule` covers the command. An `allow` must cover all commands of a simple one, other rules any visible
    one."""
    if rule.effect is Effect.ALLOW:
        # Names are compared as written: `./git` is a file of the repository.
        return shell.simple is not None and all(
            _any_pattern(rule.commands, words) and not _any_pattern(rule.exceptions, words)
            for words in shell.simple
        )
    return any(
        any(_begins_loosely(pattern, words) for pattern in rule.commands)
        and not _any_pattern(rule.exceptions, words)
        for words in shell.seen
    )


def _begins_loosely(pattern: CommandPattern, words: Words) -> bool:
    """Whether `words` begin with the pattern, skipping options that it does not name, with or without a value."""
    at = 0
    for index, token in enumerate(pattern):
        is_value = False
        while index and at < len(words) and words[at] not in token:
            if not is_value and not words[at].startswith("-"):
                return False
            is_value = words[at].startswith("-") and words[at] != "--" and "=" not in words[at]
            at += 1
        if at == len(words) or words[at] not in token:
            return False
        at += 1
    return True


def _any_pattern(patterns: Sequence[CommandPattern], words: Words) -> bool:
    return any(
        len(words) >= len(pattern) and all(word in token for word, token in zip(words, pattern, strict=False))
        for pattern in patterns
    )
