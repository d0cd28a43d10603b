"""The skills of one place: folders that hold a SKILL.md, each judged. Bounded, and in one order whoever asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bot.skills.places import Entry, Kind, Place
from bot.skills.rules import MAX_DOCUMENT, judge
from bot.skills.skill import Finding, Judged, Level, Origin, SkillFile

DOCUMENTS = ("SKILL.md", "skill.md")
"""The second is what the reference takes as well."""

MAX_DEPTH = 4
MAX_SKILLS = 200
MAX_FILES = 1_000
MAX_BYTES = 32 * 1024 * 1024
"""For each skill, all its files together."""


class Discovered(NamedTuple):
    """`judged` in the order of their folders; `notes` about the place as a whole."""

    judged: tuple[Judged, ...]
    notes: tuple[str, ...] = ()


class _Candidate(NamedTuple):
    folder: str
    document: str
    entries: Sequence[Entry]


def discover(place: Place, origin: Origin) -> Discovered:
    """What is in `place`. Raises `GitError` where it is a commit that cannot be read."""
    entries, cut = place.listing()
    notes = [cut] if cut else []
    stands_for_all = next((entry for entry in entries if not entry.path), None)
    if stands_for_all is not None:
        return Discovered((), (f"{place.name} is {stands_for_all.kind.value}, so it is not looked into",))
    candidates = _candidates(entries)
    if len(candidates) > MAX_SKILLS:
        notes.append(
            f"{place.name} holds {len(candidates)} skills; only the first {MAX_SKILLS} by name are looked at"
        )
    for folder in _linked(entries, candidates):
        notes.append(
            f"{place.name}/{ascii(folder)[1:-1]} is a link or a submodule, so no skill is read there"
        )
    return Discovered(_judge(place, candidates[:MAX_SKILLS], origin), tuple(notes))


def _candidates(entries: Sequence[Entry]) -> list[_Candidate]:
    """The outermost folders with a SKILL.md, by name."""
    documents: dict[str, str] = {}
    for name in reversed(DOCUMENTS):
        for entry in entries:
            folder, _, last = entry.path.rpartition("/")
            if last == name and folder and folder.count("/") < MAX_DEPTH:
                documents[folder] = name
    inside: dict[str, list[Entry]] = {}
    for entry in entries:
        skill = next((above for above in _above(entry.path) if above in documents), None)
        if skill is not None:
            inside.setdefault(skill, []).append(entry)
    return [_Candidate(folder, documents[folder], inside[folder]) for folder in sorted(inside)]


def _above(path: str) -> Iterator[str]:
    """The folders that `path` is in, the outermost first."""
    parts = path.split("/")[:-1]
    return ("/".join(parts[: end + 1]) for end in range(len(parts)))


def _linked(entries: Iterable[Entry], candidates: Sequence[_Candidate]) -> Iterator[str]:
    """Links and submodules that stand where a skill could."""
    skills = {candidate.folder for candidate in candidates}
    for entry in entries:
        if entry.kind in (Kind.LINK, Kind.SUBMODULE) and not skills.intersection(_above(entry.path)):
            yield entry.path


def _judge(place: Place, candidates: Sequence[_Candidate], origin: Origin) -> tuple[Judged, ...]:
    unsafe = {candidate.folder: tuple(_unsafe(place, candidate)) for candidate in candidates}
    readable = [f"{one.folder}/{one.document}" for one in candidates if not unsafe[one.folder]]
    held = place.read(readable, MAX_DOCUMENT)
    return tuple(_judged(place, one, unsafe[one.folder], held, origin) for one in candidates)


def _judged(
    place: Place, one: _Candidate, unsafe: tuple[Finding, ...], held: Mapping[str, bytes], origin: Origin
) -> Judged:
    if unsafe:
        return Judged(one.folder, None, unsafe)
    document = f"{one.folder}/{one.document}"
    start = len(one.folder) + 1
    files = tuple(
        SkillFile(entry.path[start:], entry.size, entry.kind is Kind.PROGRAM)
        for entry in one.entries
        if entry.path != document
    )
    return judge(held.get(document, b""), place.name, one.folder, one.document, origin, files)


def _unsafe(place: Place, one: _Candidate) -> Iterator[Finding]:
    """What keeps a folder from being read or copied at all."""
    for entry in one.entries:
        shown = f"{place.name}/{entry.path}"
        if entry.kind not in (Kind.FILE, Kind.PROGRAM):
            message = f"this is {entry.kind.value}; a skill is made of files and folders alone"
            yield Finding("plain-files", Level.REFUSED, shown, 0, message)
        elif entry.path == f"{one.folder}/{one.document}" and entry.size > MAX_DOCUMENT:
            message = f"this is over {MAX_DOCUMENT // 1024} kB; move parts of it to references/"
            yield Finding("size", Level.REFUSED, shown, 0, message)
    folder = f"{place.name}/{one.folder}"
    if len(one.entries) > MAX_FILES:
        yield Finding("size", Level.REFUSED, folder, 0, f"the skill has over {MAX_FILES:,} files")
    if sum(entry.size for entry in one.entries) > MAX_BYTES:
        yield Finding("size", Level.REFUSED, folder, 0, f"the skill's files are over {MAX_BYTES >> 20} MB")
