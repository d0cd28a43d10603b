"""The repository's instructions to agents, as the model is given them.

`AGENTS.md` and similar files are read at the base. Folders are searched from those of the request's paths up to the
root; in each only the first file with text of the policy's names counts, since the others mostly repeat it. A long file
is cut: it is part of every request to the model.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import PurePosixPath

from bot.checkout.git import Git
from bot.checkout.objects import blobs_behind_links
from bot.events.sanitize import clean
from bot.gate.text_encoding import wide_text

MOST_A_FILE = 4_000
MOST = 8_000
"""Characters."""

_MAX_FOLDERS = 20
_MAX_IMPORTS = 20
_MAX_DEPTH = 5

_PATH = re.compile(r"[^\s@]{1,200}")
_IMPORT = re.compile(r"\s*(?:[-*] +)?@(\S{1,200})\s*")
_FENCE = re.compile(r"\s*(```|~~~)")


def instructions(
    git: Git, sha: str, names: Sequence[str], near: Iterable[str]
) -> tuple[tuple[str, str], ...]:
    """Path and text of the files called `names` of commit `sha` that apply to the paths `near` and to the repository,
    nearest first; of each folder the first that has text. A line says what was left out."""
    folders = list(_folders(near))
    files = _InstructionFiles(git, sha, [posixpath.join(one, name) for one in folders for name in names])
    chosen: list[tuple[str, str]] = []
    left = MOST
    for folder in folders:
        paths = [posixpath.join(folder, name) for name in names]
        texts = ((path, files.text(path)) for path in paths)
        path, text = next(filter(itemgetter(1), texts), ("", ""))
        shortened = _cut(text, min(MOST_A_FILE, left))
        if shortened:
            left -= len(shortened)
            if cut := len(text) - len(shortened):
                shortened += f"\n(Shortened by {cut} characters. If you need the rest: view {path}.)"
            chosen.append((path, shortened))
    return tuple(chosen)


class _InstructionFiles:
    """Files of one commit as text. Links are followed, and a line `@path` is replaced by that file, in the commit
    alone: what is not in it was not merged by anybody."""

    def __init__(self, git: Git, sha: str, paths: Sequence[str]) -> None:
        self._git = git
        self._sha = sha
        self._looked_for = {"", *paths}
        self._contents = blobs_behind_links(git, sha, paths)
        self._imports_left = _MAX_IMPORTS

    def text(self, path: str, above: tuple[str, ...] = ()) -> str:
        """Empty if there is no text. `above` are the files that import this one."""
        data = self._contents.get(path)
        if data is None or path in above or len(above) > _MAX_DEPTH:
            return ""
        text = clean(wide_text(data) or data.decode("utf-8", "replace")).text.strip()
        if _PATH.fullmatch(text) and self._has(_target(path, text)):
            text = f"@{text}"  # a link that was committed where there are no links
        lines: list[str] = []
        fence = ""
        for line in text.splitlines():
            if mark := _FENCE.match(line):
                fence = "" if fence == mark[1] else fence or mark[1]
            imports = None if fence else _IMPORT.fullmatch(line)
            target = _target(path, imports[1]) if imports else ""
            lines.append(self.text(target, (*above, path)) if self._has(target) else line)
        return "\n".join(lines).strip()

    def _has(self, path: str) -> bool:
        if path not in self._looked_for and self._imports_left:
            self._imports_left -= 1
            self._looked_for.add(path)
            self._contents |= blobs_behind_links(self._git, self._sha, [path])
        return path in self._contents


def _target(path: str, name: str) -> str:
    """Return the path that the file `path` calls `name`; empty if it leads out of the repository."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    return "" if target.startswith(("/", "../")) or name.startswith("~") else target


def _cut(text: str, limit: int) -> str:
    """The text up to the last line end within `limit`."""
    head = text[:limit]
    return head if len(text) <= limit else (head.rpartition("\n")[0] or head).rstrip()


def _folders(near: Iterable[str]) -> Iterator[str]:
    """Each folder once, the deepest first, the root ("") last."""
    folders = {str(folder) for path in near for folder in PurePosixPath(path).parents} - {"."}
    yield from sorted(folders, key=lambda folder: (-folder.count("/"), folder))[:_MAX_FOLDERS]
    yield ""
