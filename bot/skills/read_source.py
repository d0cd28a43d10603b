"""Find and validate the skills of one source: folders with a SKILL.md. Bounded and deterministic."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bot.contracts.errors import UsageError
from bot.parsing.parser import Parser
from bot.skills.rules import MAX_DOCUMENT, check_document
from bot.skills.skill import Discovered, Finding, Origin, Skill
from bot.skills.sources import MAX_ENTRIES, Entry, Kind, SkillSource, folder_source

DOCUMENTS = ("SKILL.md", "skill.md")
"""The reference implementation accepts the second name as well."""

MAX_DEPTH = 4
MAX_SKILLS = 200
MAX_FILES = 1_000
MAX_BYTES = 32 * 1024 * 1024
"""All files of one skill together."""


def discover(source: SkillSource, origin: Origin) -> Discovered:
    """Return the skills in `source`. Raises `GitError` if it is a commit that cannot be read."""
    entries, name = source.entries, source.name
    if entries and not entries[0].path:
        note = f"{name} is {entries[0].kind.value}, so it is not looked into"
        return Discovered(source, (), (note,))
    notes = [f"only {MAX_ENTRIES} files of {name} were looked at"] if source.is_cut else []
    names = documents(entries)
    inside: dict[str, list[Entry]] = {}
    for entry in entries:
        # The outermost folder with a SKILL.md.
        if folder := next((above for above in _parents(entry.path) if above in names), ""):
            inside.setdefault(folder, []).append(entry)
        elif entry.kind in (Kind.LINK, Kind.SUBMODULE):
            path = ascii(entry.path)[1:-1]
            notes.append(f"{name}/{path} is a link or a submodule, so no skill is read there")
    if len(inside) > MAX_SKILLS:
        notes.append(f"{name} holds {len(inside)} skills; only the first {MAX_SKILLS} by name are looked at")
    skills = [
        _candidate(Skill("", "", origin, folder, names[folder], source=source), inside[folder])
        for folder in sorted(inside)[:MAX_SKILLS]
    ]
    contents = source.read(
        [f"{one.folder}/{one.document}" for one in skills if not one.findings], MAX_DOCUMENT
    )
    with Parser() as parser:
        checked = [
            one
            if one.findings
            else check_document(one, contents.get(f"{one.folder}/{one.document}", b""), parser)
            for one in skills
        ]
    return Discovered(source, checked, tuple(notes))


def documents(entries: Iterable[Entry]) -> dict[str, str]:
    """Return the name of the SKILL.md of each folder that has one and is not too deep."""
    folders: dict[str, str] = {}
    for folder, _, name in (entry.path.rpartition("/") for entry in entries):
        if folder and folder.count("/") < MAX_DEPTH and name in DOCUMENTS:
            folders[folder] = min(name, folders.get(folder, name))
    return folders


def _parents(path: str) -> Iterator[str]:
    """Return the folders that contain `path`, the outermost first."""
    parts = path.split("/")[:-1]
    return ("/".join(parts[: end + 1]) for end in range(len(parts)))


def _candidate(skill: Skill, entries: Sequence[Entry]) -> Skill:
    """Return `skill` with its files, and with the findings that forbid reading or copying them."""
    document, findings = f"{skill.folder}/{skill.document}", []

    def refuse(rule: str, path: str, message: str) -> None:
        findings.append(Finding(rule, f"{skill.source.name}/{path}", 0, message))

    for entry in entries:
        if entry.kind not in (Kind.FILE, Kind.PROGRAM):
            message = f"this is {entry.kind.value}; a skill is made of files and folders alone"
            refuse("plain-files", entry.path, message)
        elif entry.path == document and entry.size > MAX_DOCUMENT:
            message = f"this is over {MAX_DOCUMENT // 1024} kB; move parts of it to references/"
            refuse("size", entry.path, message)
    if len(entries) > MAX_FILES:
        refuse("size", skill.folder, f"the skill has over {MAX_FILES:,} files")
    if sum(entry.size for entry in entries) > MAX_BYTES:
        refuse("size", skill.folder, f"the skill's files are over {MAX_BYTES >> 20} MB")
    start = len(skill.folder) + 1
    files = tuple(one._replace(path=one.path[start:]) for one in entries if one.path != document)
    return skill._replace(files=files, findings=tuple(findings))


def check_folder(folder: Path) -> Discovered:
    """Validate each skill in a folder of this machine, or the skill that it is, for `slash-agent skills check`.
    Raises `UsageError` if there is none."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.")
    root = folder.resolve()
    source = folder_source(root, str(folder))
    if any((root / name).exists() for name in DOCUMENTS):
        above = str(folder.parent if folder.name else root.parent)
        source = folder_source(root.parent, above, only=root.name)
    result = discover(source, "repository")
    if not result.skills and not result.notes:
        raise UsageError(
            f"There is no skill in {folder}: a skill is a folder with a SKILL.md, as in {folder}/my-skill/SKILL.md."
        )
    return result
