"""What git knows of the base commit and of a tree that a change made: their files, and what differs."""

from __future__ import annotations

from collections.abc import Callable

from bot.checkout.clone import Checkout
from bot.checkout.git import GitError
from bot.run.changed_lines import changed_lines


class History:
    """Paths are decoded with `surrogateescape`. Without a tree a question is about the base."""

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout
        self._git = checkout.git
        self._base = checkout.base_sha

    def paths(self, tree: str = "") -> list[str]:
        """Raises `GitError`."""
        listing = self._git.run("ls-tree", "-r", "-z", "--name-only", tree or self._base)
        return [path.decode(errors="surrogateescape") for path in listing.split(b"\0") if path]

    def read(self, path: str, tree: str = "") -> str | None:
        """The text of a file; `None` where there is none."""
        try:
            blob = self._git.run("cat-file", "blob", f"{tree or self._base}:{path}")
        except GitError:
            return None
        return blob.decode(errors="replace")

    def changes(self, tree: str) -> tuple[list[str], dict[str, str]]:
        """The paths that differ from the base, and of those that only moved the old one by the new. Raises
        `GitError`."""
        listing = self._git.run("diff-tree", "-r", "-z", "-M", "--name-status", self._base, tree)
        words = [word.decode(errors="surrogateescape") for word in listing.split(b"\0")]
        changed: list[str] = []
        renamed: dict[str, str] = {}
        at = 0
        while at + 1 < len(words):
            if words[at].startswith("R"):
                renamed[words[at + 2]] = words[at + 1]
                changed += words[at + 1 : at + 3]
                at += 3
            else:
                changed.append(words[at + 1])
                at += 2
        return changed, renamed

    def untouched(self, tree: str) -> Callable[[str, int], bool] | None:
        """Whether a line of a file in `tree` stood in it before; `None` where that is not known. Raises `GitError`."""
        by_path = changed_lines(self._checkout, tree)
        if by_path is None:
            return None
        lines = dict(by_path)
        unknown = set(self.changes(tree)[0]).difference(lines)  # no text, or another kind of file than before
        return lambda path, line: bool(line) and path not in unknown and line not in lines.get(path, ())
