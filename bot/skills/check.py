"""`slash-agent skills check`: the skills of a folder of this machine, by the letter of the specification."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bot.contracts.errors import UsageError
from bot.skills.discover import DOCUMENTS, discover
from bot.skills.places import Folder
from bot.skills.skill import Judged


def check(folder: Path) -> tuple[Sequence[Judged], Sequence[str]]:
    """Each skill in `folder`, or the one that it is; and notes about the folder. Raises `UsageError` where there is
    none."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.")
    root = folder.resolve()
    if any((root / name).exists() for name in DOCUMENTS):
        place = Folder(root.parent, str(folder.parent if folder.name else root.parent), only=root.name)
    else:
        place = Folder(root, str(folder))
    judged, notes = discover(place, "repository")
    if not judged and not notes:
        raise UsageError(
            f"There is no skill in {folder}: a skill is a folder with a SKILL.md, as in {folder}/my-skill/SKILL.md."
        )
    return judged, notes
