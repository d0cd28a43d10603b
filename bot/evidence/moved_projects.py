"""Which project after a change is which before it. Pure.

How a checker is called stays as the base commit says: a change of its settings makes it incomparable, and that is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from posixpath import join

from bot.evidence.checkers import Checker
from bot.evidence.projects import above, is_in

_CUT_OFF = {"tsc": "tsconfig.json", "cargo": "Cargo.toml", "gopls": "go.mod", "go-vet": "go.mod"}
"""The tools whose projects stand and fall with a file. Of the others the project above goes on to look in a folder."""


@dataclass(frozen=True, slots=True)
class Paired:
    """One that the change makes has no `before`, one that it takes away no `after`."""

    before: Checker | None
    after: Checker | None


def paired(
    before: Sequence[Checker], after: Sequence[Checker], renamed: Mapping[str, str], paths: Collection[str]
) -> tuple[Paired, ...]:
    """`before` in its order, and then what came with the change. `renamed` leads from new paths to old ones, `paths`
    are all after the change."""
    now = {one.key: one for one in after}
    new = set(now).difference(one.key for one in before)
    names = set(paths)
    folders = {"", *(folder for path in paths for folder in above(path))}
    went: dict[tuple[str, str], str | None] = {}
    for one in before:
        file = _CUT_OFF.get(one.name)
        if one.folder in folders if file is None else join(one.folder, one.file or file) in names:
            went[one.key] = one.folder
            continue
        alike = [now[key].folder for key in new if (key[0], now[key].file) == (one.name, one.file)]
        folder = went[one.key] = _moved_to(one, alike, renamed)
        if folder is not None:
            new.discard(replace(one, folder=folder).key)
    tools = {one.name for one in before}.intersection(_CUT_OFF)
    came = [one for one in after if one.key in new and one.name in tools]
    return (*(Paired(one, _after(one, went, now)) for one in before), *(Paired(None, one) for one in came))


def _after(
    checker: Checker, went: Mapping[tuple[str, str], str | None], now: Mapping[tuple[str, str], Checker]
) -> Checker | None:
    folder = went[checker.key]
    if folder is None:
        return None
    there = now.get(replace(checker, folder=folder).key)
    if there and checker.name in _CUT_OFF:
        return replace(checker, folder=folder, apart=there.apart)
    places = (went.get((checker.name, other), other) for other in checker.apart)
    return replace(checker, folder=folder, apart=tuple(place for place in places if place))


def _moved_to(checker: Checker, folders: Sequence[str], renamed: Mapping[str, str]) -> str | None:
    """The new project that holds most of what moved out of this one, at the same place within it."""
    found: Counter[str] = Counter()
    for new, old in renamed.items():
        if is_in(old, checker.folder):
            rest = old[len(checker.folder) + 1 :] if checker.folder else old
            for folder in folders:
                if new == (f"{folder}/{rest}" if folder else rest):
                    found[folder] += 1
    return found.most_common(1)[0][0] if found else None
