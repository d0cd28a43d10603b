"""The repository's own instructions to agents, `AGENTS.md` and its like: from the base, nearest first, capped.

Folders are looked at from the one that the request points at up to the root. In each the first of the policy's
names that is there counts, since the others mostly say the same.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bot.checkout.blobs import blobs_at
from bot.checkout.git import Git
from bot.intake.hygiene import clean

MOST_A_FILE = 16_000
MOST = 32_000
_MOST_FOLDERS = 20


class Instructions(NamedTuple):
    """One file's text. `cut` is how many characters of it are left out at its end."""

    path: str
    text: str
    cut: int = 0


def instructions(
    git: Git, sha: str, names: Sequence[str], near: Iterable[str] = ()
) -> tuple[Instructions, ...]:
    """The files called `names` of commit `sha` that hold for the paths `near` and for the whole, nearest first."""
    folders = list(_folders(near))
    wanted = [posixpath.join(folder, name) for folder in folders for name in names]
    found = blobs_at(git, sha, wanted) if wanted else {}
    kept: list[Instructions] = []
    room = MOST
    for folder in folders:
        path = _first(folder, names, found)
        text = clean(found[path].decode("utf-8", "replace")).text.strip() if path else ""
        shown = text[: min(MOST_A_FILE, room)]
        if shown:
            room -= len(shown)
            kept.append(Instructions(path, shown, len(text) - len(shown)))
    return tuple(kept)


def _first(folder: str, names: Sequence[str], found: Mapping[str, bytes]) -> str:
    """The path that counts in `folder`, empty for none. A link to a neighbour of the list is followed; a commit
    keeps a link as a file with the target's name."""
    for name in names:
        path = posixpath.join(folder, name)
        if path not in found:
            continue
        target = found[path].decode("utf-8", "replace").strip().removeprefix("./").removeprefix("@")
        if target not in names:
            return path
        if (linked := posixpath.join(folder, target)) in found and target != name:
            return linked
    return ""


def _folders(near: Iterable[str]) -> Iterator[str]:
    """Each folder once, the deepest first, the root ("") last."""
    folders: set[str] = set()
    for path in near:
        parts = path.split("/")[:-1]
        folders |= {"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
    yield from sorted(folders - {""}, key=lambda folder: (-folder.count("/"), folder))[:_MOST_FOLDERS]
    yield ""
