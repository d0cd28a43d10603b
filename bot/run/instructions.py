"""The repository's own instructions to agents, `AGENTS.md` and its like: from the base, nearest first, capped.

Folders are searched from the one that the request points at up to the root. In each folder only the first of the
policy's names counts, since the others mostly say the same. Of a long file the headings are shown, and the sections
that match the request: it is sent again with every request to the model.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bot.checkout.blobs import blobs_at
from bot.checkout.git import Git
from bot.intake.hygiene import clean

MOST_A_FILE = 4_000
MOST = 8_000
"""Characters."""

_MOST_OF_A_LONG_FILE = 2_000
_MOST_FOLDERS = 20
_MOST_HEADINGS = 1_200
_LONGEST_INTRODUCTION = 600
_LONGEST_SECTION = 1_200
_LEAST_SCORE = 2

_HEADING = re.compile(r"#{1,6} ")
_FENCE = re.compile(r"\s*(```|~~~)")
_WORD = re.compile(r"[a-z_][a-z0-9_]{4,}")
_OF_USE = re.compile(r"(?i)\b(test|style|convention|lint|format|build|develop)")
_OF_NO_USE = re.compile(r"(?i)\b(push|pull request|commit|release|issue)")
"""Headings: what every change takes, and what a run does not do."""


class Instructions(NamedTuple):
    """What is shown of one file. `cut` is how many characters of it are left out."""

    path: str
    text: str
    cut: int = 0


def instructions(
    git: Git, sha: str, names: Sequence[str], near: Iterable[str] = (), about: str = ""
) -> tuple[Instructions, ...]:
    """The files called `names` of commit `sha` that apply to the paths `near` and to the repository, nearest first.
    `about` is what the request says."""
    folders = list(_folders(near))
    wanted = [posixpath.join(folder, name) for folder in folders for name in names]
    found = blobs_at(git, sha, wanted) if wanted else {}
    kept: list[Instructions] = []
    room = MOST
    for folder in folders:
        path = _first(folder, names, found)
        text = clean(found[path].decode("utf-8", "replace")).text.strip() if path else ""
        shown = excerpt(text, about, min(MOST_A_FILE, room))
        if shown:
            room -= len(shown)
            kept.append(Instructions(path, shown, len(text) - len(shown)))
    return tuple(kept)


def excerpt(text: str, about: str, room: int) -> str:
    """At most about `room` characters of `text`: its introduction, its headings, and the sections that share most words
    with `about`, in their order."""
    if len(text) <= room:
        return text
    first, *sections = _sections(text)
    if not sections:
        return _cut(text, room)
    introduction = _cut(first, _LONGEST_INTRODUCTION)
    shown = [section.partition("\n")[0] for section in sections]
    while sum(map(len, shown)) > _MOST_HEADINGS:
        shown.pop()
    left = min(room, _MOST_OF_A_LONG_FILE) - len(introduction) - sum(len(heading) + 1 for heading in shown)
    wanted = set(_WORD.findall(about.lower()))
    scores = [_score(section, wanted) for section in sections]
    for place in sorted(range(len(shown)), key=lambda place: -scores[place]):
        section = _cut(sections[place], _LONGEST_SECTION)
        if scores[place] >= _LEAST_SCORE and len(section) - len(shown[place]) <= left:
            left -= len(section) - len(shown[place])
            shown[place] = section
    return "\n".join(part for part in (introduction, *shown) if part)


def _sections(text: str) -> Iterator[str]:
    """What stands before the first heading, then each heading with its text; a `#` in a code block is no heading."""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines():
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        elif not fence and _HEADING.match(line):
            yield "\n".join(lines).strip()
            lines = []
        lines.append(line)
    yield "\n".join(lines).strip()


def _score(section: str, wanted: set[str]) -> int:
    """How many of the wanted words it has, those of its heading twice."""
    heading = section.partition("\n")[0]
    if _OF_NO_USE.search(heading):
        return 0
    count = sum(len(wanted & set(_WORD.findall(part.lower()))) for part in (heading, section))
    return count + (_LEAST_SCORE if _OF_USE.search(heading) else 0)


def _cut(text: str, room: int) -> str:
    """The text up to the last line end within `room`."""
    if len(text) <= room:
        return text
    if room <= len("\n…"):
        return ""
    head = text[: room - len("\n…")]
    return (head.rpartition("\n")[0] or head).rstrip() + "\n…"


def _first(folder: str, names: Sequence[str], found: Mapping[str, bytes]) -> str:
    """The path that counts in `folder`, empty for none. A link to a neighbour of the list is followed; a commit
    keeps a link as a file with the target's name."""
    for name in names:
        path = posixpath.join(folder, name)
        if path not in found:
            continue
        target = found[path].decode("utf-8", "replace").strip().removeprefix("./").removeprefix("@")
        if target not in names:
            return path
        if (linked := posixpath.join(folder, target)) in found and target != name:
            return linked
    return ""


def _folders(near: Iterable[str]) -> Iterator[str]:
    """Each folder once, the deepest first, the root ("") last."""
    folders: set[str] = set()
    for path in near:
        parts = path.split("/")[:-1]
        folders |= {"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
    yield from sorted(folders - {""}, key=lambda folder: (-folder.count("/"), folder))[:_MOST_FOLDERS]
    yield ""
