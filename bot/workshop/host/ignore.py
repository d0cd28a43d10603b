"""`.gitignore` rules in pure Python, for trees where git itself cannot be asked.

Follows gitignore(5); patterns and names are bytes, as git compares them.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from bot.workshop.host.globs import translate

_FILE = b".gitignore"
_LIMIT = 1024 * 1024
_PLAIN = re.compile(rb"[^*?\[\\]*")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file."""

    regex: re.Pattern[bytes]
    keep: bool
    folders_only: bool
    name_only: bool


@dataclass(frozen=True, slots=True)
class Level:
    """The rules of one folder; `base` is its path relative to the root, with a slash at its end."""

    base: bytes
    rules: tuple[Rule, ...]


Levels = tuple[Level, ...]
"""From the root down: the last rule that matches decides."""


def parse(data: bytes) -> tuple[Rule, ...]:
    """The rules of an ignore file."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return tuple(rule for line in lines if (rule := _rule(line.removesuffix(b"\r"))) is not None)


def _rule(line: bytes) -> Rule | None:
    if line.startswith(b"#"):
        return None
    line = _without_trailing_spaces(line)
    keep = line.startswith(b"!")
    line = line[keep:]
    folders_only = line.endswith(b"/")
    line = line[: len(line) - folders_only]
    name_only = b"/" not in line
    line = line.removeprefix(b"/")
    if not line:
        return None
    # git takes the plain text at the start off before it looks at the rest, so in "a**/b" the stars begin the
    # pattern and cross folders. Latin-1 makes one character of each byte.
    plain = b"" if name_only else _PLAIN.findall(line)[0]
    regex = re.escape(plain) + translate(line[len(plain) :].decode("latin-1")).encode("latin-1")
    return Rule(re.compile(regex, re.DOTALL), keep, folders_only, name_only)


def _without_trailing_spaces(line: bytes) -> bytes:
    """Spaces at the end do not count unless a backslash is before them."""
    end, at = 0, 0
    while at < len(line):
        escaped = line[at : at + 1] == b"\\"
        at += 1 + escaped
        if escaped or line[at - 1 : at] != b" ":
            end = at
    return line[:end]


def ignored(levels: Levels, path: bytes, *, folder: bool) -> bool:
    """Whether the rules hide `path` (relative to the root), its folders not being hidden themselves."""
    name = path.rpartition(b"/")[2]
    for level in reversed(levels):
        for rule in reversed(level.rules):
            if rule.folders_only and not folder:
                continue
            if rule.regex.fullmatch(name if rule.name_only else path[len(level.base) :]):
                return not rule.keep
    return False


BYTECODE = b"__pycache__/\n*.py[co]\n"
"""Rules that hold in every repository, unless its own say otherwise. Bytecode was 95 % of one run's journal."""


def start(root: bytes) -> Levels:
    """What holds for the whole tree: the repository's own exclude file, and our rules."""
    rules = parse(BYTECODE + _read(os.path.join(root, b".git/info/exclude")))
    return (Level(b"", rules),) if rules else ()


def enter(root: bytes, levels: Levels, base: bytes) -> Levels:
    """`levels` with the rules of the folder `base` added."""
    rules = parse(_read(os.path.join(root, base, _FILE)))
    return (*levels, Level(base, rules)) if rules else levels


def is_ignored(root: bytes, path: bytes, *, folder: bool) -> bool:
    """Whether `path` or a folder above it is hidden, asked from outside a walk."""
    levels, base = start(root), b""
    parts = path.split(b"/")
    for number, part in enumerate(parts, 1):
        levels = enter(root, levels, base)
        if ignored(levels, base + part, folder=folder or number < len(parts)):
            return True
        base += part + b"/"
    return False


def walk(root: bytes, below: bytes = b"", *, hidden_too: bool = False) -> Iterator[bytes]:
    """Files and links beneath `root/below`, relative to `root`, that no rule hides.

    Never enters `.git`, a link, or a repository within the repository, as git does not either.
    """
    base = below + b"/" if below else b""
    levels = start(root)
    for depth in range(base.count(b"/")):
        levels = enter(root, levels, b"".join(part + b"/" for part in base.split(b"/")[:depth]))
    waiting = [(base, levels)]
    while waiting:
        base, levels = waiting.pop()
        levels = () if hidden_too else enter(root, levels, base)
        try:
            entries = list(os.scandir(os.path.join(root, base)))
        except OSError:
            continue  # gone meanwhile, or not readable: git passes over it too
        for entry in entries:
            path = base + entry.name
            folder = entry.is_dir(follow_symlinks=False)
            if entry.name.lower() == b".git" or ignored(levels, path, folder=folder):
                continue
            if not folder:
                if entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    yield path
            elif not is_repository(os.path.join(root, path)):
                waiting.append((path + b"/", levels))


def is_repository(folder: bytes) -> bool:
    """Whether a folder is a repository of its own."""
    git = os.path.join(folder, b".git")
    return os.path.isfile(git) or os.path.exists(os.path.join(git, b"HEAD"))


def _read(path: bytes) -> bytes:
    """An ignore file's bytes, empty where it is none. Like git, follows no link; a pipe must not hold us up."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, _LIMIT) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)
