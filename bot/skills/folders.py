"""The skills of a session: those of the repository's base commit, on a person's machine their own, and the bundled
ones.

By name, whatever its case, the first one wins: the repository's (`REPOSITORY_FOLDERS` in this order at its root, then
in folders of it), then the user's own, then the bundled ones; within one source the first folder by name. A
note says what is left out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bot.checkout.git import CheckoutError, Git
from bot.checkout.local import resolve
from bot.contracts.errors import UsageError
from bot.ecosystems.test_files import role_of
from bot.skills.read_source import discover, documents
from bot.skills.rules import MAX_DOCUMENT
from bot.skills.skill import Discovered, Skill
from bot.skills.sources import SkillSource, commit_folders, folder_source, is_ignored

REPOSITORY_FOLDERS = (".agents/skills", ".claude/skills", ".github/skills")
_NESTED = re.compile(r"(.+)/\.(?:agents|claude)/skills")
_OF_OTHERS = frozenset({"vendor", "third_party", "third-party", "external"})
_MAX_NESTED = 50
BUNDLED = Path(__file__).resolve().parent / "bundled"
"""A link to `skills/` at the top of the repository; in an installed package, a copy of it."""

_PUBLISHING = re.compile(
    r"(?i)(?<!before )(?<!before you )\b(?:push(?:es|ing)? (?:a |the |your |my )?(?:branch|change|commit|tag)\w*"
    r"|(?:time|when|after) you push|open(?:s|ing)? (?:a |the )?(?:pr|pull request)\b)"
)
_PUSHING_COMMAND = re.compile(r"(?i)\bbash\((?:git push|gh pr (?:create|merge)|gh release)\b[^)]{0,40}\)?")

MAX_SKILLS = 100
"""In one session."""


class Wanted(NamedTuple):
    """What a person wrote: the `instruction`, which may name a skill after a slash, and the `name` after `--skill`."""

    instruction: str = ""
    name: str = ""

    def names(self, skill: str) -> bool:
        written = re.search(rf"(?i)(?<!\S)/{re.escape(skill)}(?![\w:-])", self.instruction)
        return skill.lower() == self.name.lower() or written is not None


NOTHING = Wanted()


class SkillSet(NamedTuple):
    """`skills` sorted by name. `notes` has one line for each error, shadowed skill or omission."""

    skills: tuple[Skill, ...]
    notes: tuple[str, ...] = ()

    def find(self, name: str) -> Skill | None:
        """Return the skill of that name, whatever its case."""
        return next((one for one in self.skills if one.name.lower() == name.lower()), None)


def bundled() -> Discovered:
    """Return the skills that come with the program."""
    return discover(folder_source(BUNDLED, "skills"), "bundled")


def commit_skills(git: Git, commit: str) -> list[Discovered]:
    """Return the skills of a commit, which must be one of the base branch: its authors decide what the agent
    does. Raises `GitError`."""
    listed = git.listed("ls-tree", "-r", "-d", "-z", "--name-only", "--full-tree", commit)
    nested = (path for path in listed if (match := _NESTED.fullmatch(path)) and _is_own(match[1]))
    sources = commit_folders(git, commit, (*REPOSITORY_FOLDERS, *sorted(nested)[:_MAX_NESTED]))
    return [_scoped(discover(source, "repository")) for source in sources]


def _is_own(folder: str) -> bool:
    """Whether a folder of the repository is neither one of tests nor other people's code."""
    foreign = is_ignored(folder) or not _OF_OTHERS.isdisjoint(folder.split("/"))
    return not foreign and "/." not in f"/{folder}" and role_of(f"{folder}/x.md") is None


def _scoped(result: Discovered) -> Discovered:
    """Return `result` with the folder that its skills are for."""
    if not (match := _NESTED.fullmatch(result.source.name)):
        return result
    return result._replace(skills=[skill._replace(scope=match[1]) for skill in result.skills])


def user_skills(environment: Mapping[str, str]) -> list[Discovered]:
    """Return the user's own skills, trusted as any file of theirs. None in Actions: an earlier step or job may
    have written to the runner's home."""
    home = Path(environment.get("HOME", ""))
    if environment.get("GITHUB_ACTIONS") == "true" or not home.is_absolute():
        return []
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config", "slash-agent")
    folders = [above / "skills" for above in (config, home / ".agents", home / ".claude")]
    names = {one: f"~/{one.relative_to(home)}" if one.is_relative_to(home) else str(one) for one in folders}
    return [discover(folder_source(one, name, links=True), "user") for one, name in names.items()]


def session_skills(
    user: Mapping[str, str], committed: Iterable[Discovered], wanted: Wanted | None
) -> SkillSet:
    """Return all skills of a session, as `choose_skills` does. `user` is the environment of the machine's owner, empty
    if there is none. Raises `UsageError` if the skill of `--skill` is not among them."""
    skills = choose_skills([*committed, *user_skills(user), bundled()], wanted)
    if wanted and wanted.name and skills.find(wanted.name) is None:
        why = next(
            (note for note in skills.notes if f"the skill {wanted.name.lower()} is" in note.lower()), ""
        )
        known = ", ".join(one.name for one in skills.skills)
        unknown = f"There is no skill `{wanted.name}`. The skills are: {known}."
        raise UsageError(f"--skill {wanted.name}: {why}." if why else unknown)
    return skills


def choose_skills(sources: Iterable[Discovered], wanted: Wanted | None = NOTHING) -> SkillSet:
    """Return one skill for each name, from sources in the order of precedence. A skill that only people start is one of
    them if it is `wanted`; all such skills are if that is `None`."""
    skills: dict[str, Skill] = {}
    notes: list[str] = []
    for source in sources:
        notes += source.notes
        for skill in source.skills:
            notes += map(str, skill.findings) if skill.findings else _add(skills, skill, wanted)
    if len(skills) > MAX_SKILLS:
        notes.append(f"{len(skills)} skills were found; a session has the first {MAX_SKILLS}")
    chosen = sorted(list(skills)[:MAX_SKILLS])
    return SkillSet(tuple(skills[name] for name in chosen), tuple(notes))


def _add(skills: dict[str, Skill], skill: Skill, wanted: Wanted | None) -> Iterator[str]:
    """Add the skill to `skills`, or return the note why it is left out."""
    if why := _not_offered(skill, wanted):
        yield f"{skill.path}: the skill {skill.name} is not offered: {why}"
        return
    if skill.name.lower() in skills and skill.scope:
        # Each folder of a repository may have a skill `build`.
        skill = skill._replace(
            name=f"{re.sub('[^a-z0-9]+', '-', skill.scope.lower()).strip('-')}:{skill.name}"
        )
    if (winner := skills.setdefault(skill.name.lower(), skill)).path != skill.path:
        yield f"{skill.path}: not used, since {winner.path} comes first and is named {winner.name} too"


def _not_offered(skill: Skill, wanted: Wanted | None) -> str:
    if skill.manual and wanted is not None and not wanted.names(skill.name):
        return (
            f"only people start it (`disable-model-invocation`); write /{skill.name} in the request for that"
        )
    return skill.limit or ("" if skill.origin == "bundled" else denied_action(skill))


def denied_action(skill: Skill) -> str:
    """Return the skill's purpose, as a clause, if no run may do it; else "". Only its description and
    `allowed-tools` count, not its text."""
    words = f"{skill.name.replace('-', ' ')}. {skill.description}"
    if match := _PUBLISHING.search(words):
        return (
            f"it is for work after the run ({match[0]!a}), and a run neither pushes nor opens pull requests"
        )
    if match := _PUSHING_COMMAND.search(skill.allowed_tools):
        return f"it needs {match[0]!a}, which no run may do"
    return ""


def checkout_skills(
    folder: Path, environment: Mapping[str, str], wanted: Wanted | None = NOTHING
) -> SkillSet:
    """Return the skills that a session on the checkout at `folder` would have: its HEAD's, the user's own and the
    bundled ones. `wanted` is as in `choose_skills`. Raises `UsageError` if there is no such folder."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.")
    try:
        commit = resolve(folder.resolve(), "HEAD")
    except CheckoutError as error:
        skills = session_skills(environment, (), wanted)
        return skills._replace(notes=(f"No skills of a repository: {error}.", *skills.notes))
    # A linked work tree shares the objects, and so the git directory, of the repository it belongs to.
    committed = commit_skills(Git(commit.objects.parent), commit.sha)
    skills = session_skills(environment, committed, wanted)
    return skills._replace(notes=(*skills.notes, *_uncommitted(folder, committed)))


def _uncommitted(folder: Path, committed: Sequence[Discovered]) -> Iterator[str]:
    """Return notes on skills in the work tree that differ from HEAD."""
    if not (folder / ".git").exists():
        return  # within a repository: its own folders of skills are further up
    for one in committed:
        name = one.source.name
        current = _texts(folder_source(folder / name, name))
        before = _texts(one.source)
        for path, data in current.items():
            if path not in before:
                yield f"{name}/{path} is not committed: no run has that skill yet"
            elif before[path] != data:
                yield f"{name}/{path} is not as HEAD has it, and HEAD's counts"


def _texts(source: SkillSource) -> Mapping[str, bytes]:
    """Return each SKILL.md of a source by its path."""
    paths = {f"{folder}/{name}" for folder, name in documents(source.entries).items()}
    return source.read(
        [one.path for one in source.entries if one.path in paths and one.size <= MAX_DOCUMENT], MAX_DOCUMENT
    )
