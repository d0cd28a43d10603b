"""Find and validate the skills of one source: folders with a SKILL.md. Bounded and deterministic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bot.contracts.errors import UsageError
from bot.parsing.parser import Parser
from bot.skills.rules import MAX_DOCUMENT, check_document
from bot.skills.skill import CheckedSkill, Finding, Level, Origin, SkillFile
from bot.skills.sources import Entry, Folder, Kind, SkillSource

DOCUMENTS = ("SKILL.md", "skill.md")
"""The reference implementation accepts the second name as well."""

MAX_DEPTH = 4
MAX_SKILLS = 200
MAX_FILES = 1_000
MAX_BYTES = 32 * 1024 * 1024
"""All files of one skill together."""


class Discovered(NamedTuple):
    """`checked` in the order of their folders; `notes` about the source as a whole."""

    checked: tuple[CheckedSkill, ...]
    notes: tuple[str, ...] = ()


class _Candidate(NamedTuple):
    folder: str
    document: str
    entries: Sequence[Entry]


def discover(source: SkillSource, origin: Origin) -> Discovered:
    """Return the skills in `source`. Raises `GitError` if it is a commit that cannot be read."""
    entries, cut = source.listing()
    notes = [cut] if cut else []
    root_entry = next((entry for entry in entries if not entry.path), None)
    if root_entry is not None:
        return Discovered((), (f"{source.name} is {root_entry.kind.value}, so it is not looked into",))
    candidates = _candidates(entries)
    if len(candidates) > MAX_SKILLS:
        notes.append(
            f"{source.name} holds {len(candidates)} skills; only the first {MAX_SKILLS} by name are looked at"
        )
    for folder in _links(entries, candidates):
        notes.append(
            f"{source.name}/{ascii(folder)[1:-1]} is a link or a submodule, so no skill is read there"
        )
    return Discovered(_check_all(source, candidates[:MAX_SKILLS], origin), tuple(notes))


def _candidates(entries: Sequence[Entry]) -> list[_Candidate]:
    """Return the outermost folders with a SKILL.md, by name."""
    documents: dict[str, str] = {}
    for name in reversed(DOCUMENTS):
        for entry in entries:
            folder, _, last = entry.path.rpartition("/")
            if last == name and folder and folder.count("/") < MAX_DEPTH:
                documents[folder] = name
    inside: dict[str, list[Entry]] = {}
    for entry in entries:
        skill = next((above for above in _parents(entry.path) if above in documents), None)
        if skill is not None:
            inside.setdefault(skill, []).append(entry)
    return [_Candidate(folder, documents[folder], inside[folder]) for folder in sorted(inside)]


def _parents(path: str) -> Iterator[str]:
    """Return the folders that contain `path`, the outermost first."""
    parts = path.split("/")[:-1]
    return ("/".join(parts[: end + 1]) for end in range(len(parts)))


def _links(entries: Iterable[Entry], candidates: Sequence[_Candidate]) -> Iterator[str]:
    """Return links and submodules where a skill could be."""
    skills = {candidate.folder for candidate in candidates}
    for entry in entries:
        if entry.kind in (Kind.LINK, Kind.SUBMODULE) and not skills.intersection(_parents(entry.path)):
            yield entry.path


def _check_all(
    source: SkillSource, candidates: Sequence[_Candidate], origin: Origin
) -> tuple[CheckedSkill, ...]:
    unsafe = {candidate.folder: tuple(_unsafe(source, candidate)) for candidate in candidates}
    readable = [f"{one.folder}/{one.document}" for one in candidates if not unsafe[one.folder]]
    contents = source.read(readable, MAX_DOCUMENT)
    with Parser() as parser:
        return tuple(_check(source, one, unsafe[one.folder], contents, origin, parser) for one in candidates)


def _check(
    source: SkillSource,
    one: _Candidate,
    unsafe: tuple[Finding, ...],
    contents: Mapping[str, bytes],
    origin: Origin,
    parser: Parser,
) -> CheckedSkill:
    if unsafe:
        return CheckedSkill(one.folder, None, unsafe)
    document = f"{one.folder}/{one.document}"
    start = len(one.folder) + 1
    files = tuple(
        SkillFile(entry.path[start:], entry.size, entry.kind is Kind.PROGRAM)
        for entry in one.entries
        if entry.path != document
    )
    return check_document(
        contents.get(document, b""), source.name, one.folder, one.document, origin, files=files, parser=parser
    )


def _unsafe(source: SkillSource, one: _Candidate) -> Iterator[Finding]:
    """Return the findings that forbid reading or copying a folder."""
    for entry in one.entries:
        path = f"{source.name}/{entry.path}"
        if entry.kind not in (Kind.FILE, Kind.PROGRAM):
            message = f"this is {entry.kind.value}; a skill is made of files and folders alone"
            yield Finding("plain-files", Level.REFUSED, path, 0, message)
        elif entry.path == f"{one.folder}/{one.document}" and entry.size > MAX_DOCUMENT:
            message = f"this is over {MAX_DOCUMENT // 1024} kB; move parts of it to references/"
            yield Finding("size", Level.REFUSED, path, 0, message)
    folder = f"{source.name}/{one.folder}"
    if len(one.entries) > MAX_FILES:
        yield Finding("size", Level.REFUSED, folder, 0, f"the skill has over {MAX_FILES:,} files")
    if sum(entry.size for entry in one.entries) > MAX_BYTES:
        yield Finding("size", Level.REFUSED, folder, 0, f"the skill's files are over {MAX_BYTES >> 20} MB")


def check_folder(folder: Path) -> tuple[Sequence[CheckedSkill], Sequence[str]]:
    """Validate each skill in a folder of this machine, or the skill that it is, for `slash-agent skills check`;
    also return notes about the folder. Raises `UsageError` if there is none."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.")
    root = folder.resolve()
    if any((root / name).exists() for name in DOCUMENTS):
        source = Folder(root.parent, str(folder.parent if folder.name else root.parent), only=root.name)
    else:
        source = Folder(root, str(folder))
    checked, notes = discover(source, "repository")
    if not checked and not notes:
        raise UsageError(
            f"There is no skill in {folder}: a skill is a folder with a SKILL.md, as in {folder}/my-skill/SKILL.md."
        )
    return checked, notes
