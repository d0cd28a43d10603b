"""Paths that a file system which ignores case or letter forms would take for one another."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from bot.gate.rules import folded

_PLAIN = re.compile(r"(?:[\w./~+@-]*[\w~+@-])", re.ASCII)


def collisions(result: Iterable[str], added: Iterable[str]) -> Mapping[str, str]:
    """The paths of `added` that would share a place with another path of `result`, each with that other one.

    `result` are all paths of the tree that would come of it, `added` those of them that the base does not have. A
    folder counts as its name: `Src/a` and `src/b` are one folder to some, and two to git.
    """
    places: dict[str, set[str]] = {}
    news = sorted(added)
    wanted = {_key(place) for path in news for place in _places(path)}
    if not wanted:
        return {}
    for path in result:
        for place in _places(path):
            key = _key(place)
            if key in wanted:
                places.setdefault(key, set()).add(place)
    found: dict[str, str] = {}
    for path in news:
        for place in _places(path):
            others = places.get(_key(place), set()) - {place}
            if others:
                found[path] = min(others)
                break
    return found


def _places(path: str) -> Iterable[str]:
    """`a`, `a/b`, `a/b/c`."""
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)
    yield path


def _key(place: str) -> str:
    # Most names are ASCII without dots or spaces at their end, and there may be a million of them.
    if "./" not in place and _PLAIN.fullmatch(place):
        return place.lower()
    return unicodedata.normalize("NFC", "/".join(folded(part) for part in place.split("/")))
