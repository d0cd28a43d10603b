"""Warnings for `policy check` about what an `allow` rule for commands covers beyond its words."""

from __future__ import annotations

from itertools import islice, product

from bot.policy.programs import MANY_SUBCOMMANDS, RUNS_FILES
from bot.policy.rule import CommandPattern
from bot.policy.wrappers import running_parts

_MOST_SPELLINGS = 200


def allow_warning(pattern: CommandPattern, *, opaque_is_ruled: bool) -> str:
    """A sentence about what an `allow` rule of `pattern` also covers, or does not cover; empty if there is none. With
    `opaque_is_ruled` another rule denies opaque commands or asks about them."""
    for words in islice(product(*(sorted(token) for token in pattern)), _MOST_SPELLINGS):
        warning = _of_words(words, opaque_is_ruled)
        if warning:
            return warning
    return ""


def _of_words(words: tuple[str, ...], opaque_is_ruled: bool) -> str:
    name, spelled = words[0], " ".join(words[:2])
    if "/" in name:
        return f"`{name}` is a file, and one of the repository does what the agent last wrote into it"
    for begin in (words[:1], words[:2]):
        if begin in RUNS_FILES:
            command = " ".join(begin)
            return f"`{command}` runs {RUNS_FILES[begin]}, which the agent may change: so it may run anything by this"
    if len(words) == 1 and name in MANY_SUBCOMMANDS:
        return f"`{name}` by itself covers {MANY_SUBCOMMANDS[name]} too; name the subcommands that are meant"
    parts = running_parts(words)
    if parts and not opaque_is_ruled:
        some = ", ".join(f"`{part}`" for part in parts[:2])
        return (
            f"`{spelled}` with {some} or the like runs other commands: that is opaque, so this rule does not cover it, "
            "and it is still allowed unless a rule says `opaque: true`"
        )
    return ""
