"""Select the checkers for a commit, and the projects that each checks. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache

from bot.ecosystems.checker import Checker, Read, Tree, is_in, own_files
from bot.ecosystems.registry import checkers

MOST = 8
"""The most projects of one checker. Further ones are listed as skipped."""


def choose_checkers(
    paths: Collection[str], read: Read, named: Collection[str] | None = None
) -> tuple[Checker, ...]:
    """Return a checker for each project of a commit with the files `paths`: the first project of each tool, then the
    second of each. `named` are the only tools to use, if the policy names any."""
    tree = Tree(paths, cache(read))
    numbered = [
        (number, checker)
        for kind in checkers()
        if named is None or kind.name in named
        for number, checker in enumerate(kind.projects(kind, tree))
    ]
    return tuple(checker for _, checker in sorted(numbered, key=lambda each: each[0]))


def limit_projects(
    chosen: Iterable[Checker], changed: Collection[str] = (), most: int = MOST
) -> tuple[Checker, ...]:
    """Return at most `most` projects of each tool, those with changed files first."""
    counts: dict[str, int] = {}
    taken = []
    changed_keys = changed_projects(chosen, changed)
    for checker in sorted(chosen, key=lambda one: one.key not in changed_keys):
        number = counts[checker.name] = counts.get(checker.name, 0) + 1
        if number <= most:
            taken.append(checker)
    return tuple(taken)


def changed_projects(chosen: Iterable[Checker], changed: Collection[str]) -> set[tuple[str, str]]:
    """Return the keys of projects with changed files of their own, without those of nested projects."""
    return {
        checker.key
        for checker in chosen
        if any(is_in(path, checker.folder) for path in changed)
        and own_files(changed, checker.folder, checker.excluded_folders)
    }
