"""Whether one rule covers one path or command."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from bot.policy.globs import matches, normalise
from bot.policy.rule import CommandPattern, CommandRule, PathRule
from bot.policy.schema import Effect
from bot.policy.shell import ShellCommand, parse_shell
from bot.policy.within import Words


def covers_path(rule: PathRule, path: str, written: str = "") -> bool:
    """`path` relative to the root; what lies outside is no rule's, since the tool host refuses it anyway. What is
    excepted under its own name, `written`, is not covered under another one."""
    plain = normalise(path)
    if plain is None:
        return False
    excepted = _any_glob(rule.exceptions, plain) or (bool(written) and _any_glob(rule.exceptions, written))
    return _any_glob(rule.globs, plain) and not excepted


def covers_command(rule: CommandRule, command: str) -> bool:
    return covers_shell(rule, parse_shell(command))


def covers_shell(rule: CommandRule, shell: ShellCommand) -> bool:
    """An `allow` must cover every command of a proven line; the others need one command that is in sight."""
    if rule.effect is Effect.ALLOW:
        return shell.simple is not None and all(allows_words(rule, words) for words in shell.simple)
    return any(_hits_words(rule, words) for words in shell.seen)


def allows_words(rule: CommandRule, words: Words) -> bool:
    """By its letters: `./git` is whatever the repository put there."""
    return _any_pattern(rule.patterns, words) and not _any_pattern(rule.exceptions, words)


def _hits_words(rule: CommandRule, words: Words) -> bool:
    """By the last part of the command's name: `/usr/bin/git` is git. Options before a subcommand make no difference."""
    plain = (posixpath.basename(words[0]), *words[1:])
    return any(
        any(_begins_loosely(pattern, one) for pattern in rule.patterns)
        and not _any_pattern(rule.exceptions, one)
        for one in {words, plain}
    )


def _begins_loosely(pattern: CommandPattern, words: Words) -> bool:
    """Whether `words` begin with the pattern, but for options that it does not name, each with a value or without."""
    at = 0
    for place, token in enumerate(pattern):
        is_value = False
        while place and at < len(words) and words[at] not in token:
            if not is_value and not words[at].startswith("-"):
                return False
            is_value = words[at].startswith("-") and words[at] != "--" and "=" not in words[at]
            at += 1
        if at == len(words) or words[at] not in token:
            return False
        at += 1
    return True


def _any_glob(globs: Sequence[str], path: str) -> bool:
    return any(matches(glob, path) for glob in globs)


def _any_pattern(patterns: Sequence[CommandPattern], words: Words) -> bool:
    return any(
        len(words) >= len(pattern) and all(word in token for word, token in zip(words, pattern, strict=False))
        for pattern in patterns
    )
