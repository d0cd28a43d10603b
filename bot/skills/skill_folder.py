"""The folder outside the work tree that loaded skills are copied to, read-only for the agent."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from bot.contracts.errors import AgentError
from bot.skills.discover import MAX_BYTES
from bot.skills.find import SourcedSkill
from bot.skills.rules import MAX_DOCUMENT


class SkillCopyError(AgentError):
    """A skill's files could not be copied, or are gone."""


class SkillFolder:
    """`folder` is on this machine, `visible_path` is its path for commands and tools. A skill is copied when it
    is first loaded."""

    def __init__(self, folder: Path, visible_path: str) -> None:
        self._folder = folder
        self._visible_path = visible_path
        self._copied: set[str] = set()
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)

    def path_of(self, name: str) -> str:
        """Return the path of the skill's folder inside the sandbox."""
        return f"{self._visible_path}/{_folder_name(name)}"

    def document(self, skill_entry: SourcedSkill) -> bytes:
        """Return the copied SKILL.md; copy the skill first if necessary. Raises `SkillCopyError`."""
        name = skill_entry.skill.name
        try:
            if name not in self._copied:
                self._copy(skill_entry)
                self._copied.add(name)
            with open(self._folder / _folder_name(name) / skill_entry.skill.document, "rb") as file:
                return file.read(MAX_DOCUMENT)
        except OSError as error:
            raise SkillCopyError(f"the skill {name} cannot be copied: {error.strerror}") from error

    def _copy(self, skill_entry: SourcedSkill) -> None:
        """Copy all files or none: the final folder appears when it is complete."""
        skill = skill_entry.skill
        executable = {file.path: file.executable for file in skill.files} | {skill.document: False}
        paths = {f"{skill.folder}/{path}": path for path in executable}
        contents = skill_entry.source.read(paths, MAX_BYTES)
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


def _folder_name(skill: str) -> str:
    """Replace the colon, which separates entries of `PATH`; a skill's name has no underscore."""
    return skill.replace(":", "__")
