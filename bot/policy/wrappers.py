"""Commands that run other commands: recognise them, and find the commands and shell texts in their words.

For rules that deny or ask, whatever may be a command counts as one. A name that is put together at run time, a script
and a program's own language are not covered.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from bot.policy.programs import (
    FIND_ACTIONS,
    GIT_LONG_OPTIONS,
    GIT_RUNNING_VERBS,
    GIT_TAKING_SHELL_TEXT,
    PREFIXES,
    PREFIXES_WITH_ARGUMENT,
    RUNNING_LETTERS,
    RUNNING_OPTIONS,
    RUNNING_OTHERS,
    RUNNING_SUBCOMMANDS,
    SHELLS,
)

Words = tuple[str, ...]

# `gcc-12`, `perl5.36-x86_64-linux-gnu`, `x86_64-linux-gnu-gcc`, `vim.tiny`: another name of the same program.
_MACHINE = r"[a-z0-9_]+-(?:[a-z]+-)?(?:linux|elf|musl|w64|pc|apple|darwin)[a-z0-9_-]*?"
_PREFIXED = re.compile(rf"\A{_MACHINE}-(?=[a-z+]+(?:-[0-9.]+)?\Z)")
_SUFFIXED = re.compile(rf"[-.]?[0-9][0-9.]*(?:-dbg|-{_MACHINE})?\Z")
# The dynamic loader runs its first argument.
_LOADER = re.compile(r"ld(?:-linux.*|-musl.*|[0-9]*\.so.*)")

_GIT_CLONE_COMMAND = re.compile("-[A-Za-z]*u")


def runs_another(words: Sequence[str]) -> bool:
    """Whether the command may run another program."""
    name = posixpath.basename(words[0])
    if _LOADER.fullmatch(name):
        return True
    return any(_runs_another(known, words[1:]) for known in names_of(name))


def names_of(name: str) -> set[str]:
    """Return `name`, and `name` without a version, a machine triplet or a variant."""
    plain = _SUFFIXED.sub("", _PREFIXED.sub("", name))
    return {name, plain, plain.partition(".")[0]} - {""}


def _runs_another(name: str, arguments: Sequence[str]) -> bool:
    subcommands, options = RUNNING_SUBCOMMANDS.get(name, frozenset()), RUNNING_OPTIONS.get(name, ())
    letters = RUNNING_LETTERS.get(name)
    if name in RUNNING_OTHERS or not subcommands.isdisjoint(arguments):
        return True
    if any(_is_option(one, options) or (letters is not None and letters.match(one)) for one in arguments):
        return True
    if name == "find":
        return any(argument.startswith(FIND_ACTIONS) for argument in arguments)
    if name == "printf":
        return any(argument.startswith("-") for argument in arguments[:1])
    return name == "git" and _git_runs_another(arguments)


def _is_option(argument: str, options: Sequence[str]) -> bool:
    """Whether `argument` is one of `options`. A long option may be abbreviated, a value may directly follow a
    letter."""
    if argument.startswith("--"):
        name = argument.partition("=")[0]
        return len(argument) > 2 and any(full.startswith(name) for full in options)
    return any(argument.startswith(option) for option in options if not option.startswith("--"))


def _git_runs_another(arguments: Sequence[str]) -> bool:
    """Whether git runs another program. An option before the verb may do so; long options may be abbreviated."""
    if arguments and arguments[0].startswith("-") and arguments[0] != "--version":
        return True
    if arguments and arguments[0] in GIT_RUNNING_VERBS:
        return True
    if arguments and arguments[0] == "clone" and any(map(_GIT_CLONE_COMMAND.match, arguments)):
        return True
    return any(
        "::" in argument
        or argument.startswith(("-O", "-x", "-c"))
        or (len(argument) > 3 and argument.startswith("--") and _is_option(argument, GIT_LONG_OPTIONS))
        for argument in arguments
    )


_SHELL_TEXT = re.compile(r"[\s;&|<>()$`{}]")
_NUMBER = re.compile(r"[0-9.]+[a-z]?")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def inner_commands(words: Words) -> Iterator[Words]:
    """Yield the words of possible commands in the words of another one."""
    name, rest = _name(words), words[1:]
    if name in PREFIXES:
        yield from (rest[at:] for at in _beginnings(rest, name in PREFIXES_WITH_ARGUMENT))
    elif name == "find":
        yield from (rest[at + 1 :] for at, word in enumerate(rest) if word.startswith(FIND_ACTIONS))
    elif name == "git" and "run" in rest[:4]:
        yield rest[rest.index("run") + 1 :]
    elif verbs := RUNNING_SUBCOMMANDS.get(name):
        begin = next((at + 1 for at, word in enumerate(rest) if word in verbs), len(rest))
        yield from (rest[begin + at :] for at in _beginnings(rest[begin:], takes_a_word=True))


def inner_shell_texts(words: Words) -> Iterator[str]:
    """Yield possible shell texts in the words of a command."""
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
        if not GIT_TAKING_SHELL_TEXT.isdisjoint(rest):
            yield from (_value(word) for word in rest if _SHELL_TEXT.search(word))


def _name(words: Words) -> str:
    name = posixpath.basename(words[0])
    return min(names_of(name), key=len, default=name)


def _value(word: str) -> str:
    return word.partition("=")[2] if word.startswith("-") else word


def _beginnings(words: Sequence[str], takes_a_word: bool) -> Iterator[int]:
    """Yield where among the words after a wrapper its command may begin: a word after an option may be its value."""
    doubt = takes_a_word
    for at, word in enumerate(words):
        if word.startswith("-"):
            doubt = doubt or ("=" not in word and word != "--")
        elif not _NUMBER.fullmatch(word) and not _ASSIGNMENT.match(word):
            yield at
            if not doubt:
                return
            doubt = False
