"""Which skills a session has: those of the repository's base commit, and those that come with the program.

By name, the first one wins: `.agents/skills` before `.claude/skills` before the bundled ones, in one place the first
folder by name. Whatever is left out is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bot.checkout.errors import CheckoutError
from bot.checkout.git import Git
from bot.contracts.errors import UsageError
from bot.skills.discover import DOCUMENTS, Discovered, discover
from bot.skills.places import Folder, Place
from bot.skills.places import of_commit as commit_folders
from bot.skills.rules import MAX_DOCUMENT
from bot.skills.skill import Finding, Level, Skill

REPOSITORY_FOLDERS = (".agents/skills", ".claude/skills")
BUNDLED = Path(__file__).resolve().parent / "bundled"
"""A link to `skills/` at the top of the repository; in an installed package, a copy of it."""

_PUBLISHING = re.compile(
    r"(?i)(?<!before )(?<!before you )\b(?:push(?:es|ing)? (?:a |the |your |my )?(?:branch|change|commit|tag)\w*"
    r"|(?:time|when|after) you push|open(?:s|ing)? (?:a |the )?(?:pr|pull request)\b)"
)
_PUSHING_COMMAND = re.compile(r"(?i)bash\((?:git push|gh pr (?:create|merge)|gh release)\b")

MAX_SKILLS = 100
"""In one session."""


class Held(NamedTuple):
    """A skill, and the place to take its files from."""

    skill: Skill
    place: Place


class Found(NamedTuple):
    """`held` sorted by name. `notes` says in words, one line each, what is wrong, shadowed or left out."""

    held: tuple[Held, ...]
    notes: tuple[str, ...] = ()


def bundled() -> tuple[Place, Discovered]:
    """The skills that come with the program."""
    place = Folder(BUNDLED, "skills")
    return place, discover(place, "bundled")


def of_commit(git: Git, commit: str) -> list[tuple[Place, Discovered]]:
    """Those of a commit, which must be one of the base branch: whoever may change it may say what the agent does.

    Raises `GitError`."""
    places = commit_folders(git, commit, REPOSITORY_FOLDERS)
    return [(place, discover(place, "repository")) for place in places]


def chosen(places: Iterable[tuple[Place, Discovered]]) -> Found:
    """One skill a name, from places in the order of their precedence."""
    held: dict[str, Held] = {}
    notes: list[str] = []
    for place, discovered in places:
        notes += discovered.notes
        for judged in discovered.judged:
            notes += map(str, _worth_saying(judged.findings))
            skill = judged.skill
            if skill is None:
                continue
            if skill.origin == "repository" and (why := denied_action(skill)):
                notes.append(f"{place.name}/{skill.folder}: the skill {skill.name} is not offered: {why}")
                continue
            if (winner := held.get(skill.name)) is not None:
                notes.append(
                    f"{place.name}/{skill.folder}: the skill {skill.name} is {_named(winner)} already, which counts"
                )
            else:
                held[skill.name] = Held(skill, place)
    names = sorted(held)
    if len(names) > MAX_SKILLS:
        notes.append(f"{len(names)} skills were found; a session has the first {MAX_SKILLS} by name")
    return Found(tuple(held[name] for name in names[:MAX_SKILLS]), tuple(notes))


def denied_action(skill: Skill) -> str:
    """What the skill is for that no run may do, as a clause; empty for nothing. Its own words and `allowed-tools` say
    so; a skill that only mentions it in its text is offered."""
    words = f"{skill.name.replace('-', ' ')}. {skill.description}"
    if found := _PUBLISHING.search(words):
        return (
            f"it is for work after the run ({found[0]!a}), and a run neither pushes nor opens pull requests"
        )
    if piece := next((piece for piece in skill.allowed_tools if _PUSHING_COMMAND.match(piece)), ""):
        return f"it needs {piece[:80]!a}, which no run may do"
    return ""


def _named(held: Held) -> str:
    return f"{held.place.name}/{held.skill.folder}"


def _worth_saying(findings: Sequence[Finding]) -> Iterable[Finding]:
    return (finding for finding in findings if finding.level is not Level.AGAINST)


def here(folder: Path) -> Found:
    """What a session on the checkout at `folder` would have: its HEAD's and the bundled ones. Outside of a
    repository, the bundled ones alone. Raises `UsageError` where there is no such folder."""
    from bot.checkout.local import resolve

    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.")
    try:
        commit = resolve(folder.resolve(), "HEAD")
    except CheckoutError as error:
        found = chosen([bundled()])
        return found._replace(notes=(f"Only the bundled skills: {error}.", *found.notes))
    # A linked work tree shares the objects, and so the git directory, of the repository it belongs to.
    committed = of_commit(Git(commit.objects.parent), commit.sha)
    found = chosen([*committed, bundled()])
    return found._replace(notes=(*found.notes, *_uncommitted(folder, [place for place, _ in committed])))


def _uncommitted(folder: Path, committed: Sequence[Place]) -> Iterator[str]:
    """What whoever has just written a skill would look for in vain."""
    if not (folder / ".git").exists():
        return  # within a repository: its own folders of skills are further up
    of_head = {place.name: place for place in committed}
    for name in REPOSITORY_FOLDERS:
        there = Folder(folder / name, name)
        if not (folder / name).is_dir():
            continue
        now = there.read(_documents(there), MAX_DOCUMENT)
        head = of_head.get(name)
        then = head.read([path for path in _documents(head) if path in now], MAX_DOCUMENT) if head else {}
        for path, data in now.items():
            if path not in then:
                yield f"{name}/{path} is not committed: no run has that skill yet"
            elif then[path] != data:
                yield f"{name}/{path} is not as HEAD has it, and HEAD's counts"


def _documents(place: Place) -> list[str]:
    """Each SKILL.md below a folder of its own, by path."""
    paths = (entry.path for entry in place.listing().entries)
    return [path for path in paths if path.rpartition("/")[0] and path.rpartition("/")[2] in DOCUMENTS]
