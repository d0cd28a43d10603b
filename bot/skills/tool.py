"""`skill`: the tool that loads a skill, the folder that loaded skills are copied to, and the catalogue in the tool's
description, which is frozen with the session.

The result of a call is one line for people and the model. The instructions follow all results of that turn as a
separate text, for the model only.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from html import escape
from pathlib import Path

from bot.contracts import tool_schema as schema
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.tools import ToolArguments, ToolOutcome, ToolSpec
from bot.events.sanitize import visible
from bot.parsing.front_matter import split_front_matter
from bot.skills.folders import SkillSet
from bot.skills.read_source import MAX_BYTES
from bot.skills.rules import MAX_DOCUMENT
from bot.skills.skill import Skill
from bot.skills.sources import Kind

NAME = "skill"
MAX_BODY = 40_000
"""Characters of a skill's instructions, about 10,000 tokens: twice what the specification recommends."""

MAX_LISTED = 50

_FOLLOW = "Follow the skill above to do the task. The task itself and the rules of this run come first."

_CLOSING = re.compile(r"<(?=/\s*skill\b)", re.IGNORECASE)


def skill_spec(skills: Sequence[Skill]) -> ToolSpec:
    """Return the tool's specification for at least one skill; deterministic."""
    return ToolSpec(
        name=NAME,
        description=f"Load a skill that fits the task.\n{catalogue(skills)}",
        parameters=schema.record("command", command=schema.text()),
    )


class SkillTool:
    """The skills of one session. Names are looked up, never used as paths."""

    def __init__(self, skills: SkillSet, folder: SkillFolder) -> None:
        self.spec = skill_spec(skills.skills)
        self._skills = skills
        self._folder = folder
        self._loaded: dict[str, str] = {}
        self._pending: dict[str, str] = {}
        self._active = ""

    def __call__(self, arguments: ToolArguments, cancel: CancelToken) -> ToolOutcome:
        """The toolbox handler."""
        name = str(arguments["command"])
        skill = self._skills.find(name)
        if skill is None:
            known = ", ".join(one.name for one in self._skills.skills)
            return ToolOutcome(f"There is no skill {name[:80]!a}. The skills are: {known}.", is_error=True)
        name = skill.name
        if name in self._pending:
            return ToolOutcome(f"The skill {name} is being loaded already; its instructions follow.")
        try:
            text = self._pending[name] = self._loaded.get(name) or self._text(skill)
        except SkillCopyError as error:
            return ToolOutcome(f"The skill {name} was not loaded: {error}. Go on without it.", is_error=True)
        words = f"Loaded the skill {name}; its instructions follow."
        if name in self._loaded:
            words = f"The skill {name} is loaded already; its instructions are above and hold."
        return ToolOutcome(
            words,
            metadata={"skill": name, "origin": skill.origin, "path": skill.path, "characters": len(text)},
        )

    def after_results(self) -> list[str]:
        """Return the requested instructions after the turn's results. The last skill is active then."""
        pending, self._pending = self._pending, {}
        texts = [text for name, text in pending.items() if name not in self._loaded]
        self._loaded |= pending
        self._active = next(reversed(pending), self._active)
        return texts

    def end_turn(self) -> None:
        """Deactivate the current skill."""
        self._active = ""

    def carried(self) -> tuple[str, list[str]]:
        """For a compaction: return the active skill's instructions word for word, and the names of the skills
        that are no longer in the history and may be loaded again."""
        text = self._loaded.pop(self._active, "")
        names, self._loaded = sorted(self._loaded), {self._active: text} if text else {}
        return text, names

    def _text(self, skill: Skill) -> str:
        folder = self._folder.path_of(skill.name)
        data = self._folder.document(skill).decode(errors="replace")
        body = visible(split_front_matter(data).body).strip()
        if len(body) > MAX_BODY:
            shortened = body[:MAX_BODY].rpartition("\n")[0] or body[:MAX_BODY]
            line = data.replace("\r\n", "\n").count("\n") - body.count("\n") + shortened.count("\n") + 1
            body = f"{shortened}\n[cut here; to go on: view {folder}/{skill.document} from about line {line}]"
        body = _with_paths(body, skill, folder)
        parts = [f'<skill-loaded name="{skill.name}" folder="{folder}">', _CLOSING.sub("&lt;", body)]
        if skill.compatibility:
            parts.append(f"[made for: {_CLOSING.sub('&lt;', skill.compatibility)}]")
        parts += _file_list(skill, folder)
        return "\n".join([*parts, "</skill-loaded>", "", _FOLLOW])


def _with_paths(body: str, skill: Skill, folder: str) -> str:
    """Return `body` with the skill's files under the paths at which commands and tools find them."""
    body = body.replace(_SKILL_FOLDER, folder)
    names = sorted((file.path for file in skill.files if "." in file.path), key=len, reverse=True)
    if not names:
        return body
    pattern = rf"(?<![\w./-])(?:\./)?({'|'.join(map(re.escape, names))})(?![\w/-])"
    return re.sub(pattern, lambda match: f"{folder}/{match[1]}", body)


def _file_list(skill: Skill, folder: str) -> list[str]:
    """Return the names of the skill's files; none of them is read."""
    names = [_CLOSING.sub("&lt;", ascii(file.path)[1:-1]) for file in skill.files]
    more = [f"[and {len(names) - MAX_LISTED} more]"] if len(names) > MAX_LISTED else []
    intro = f"Files of this skill, relative to {folder} (read-only): run scripts, read references, use assets by path."
    return ["", intro, *names[:MAX_LISTED], *more] if names else []


_SKILL_FOLDER = "${CLAUDE_SKILL_DIR}"
MAX_CHARACTERS = 8_000
"""All descriptions together, since they are sent with every request. Above it the longest are cut to one length."""


def catalogue(skills: Sequence[Skill]) -> str:
    """Return the names of all skills, with the description of each that is not bundled. Independent of their order."""
    own = sorted((skill for skill in skills if skill.origin != "bundled"), key=lambda skill: skill.name)
    limit = _limit([len(skill.description) for skill in own])
    lines = [f"- {skill.name}: {_excerpt(skill.description, limit)}{_scope(skill)}" for skill in own]
    names = sorted(skill.name for skill in skills if skill.origin == "bundled")
    return "\n".join([*lines, *([f"- {', '.join(names)}"] if names else [])])


def _scope(skill: Skill) -> str:
    return f" (for {escape(ascii(skill.scope)[1:-1], quote=False)})" if skill.scope else ""


def _limit(lengths: Sequence[int]) -> int:
    """Return the length to which the longest are cut, so that all together fit."""
    left = MAX_CHARACTERS
    for shorter, length in enumerate(sorted(lengths)):
        if length * (len(lengths) - shorter) > left:
            return left // (len(lengths) - shorter)
        left -= length
    return MAX_CHARACTERS


def _excerpt(description: str, limit: int) -> str:
    excerpt = description if len(description) <= limit else f"{description[: limit - 1].rstrip()}…"
    return escape(excerpt, quote=False)  # a description cannot open or close a tag


class SkillCopyError(AgentError):
    """A skill's files could not be copied."""


class SkillFolder:
    """`folder` is on this machine, `visible_path` is its path for commands and tools. A skill is copied when it
    is first loaded."""

    def __init__(self, folder: Path, visible_path: str) -> None:
        self._folder = folder
        self._visible_path = visible_path
        self._documents: dict[str, bytes] = {}
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)

    def path_of(self, name: str) -> str:
        """Return the path of the skill's folder inside the sandbox."""
        return f"{self._visible_path}/{_folder_name(name)}"

    def document(self, skill: Skill) -> bytes:
        """Return the SKILL.md; copy the skill first if necessary. Raises `SkillCopyError`."""
        if skill.name not in self._documents:
            try:
                self._documents[skill.name] = self._copy(skill)
            except OSError as error:
                raise SkillCopyError(f"the skill {skill.name} cannot be copied: {error.strerror}") from error
        return self._documents[skill.name]

    def _copy(self, skill: Skill) -> bytes:
        """Copy all files or none, and return the SKILL.md: the final folder appears when it is complete."""
        executable = {file.path: file.kind is Kind.PROGRAM for file in skill.files} | {skill.document: False}
        paths = {f"{skill.folder}/{path}": path for path in executable}
        contents = skill.source.read(paths, MAX_BYTES)
        if missing := paths.keys() - contents.keys():
            raise SkillCopyError(f"{min(missing)!a} of the skill {skill.name} cannot be read")
        folder = self._folder / _folder_name(skill.name)
        partial = self._folder / f".{folder.name}"
        for old in (partial, folder):
            shutil.rmtree(old, ignore_errors=True)
        partial.mkdir()
        for source_path, data in contents.items():
            path = paths[source_path]
            file = partial / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            file.chmod(0o555 if executable[path] else 0o444)
        for inner, _, _ in os.walk(partial):
            Path(inner).chmod(0o555)
        partial.rename(folder)
        return contents[f"{skill.folder}/{skill.document}"][:MAX_DOCUMENT]


def _folder_name(skill: str) -> str:
    """Replace the colon, which separates entries of `PATH`; no part of a skill's name has a dot."""
    return skill.replace(":", ".")
