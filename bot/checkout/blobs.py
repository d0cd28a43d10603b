"""The contents of many files of a commit at once: one git process for hundreds, not one for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from bot.checkout.git import Git

_AT_ONCE = 500


def blobs_at(
    git: Git, commit: str, paths: Iterable[str], *, work_tree: Path | None = None
) -> dict[str, bytes]:
    """What each of `paths` holds in `commit`, those left out that are no file there. Any path may be asked for,
    also one that a stranger made up. `work_tree` is for a git directory that is a file. Raises `GitError`."""
    found: dict[str, bytes] = {}
    rest = iter(paths)
    while some := list(islice(rest, _AT_ONCE)):
        found.update(_ask(git, commit, some, work_tree))
    return found


def _ask(git: Git, commit: str, paths: list[str], work_tree: Path | None) -> Iterator[tuple[str, bytes]]:
    names = [(path, f"{commit}:{path}".encode(errors="surrogateescape")) for path in paths if _is_name(path)]
    output = git.run(
        "cat-file", "--batch", "-z", input=b"".join(name + b"\0" for _, name in names), work_tree=work_tree
    )
    position = 0
    for path, name in names:
        missing = name + b" missing\n"
        if output.startswith(missing, position):
            position += len(missing)
            continue
        end = output.index(b"\n", position)
        kind, size = output[position:end].split(b" ")[1:]
        start, position = end + 1, end + int(size) + 2
        if kind == b"blob":
            yield path, output[start : position - 1]


def _is_name(path: str) -> bool:
    """Whether a tree could have it: no NUL, no `..`, no half of a surrogate pair."""
    if "\0" in path or any(part in ("", ".", "..") for part in path.split("/")):
        return False
    try:
        path.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return False
    return True
