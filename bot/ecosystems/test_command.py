"""Commands that run tests, taken apart and put together again. Pure.

File names are hostile: only paths of plain characters get into a command, never as an option, and always quoted.
"""

import re
import shlex
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

MOST_PATHS = 60
"""The most paths in one command."""

_SHELL = re.compile(r"[;&|<>()$`\\\n#!{}]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_PATH = re.compile(r"[A-Za-z0-9_.][\w.@+=,~ /-]{0,240}\Z", re.ASCII)


class CheckCommand(NamedTuple):
    """The command that runs for a check. `report` is the file in the temporary folder that the runner writes, or empty;
    `complete`: it covers all tests of the run."""

    command: str
    report: str = ""
    complete: bool = False


class Related(NamedTuple):
    """What a command is narrowed to: files of the tree `paths` that are `changed`, and `tests` that the tool host found
    to be related. `read` returns the text of a file, `None` if there is none."""

    changed: Sequence[str]
    tests: Sequence[str]
    paths: Collection[str]
    read: Callable[[str], str | None]


def plain_words(command: str) -> list[str]:
    """Return the words of a command that is one program with arguments; none if it needs a shell."""
    if _SHELL.search(command):
        return []
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    while words and _ASSIGNMENT.match(words[0]):
        words.pop(0)
    return [] if "--" in words else words


def is_plain(path: str) -> bool:
    """Whether a path is safe in a command: without characters special to shells, option parsers or patterns."""
    parts = path.split("/")
    return bool(_PATH.match(path)) and not any(part in ("", ".", "..") or part[0] == "-" for part in parts)


def command_line(command: str, index: int, arguments: Sequence[str]) -> str:
    """The command up to the word at `index`, assignments before it included, and these words after it."""
    assigned, words = assignments(command), shlex.split(command)
    program = words[len(assigned) : len(assigned) + index + 1]
    return " ".join([*assigned, *map(shlex.quote, program), *map(shlex.quote, arguments)])


def assignments(command: str) -> list[str]:
    """Return the assignments before the program of a command, quoted."""
    words = plain_words(command)
    head = shlex.split(command) if words else []
    pairs = (word.partition("=") for word in head[: len(head) - len(words)])
    return [f"{name}={shlex.quote(value) if value else ''}" for name, _, value in pairs]
