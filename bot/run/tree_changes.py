"""What a tree is to the base, as the checkers are compared by: which files differ and moved, which lines are new, and
which projects are the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bot.checkout.git import GitError
from bot.evidence.checkers import Checker
from bot.evidence.choosing import choose
from bot.evidence.moved_projects import paired
from bot.evidence.together import Change
from bot.run.history import History


class TreeChanges:
    """`paths` are those that differ, on either side, `edited` those of them that did more than move, `pairs` the
    projects. Raises `GitError`."""

    def __init__(
        self, history: History, tree_sha: str, checkers: Sequence[Checker], wanted: Collection[str] | None
    ) -> None:
        self._history = history
        self._tree = tree_sha
        self.paths, self._renamed = history.changes(tree_sha)
        moved = {
            new: old for new, old in self._renamed.items() if history.read(new, tree_sha) == history.read(old)
        }
        self.edited = [path for path in self.paths if path not in moved and path not in moved.values()]
        self._names = frozenset(history.paths(tree_sha))
        chosen = choose(self._names, lambda path: history.read(path, tree_sha), wanted)
        self.pairs = paired(checkers, chosen, self._renamed, self._names)

    def change(self) -> Change:
        try:
            untouched = self._history.untouched(self._tree)
        except GitError:
            untouched = None
        return Change(self._renamed, lambda path: path not in self._names, untouched)
