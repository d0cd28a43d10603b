"""Find and validate the skills of one source: folders with a SKILL.md. Bounded and deterministic."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bot.contracts.errors import UsageError
from bot.parsing.parser import Parser
from bot.skills.rules import MAX_DOCUMENT, check_document
from bot.skills.skill import CheckedSkill, Discovered, Finding, Origin
from bot.skills.sources import MAX_ENTRIES, Entry, Kind, SkillSource, folder_source

DOCUMENTS = ("SKILL.md", "skill.md")
"""The reference implementation accepts the second name as well."""

MAX_DEPTH = 4
MAX_SKILLS = 200
MAX_FILES = 1_000
MAX_BYTES = 32 * 1024 * 1024
"""All files of one skill together."""


class _Candidate(NamedTuple):
    folder: str
    document: str
    entries: Sequence[Entry]

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.document}"

    @property
    def files(self) -> tuple[Entry, ...]:
        start = len(self.folder) + 1
        return tuple(one._replace(path=one.path[start:]) for one in self.entries if one.path != self.path)


def discover(source: SkillSource, origin: Origin) -> Discovered:
    """Return the skills in `source`. Raises `GitError` if it is a commit that cannot be read."""
    entries, name = source.entries, source.name
    if entries and not entries[0].path:
        note = f"{name} is {entries[0].kind.value}, so it is not looked into"
        return Discovered(source, (), (note,))
    notes = [f"only {MAX_ENTRIES} files of {name} were looked at"] if source.is_cut else []
    candidates = _candidates(entries)
    if len(candidates) > MAX_SKILLS:
        notes.append(
            f"{name} holds {len(candidates)} skills; only the first {MAX_SKILLS} by name are looked at"
        )
    skills = {candidate.folder for candidate in candidates}
    for entry in entries:
        if entry.kind in (Kind.LINK, Kind.SUBMODULE) and not skills.intersection(_parents(entry.path)):
            path = ascii(entry.path)[1:-1]
            notes.append(f"{name}/{path} is a link or a submodule, so no skill is read there")
    return Discovered(source, _check_all(source, candidates[:MAX_SKILLS], origin), tuple(notes))


def documents(entries: Iterable[Entry]) -> dict[str, str]:
    """Return the name of the SKILL.md of each folder that has one and is not too deep."""
    folders: dict[str, str] = {}
    for folder, _, name in (entry.path.rpartition("/") for entry in entries):
        if folder and folder.count("/") < MAX_DEPTH and name in DOCUMENTS:
            folders[folder] = min(name, folders.get(folder, name))
    return folders


def _candidates(entries: Sequence[Entry]) -> list[_Candidate]:
    """Return the outermost folders with a SKILL.md, by name."""
    names = documents(entries)
    inside: dict[str, list[Entry]] = {}
    for entry in entries:
        if skill := next((above for above in _parents(entry.path) if above in names), ""):
            inside.setdefault(skill, []).append(entry)
    return [_Candidate(folder, names[folder], inside[folder]) for folder in sorted(inside)]


def _parents(path: str) -> Iterator[str]:
    """Return the folders that contain `path`, the outermost first."""
    parts = path.split("/")[:-1]
    return ("/".join(parts[: end + 1]) for end in range(len(parts)))


def _check_all(source: SkillSource, candidates: Sequence[_Candidate], origin: Origin) -> list[CheckedSkill]:
    unsafe = {candidate.folder: tuple(_unsafe(source.name, candidate)) for candidate in candidates}
    contents = source.read([one.path for one in candidates if not unsafe[one.folder]], MAX_DOCUMENT)
    with Parser() as parser:
        return [
            CheckedSkill(one.folder, None, unsafe[one.folder])
            if unsafe[one.folder]
            else check_document(
                contents.get(one.path, b""), source.name, one.folder, one.document, origin, one.files, parser
            )
            for one in candidates
        ]


def _unsafe(source: str, one: _Candidate) -> Iterator[Finding]:
    """Return the findings that forbid reading or copying a folder."""

    def refused(rule: str, path: str, message: str) -> Finding:
        return Finding(rule, f"{source}/{path}", 0, message)

    for entry in one.entries:
        if entry.kind not in (Kind.FILE, Kind.PROGRAM):
            message = f"this is {entry.kind.value}; a skill is made of files and folders alone"
            yield refused("plain-files", entry.path, message)
        elif entry.path == one.path and entry.size > MAX_DOCUMENT:
            message = f"this is over {MAX_DOCUMENT // 1024} kB; move parts of it to references/"
            yield refused("size", entry.path, message)
    if len(one.entries) > MAX_FILES:
        yield refused("size", one.folder, f"the skill has over {MAX_FILES:,} files")
    if sum(entry.size for entry in one.entries) > MAX_BYTES:
        yield refused("size", one.folder, f"the skill's files are over {MAX_BYTES >> 20} MB")


def check_folder(folder: Path) -> Discovered:
    """Validate each skill in a folder of this machine, or the skill that it is, for `slash-agent skills check`.
    Raises `UsageError` if there is none."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.")
    root = folder.resolve()
    if any((root / name).exists() for name in DOCUMENTS):
        above = str(folder.parent if folder.name else root.parent)
        result = discover(folder_source(root.parent, above, only=root.name), "repository")
    else:
        result = discover(folder_source(root, str(folder)), "repository")
    if not result.checked and not result.notes:
        raise UsageError(
            f"There is no skill in {folder}: a skill is a folder with a SKILL.md, as in {folder}/my-skill/SKILL.md."
        )
    return result
