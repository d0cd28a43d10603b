"""Translate path patterns of git and `.gitignore` files into regular expressions, and match ignore rules without git.

`*`, `?`, `[...]` stay within one folder, `**` crosses folders: the behaviour of git's wildmatch with WM_PATHNAME.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import NamedTuple

MAX_ALTERNATIVES = 256

_NEVER = "(?!)"
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t-\\r ",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


class TooManyAlternativesError(Exception):
    """The braces of a pattern stand for more than `MAX_ALTERNATIVES` patterns."""


def matcher(pattern: str) -> re.Pattern[str]:
    """A regular expression to `fullmatch` relative paths with. Without a slash the pattern is for the file's
    name, wherever it is; braces stand for alternatives. Raises `TooManyAlternativesError`."""
    alternatives = []
    for plain in expand_braces(pattern):
        anchored = plain.startswith(("/", "./"))
        plain = plain.removeprefix("./").lstrip("/")
        if plain.endswith("/"):
            plain += "**"
        alternatives.append(translate(plain if "/" in plain or anchored else f"**/{plain}"))
    return re.compile("|".join(alternatives), re.DOTALL)


def expand_braces(pattern: str) -> list[str]:
    """All patterns that the braces of one stand for. A brace without a comma or a partner stands for itself."""
    expanded: list[str] = []
    waiting = [("", pattern)]
    while waiting:
        done, rest = waiting.pop()
        group = _first_group(rest)
        if group is None:
            expanded.append(done + rest)
        else:
            start, end, parts = group
            waiting += [("", done + rest[:start] + part + rest[end:]) for part in reversed(parts)]
        if len(expanded) + len(waiting) > MAX_ALTERNATIVES:
            raise TooManyAlternativesError
    return expanded


def _first_group(pattern: str) -> tuple[int, int, list[str]] | None:
    """Start, end and alternatives of the first brace group that has a comma."""
    for start in (i for i, c in enumerate(pattern) if c == "{"):
        depth, parts, at = 0, [], start + 1
        for i in range(start, len(pattern)):
            if pattern[i - 1 : i] == "\\":
                continue
            if pattern[i] == "{":
                depth += 1
            elif pattern[i] == "," and depth == 1:
                parts.append(pattern[at:i])
                at = i + 1
            elif pattern[i] == "}":
                depth -= 1
                if depth == 0:
                    if parts and pattern[start - 1 : start] != "\\":
                        return start, i + 1, [*parts, pattern[at:i]]
                    break
    return None


def translate(pattern: str) -> str:
    """The regular expression for one wildmatch pattern against a whole path; it needs `re.DOTALL`."""
    return "".join(_pieces(pattern))


def _pieces(pattern: str) -> Iterator[str]:
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            piece, at = _stars(pattern, at)
            yield piece
        elif char == "?":
            yield "[^/]"
            at += 1
        elif char == "[":
            bracket = _bracket(pattern, at + 1)
            if bracket is None:
                yield _NEVER
                return
            piece, at = bracket
            yield piece
        elif char == "\\":
            yield re.escape(pattern[at + 1]) if at + 1 < len(pattern) else _NEVER
            at += 2
        else:
            yield re.escape(char)
            at += 1


def _stars(pattern: str, at: int) -> tuple[str, int]:
    """Two or more stars cross folders, but only if they are a whole component."""
    end = at
    while pattern[end : end + 1] == "*":
        end += 1
    whole = (at == 0 or pattern[at - 1] == "/") and pattern[end : end + 1] in ("", "/")
    if end - at == 1 or not whole:
        return "[^/]*", end
    if pattern[end : end + 1] == "/":
        return "(?:.*/)?", end + 1
    return ".*", end


def _bracket(pattern: str, at: int) -> tuple[str, int] | None:
    """The character class whose opening bracket ends before `at`, and what comes after it; `None` when it never
    ends or names an unknown class (git then matches nothing)."""
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    members: list[str] = []
    previous = ""
    first = True
    while first or pattern[at : at + 1] != "]":
        first = False
        char = pattern[at : at + 1]
        if char == "-" and previous and pattern[at + 1 : at + 2] not in ("", "]"):
            at += 1 + (pattern[at + 1] == "\\")
            if previous <= pattern[at : at + 1]:
                members.append(f"{re.escape(previous)}-{re.escape(pattern[at])}")
            previous = ""
        elif char == "[" and pattern[at + 1 : at + 2] == ":" and (named := _named_class(pattern, at)):
            members.append(_CLASSES.get(named, ""))
            if named not in _CLASSES:
                return None
            previous = ""
            at += len(named) + 3
        else:
            at += char == "\\"
            previous = pattern[at : at + 1]
            members.append(re.escape(previous))
        if at >= len(pattern):
            return None
        at += 1
    if not any(members):
        return ("[^/]" if negated else _NEVER), at + 1
    return f"(?!/)[{'^' if negated else ''}{''.join(members)}]", at + 1


def _named_class(pattern: str, at: int) -> str | None:
    """The name in `[:name:]` at this place; `None` if it is an ordinary bracket and colon."""
    end = pattern.find("]", at + 2)
    if end < 0 or pattern[end - 1] != ":" or end - 1 < at + 2:
        return None
    return pattern[at + 2 : end - 1] or "?"


_FILE = b".gitignore"
_LIMIT = 1024 * 1024
_PLAIN = re.compile(rb"[^*?\[\\]*")


class Rule(NamedTuple):
    """One line of an ignore file."""

    regex: re.Pattern[bytes]
    keep: bool
    folders_only: bool
    name_only: bool


class Level(NamedTuple):
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
    # git first matches the plain text at the start, so in "a**/b" the stars begin the pattern and cross folders.
    # Latin-1 makes one character of each byte.
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
"""Rules for every repository, which its own rules override. Bytecode was 95 % of one run's journal."""


def start(root: bytes) -> Levels:
    """The rules for the whole tree: the repository's own exclude file, and ours."""
    rules = parse(BYTECODE + _read(os.path.join(root, b".git/info/exclude")))
    return (Level(b"", rules),) if rules else ()


def enter(root: bytes, levels: Levels, base: bytes) -> Levels:
    """`levels` with the rules of the folder `base` added."""
    rules = parse(_read(os.path.join(root, base, _FILE)))
    return (*levels, Level(base, rules)) if rules else levels


def is_ignored(root: bytes, path: bytes, *, folder: bool) -> bool:
    """Whether `path` or a folder above it is ignored."""
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
    """An ignore file's bytes; empty if it is not a regular file. Like git, follows no link; never waits for a pipe."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, _LIMIT) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)
