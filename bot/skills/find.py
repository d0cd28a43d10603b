"""The skills of a session: on a person's machine their own, those of the repository's base commit, and the
bundled ones.

By name, the first one wins: the user's own, then `.agents/skills` before `.claude/skills`, then the bundled
ones; within one source the first folder by name. Those of plug-ins have names of their own. A note says what is
left out.

Plug-ins are Claude Code's: `skills/NAME/SKILL.md` beside `.claude-plugin/plugin.json`. The user's are those that are
installed for the user and enabled; a repository's are below `.claude/plugins`. Nothing else of a plug-in is used: no
command, agent, hook or server, and no other folder of skills that its manifest names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bot.checkout.errors import CheckoutError
from bot.checkout.git import Git
from bot.checkout.local import resolve
from bot.contracts.errors import UsageError
from bot.skills.discover import DOCUMENTS, Discovered, discover
from bot.skills.rules import MAX_DOCUMENT
from bot.skills.skill import CheckedSkill, Finding, Level, Skill
from bot.skills.sources import CommitFolder, Folder, Kind, SkillSource, commit_folders

REPOSITORY_FOLDERS = (".agents/skills", ".claude/skills")
REPOSITORY_PLUGINS = ".claude/plugins"
_MANIFEST = ".claude-plugin/plugin.json"
_MAX_MANIFEST = 1024 * 1024
_MAX_PLUGINS = 50
BUNDLED = Path(__file__).resolve().parent / "bundled"
"""A link to `skills/` at the top of the repository; in an installed package, a copy of it."""

_PUBLISHING = re.compile(
    r"(?i)(?<!before )(?<!before you )\b(?:push(?:es|ing)? (?:a |the |your |my )?(?:branch|change|commit|tag)\w*"
    r"|(?:time|when|after) you push|open(?:s|ing)? (?:a |the )?(?:pr|pull request)\b)"
)
_PUSHING_COMMAND = re.compile(r"(?i)bash\((?:git push|gh pr (?:create|merge)|gh release)\b")

_PLUGIN_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")

MAX_SKILLS = 100
"""In one session."""


class SourcedSkill(NamedTuple):
    """A skill and the source of its files."""

    skill: Skill
    source: SkillSource


class SkillSet(NamedTuple):
    """`skills` sorted by name. `notes` has one line for each error, shadowed skill or omission."""

    skills: tuple[SourcedSkill, ...]
    notes: tuple[str, ...] = ()


def bundled() -> tuple[SkillSource, Discovered]:
    """Return the skills that come with the program."""
    source = Folder(BUNDLED, "skills")
    return source, discover(source, "bundled")


def commit_skills(git: Git, commit: str) -> list[tuple[SkillSource, Discovered]]:
    """Return the skills of a commit, which must be one of the base branch: its authors decide what the agent
    does. Raises `GitError`."""
    *sources, plugin_folder = commit_folders(git, commit, (*REPOSITORY_FOLDERS, REPOSITORY_PLUGINS))
    own: list[tuple[SkillSource, Discovered]] = [
        (source, discover(source, "repository")) for source in sources
    ]
    return [*own, *commit_plugins(git, commit, plugin_folder)]


def user_skills(environment: Mapping[str, str]) -> list[tuple[SkillSource, Discovered]]:
    """Return the user's own skills, trusted as any file of theirs. None in Actions: an earlier step or job may
    have written to the runner's home."""
    home = Path(environment.get("HOME", ""))
    if environment.get("GITHUB_ACTIONS") == "true" or not home.is_absolute():
        return []
    config = environment.get("XDG_CONFIG_HOME") or home / ".config"
    folders = [Path(config, "slash-agent", "skills"), home / ".claude" / "skills"]
    sources = [Folder(folder, short_name(folder, home), links=True) for folder in folders]
    return [*((source, discover(source, "user")) for source in sources), *user_plugins(home)]


def session_skills(
    user: Mapping[str, str],
    committed: Iterable[tuple[SkillSource, Discovered]] = (),
    instruction: str | None = "",
) -> SkillSet:
    """Return all skills of a session. `user` is the environment of the machine's owner, empty if there is none."""
    return choose_skills([*user_skills(user), *committed, bundled()], instruction)


def choose_skills(
    sources: Iterable[tuple[SkillSource, Discovered]], instruction: str | None = ""
) -> SkillSet:
    """Return one skill for each name, from sources in the order of precedence. A skill that only people start is one of
    them if the person's `instruction` has its name after a slash; all such skills are if it is `None`."""
    skills: dict[str, SourcedSkill] = {}
    notes: list[str] = []
    for source, discovered in sources:
        notes += discovered.notes
        for checked in discovered.checked:
            notes += map(str, _reported(checked.findings))
            skill = checked.skill
            if skill is None:
                continue
            if why := _not_offered(skill, instruction):
                notes.append(f"{source.name}/{skill.folder}: the skill {skill.name} is not offered: {why}")
                continue
            if (winner := skills.get(skill.name)) is not None:
                other = _skill_path(winner)
                notes.append(
                    f"{source.name}/{skill.folder}: not used, since {other} comes first and is named {skill.name} too"
                )
            else:
                skills[skill.name] = SourcedSkill(skill, source)
    if len(skills) > MAX_SKILLS:
        notes.append(f"{len(skills)} skills were found; a session has the first {MAX_SKILLS}")
    plugged_last = sorted(skills, key=lambda name: skills[name].skill.origin == "plugin")
    return SkillSet(tuple(skills[name] for name in sorted(plugged_last[:MAX_SKILLS])), tuple(notes))


def _not_offered(skill: Skill, instruction: str | None) -> str:
    if skill.manual and instruction is not None:
        written = re.search(rf"(?<!\S)/{re.escape(skill.name)}(?![\w:-])", instruction)
        if not written:
            return f"only people start it (`disable-model-invocation`); write /{skill.name} in the request for that"
    return skill.limit or ("" if skill.origin == "bundled" else denied_action(skill))


def denied_action(skill: Skill) -> str:
    """Return the skill's purpose, as a clause, if no run may do it; else "". Only its description and
    `allowed-tools` count, not its text."""
    words = f"{skill.name.replace('-', ' ')}. {skill.description}"
    if match := _PUBLISHING.search(words):
        return (
            f"it is for work after the run ({match[0]!a}), and a run neither pushes nor opens pull requests"
        )
    if piece := next((piece for piece in skill.allowed_tools if _PUSHING_COMMAND.match(piece)), ""):
        return f"it needs {piece[:80]!a}, which no run may do"
    return ""


def _skill_path(entry: SourcedSkill) -> str:
    return f"{entry.source.name}/{entry.skill.folder}"


def _reported(findings: Sequence[Finding]) -> Iterable[Finding]:
    return (finding for finding in findings if finding.level is not Level.AGAINST)


def checkout_skills(folder: Path, environment: Mapping[str, str], instruction: str | None = "") -> SkillSet:
    """Return the skills that a session on the checkout at `folder` would have: the user's own, its HEAD's and
    the bundled ones. `instruction` is as in `choose_skills`. Raises `UsageError` if there is no such folder."""

    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.")
    try:
        commit = resolve(folder.resolve(), "HEAD")
    except CheckoutError as error:
        skills = session_skills(environment, (), instruction)
        return skills._replace(notes=(f"No skills of a repository: {error}.", *skills.notes))
    # A linked work tree shares the objects, and so the git directory, of the repository it belongs to.
    committed = commit_skills(Git(commit.objects.parent), commit.sha)
    skills = session_skills(environment, committed, instruction)
    return skills._replace(notes=(*skills.notes, *_uncommitted(folder, [source for source, _ in committed])))


def _uncommitted(folder: Path, committed: Sequence[SkillSource]) -> Iterator[str]:
    """Return notes on skills in the work tree that differ from HEAD."""
    if not (folder / ".git").exists():
        return  # within a repository: its own folders of skills are further up
    of_head = {source.name: source for source in committed}
    for name in REPOSITORY_FOLDERS:
        source = Folder(folder / name, name)
        if not (folder / name).is_dir():
            continue
        current = source.read(_documents(source), MAX_DOCUMENT)
        head = of_head.get(name)
        committed_files = (
            head.read([path for path in _documents(head) if path in current], MAX_DOCUMENT) if head else {}
        )
        for path, data in current.items():
            if path not in committed_files:
                yield f"{name}/{path} is not committed: no run has that skill yet"
            elif committed_files[path] != data:
                yield f"{name}/{path} is not as HEAD has it, and HEAD's counts"


def _documents(source: SkillSource) -> list[str]:
    """Return the path of each SKILL.md below a folder of its own."""
    paths = (entry.path for entry in source.listing().entries)
    return [path for path in paths if path.rpartition("/")[0] and path.rpartition("/")[2] in DOCUMENTS]


def user_plugins(home: Path) -> list[tuple[SkillSource, Discovered]]:
    """Return the skills of the user's plug-ins. Files in an unknown format are ignored."""
    return [
        _plugin_skills(
            Folder(folder / "skills", short_name(folder / "skills", home)), _read(folder / _MANIFEST)
        )
        for folder in list(_installed(home / ".claude"))[:_MAX_PLUGINS]
    ]


def commit_plugins(git: Git, commit: str, plugins: CommitFolder) -> list[tuple[SkillSource, Discovered]]:
    """Return the skills of the plug-ins in `plugins`, a folder of `commit`. Raises `GitError`."""
    paths = [
        entry.path
        for entry in plugins.listing().entries
        if re.fullmatch(f"[^/]+/{re.escape(_MANIFEST)}", entry.path)
        and entry.kind is Kind.FILE
        and entry.size <= _MAX_MANIFEST
    ][:_MAX_PLUGINS]
    if not paths:
        return []
    manifests = plugins.read(paths, _MAX_MANIFEST)
    roots = [path.removesuffix(_MANIFEST) for path in paths]
    sources = commit_folders(git, commit, [f"{plugins.name}/{root}skills" for root in roots])
    return [
        _plugin_skills(source, _object(manifests[path])) for source, path in zip(sources, paths, strict=True)
    ]


def short_name(folder: Path, home: Path) -> str:
    return f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)


def _plugin_skills(source: SkillSource, manifest: dict[str, Any]) -> tuple[SkillSource, Discovered]:
    """Return the skills in `source`, each named PLUGIN:SKILL as in Claude Code, so that none shadows another."""
    plugin = manifest.get("name")
    if not isinstance(plugin, str) or not _PLUGIN_NAME.fullmatch(plugin):
        note = (
            f"{source.name}: no skill is read there, since the plug-in's {_MANIFEST} gives it no valid name"
        )
        return source, Discovered((), (note,))
    discovered = discover(source, "plugin")
    return source, discovered._replace(checked=tuple(_with_prefix(one, plugin) for one in discovered.checked))


def _with_prefix(checked: CheckedSkill, plugin: str) -> CheckedSkill:
    skill = checked.skill
    return checked._replace(skill=skill and skill._replace(name=f"{plugin}:{skill.name}"))


def _installed(claude: Path) -> Iterator[Path]:
    """Return the folders of the plug-ins that are installed for the user, not for one project, and enabled; by
    their id."""
    plugins = _read(claude / "plugins" / "installed_plugins.json").get("plugins")
    enabled = _read(claude / "settings.json").get("enabledPlugins")
    if not isinstance(plugins, dict) or not isinstance(enabled, dict):
        return
    for id, entries in sorted(plugins.items()):
        for entry in entries if isinstance(entries, list) else ():
            path = entry.get("installPath") if isinstance(entry, dict) else None
            if enabled.get(id) is True and isinstance(path, str) and entry.get("scope") == "user":
                yield Path(path)


def _read(path: Path) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return _object(file.read(_MAX_MANIFEST))
    except OSError:
        return {}  # not there: no plug-in


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
