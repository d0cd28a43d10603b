"""What a pull request changes, as text for the model: git's own words, kept to a length, with what is missing said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bot.checkout.clone import Checkout
from bot.checkout.git import Git, GitError
from bot.contracts.wording import count_of

# In characters of the whole text, lines of one file and of all, files shown, files named without their diff.
MAX_TEXT = 80_000
_MAX_LINES = 1_500
_MAX_LINES_IN_ALL = 4_000
_MAX_FILES = 300
_MAX_NAMED = 200
# Larger files are compared as binary ones, which takes no memory.
_LARGE = ["-c", "core.bigFileThreshold=1m"]
_ASKED = ["--no-ext-diff", "--no-textconv", "--no-color", "--find-renames"]


class _File(NamedTuple):
    """`added` and `removed` count lines, and are -1 for a binary file. `names` are what git must be asked for."""

    path: str
    added: int
    removed: int
    names: tuple[str, ...]


def pull_diff(checkout: Checkout) -> str:
    """The diff from where the pull request began to its head; a sentence where it cannot be had."""
    old, new = checkout.merge_base, checkout.base_sha
    if not old:
        return (
            "(There is no diff: where the pull request began could not be found. Its files are in the tree.)"
        )
    try:
        return _rendered(checkout.git, old, new)
    except GitError as error:
        return f"(There is no diff: {error.detail}.)"


def _rendered(git: Git, old: str, new: str) -> str:
    files = _files(git, old, new)
    chosen = _chosen(files)
    shown: list[str] = []
    room = MAX_TEXT
    for section in _sections(git, old, new, [files[number] for number in chosen]):
        room -= len(section)
        if room < 0:
            break
        shown.append(section.rstrip("\n"))
    kept = set(chosen[: len(shown)])
    named = [
        f"{_plain(file.path)} ({_size(file)})" for number, file in enumerate(files) if number not in kept
    ]
    if named:
        more = len(named) - _MAX_NAMED
        rest = f", and {more} more" if more > 0 else ""
        shown.append(
            f"(Left out for their size, {count_of(named, 'file')}: {', '.join(named[:_MAX_NAMED])}{rest}. "
            "In the work tree the branch `base` is where the pull request began.)"
        )
    return "\n".join(shown)


def _chosen(files: Sequence[_File]) -> list[int]:
    """Which files to ask git for: those of a bearable size, in their order, until there are lines enough."""
    chosen: list[int] = []
    left = _MAX_LINES_IN_ALL
    for number, file in enumerate(files):
        lines = max(file.added, 0) + max(file.removed, 0)
        if lines <= _MAX_LINES and lines <= left and len(chosen) < _MAX_FILES:
            chosen.append(number)
            left -= lines
    return chosen


def _sections(git: Git, old: str, new: str, files: Sequence[_File]) -> list[str]:
    """One a file, in the order of `files`: git keeps to the order of its own listing, which they are in."""
    if not files:
        return []
    names = [name for file in files for name in file.names]
    text = git.run(*_LARGE, "diff", *_ASKED, old, new, "--", *names).decode(errors="replace")
    return [f"diff --git {part}" for part in f"\n{text}".split("\ndiff --git ")[1:]]


def _files(git: Git, old: str, new: str) -> list[_File]:
    output = git.run(*_LARGE, "diff", *_ASKED, "--numstat", "-z", old, new).decode(errors="surrogateescape")
    fields = iter(output.split("\0")[:-1])
    found: list[_File] = []
    for field in fields:
        added, removed, path = field.split("\t", 2)
        names = (path,) if path else (next(fields), next(fields))
        found.append(_File(names[-1], _number(added), _number(removed), names))
    return found


def _number(text: str) -> int:
    return -1 if text == "-" else int(text)


def _size(file: _File) -> str:
    return "binary" if file.added < 0 else f"+{file.added} -{file.removed}"


def _plain(path: str) -> str:
    return path.encode(errors="surrogateescape").decode(errors="replace")
