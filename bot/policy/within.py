"""Commands that stand in another one's words: behind a wrapper, after `-exec`, or in a text that a shell is given.

For rules that deny or ask, so what may be a command counts as one. What only running it would show is not here: a name
that is put together, a script, a program's own language.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from bot.policy.wrappers import FIND_ACTIONS, PREFIXES, SHELLS, SUBCOMMANDS, TAKES_A_WORD, names_of

Words = tuple[str, ...]

_SHELL_TEXT = re.compile(r"[\s;&|<>()$`{}]")
_GIT_RUNNING = frozenset({"rebase", "submodule", "filter-branch", "bisect"})
_NUMBER = re.compile(r"[0-9.]+[a-z]?")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def commands_within(words: Words) -> Iterator[Words]:
    """Words that may be a command, in those of another one."""
    name, rest = _name(words), words[1:]
    if name in PREFIXES:
        yield from (rest[at:] for at in _beginnings(rest, name in TAKES_A_WORD))
    elif name == "find":
        yield from (rest[at + 1 :] for at, word in enumerate(rest) if word.startswith(FIND_ACTIONS))
    elif name == "git" and "run" in rest[:4]:
        yield rest[rest.index("run") + 1 :]
    elif verbs := SUBCOMMANDS.get(name):
        begin = next((at + 1 for at, word in enumerate(rest) if word in verbs), len(rest))
        yield from (rest[begin + at :] for at in _beginnings(rest[begin:], takes_a_word=True))


def texts_within(words: Words) -> Iterator[str]:
    """Texts that may be a shell's, in the words of a command."""
    name, rest = _name(words), words[1:]
    if name == "eval":
        yield " ".join(rest)
    elif name == "trap":
        yield from rest[:1]
    elif name in SHELLS:
        yield from (word for word in rest if not word.startswith(("-", "+")))
    elif name == "alias":
        yield from (word.partition("=")[2] for word in rest)
    elif name in PREFIXES:
        yield from (_value(word) for word in rest if _SHELL_TEXT.search(word))
    elif name == "git":
        yield from (word.partition("!")[2] for word in rest if "=!" in word)
        if not _GIT_RUNNING.isdisjoint(rest):
            yield from (_value(word) for word in rest if _SHELL_TEXT.search(word))


def _name(words: Words) -> str:
    name = posixpath.basename(words[0])
    return min(names_of(name), key=len, default=name)


def _value(word: str) -> str:
    return word.partition("=")[2] if word.startswith("-") else word


def _beginnings(words: Sequence[str], takes_a_word: bool) -> Iterator[int]:
    """Where among the words after a wrapper its command may begin: what comes after an option may be the option's."""
    doubt = takes_a_word
    for at, word in enumerate(words):
        if word.startswith("-"):
            doubt = doubt or ("=" not in word and word != "--")
        elif not _NUMBER.fullmatch(word) and not _ASSIGNMENT.match(word):
            yield at
            if not doubt:
                return
            doubt = False
