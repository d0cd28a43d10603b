"""The git database: commits made by GitHub itself, which signs what it makes for an app."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from bot.github.border import Border
from bot.github.values import TreeEntry


class GitData(Border):
    """Objects that no ref names yet. Making one twice gives one, a commit apart."""

    def create_blob(self, repository: str, content: bytes) -> str:
        """Returns its id."""
        body = {"content": base64.b64encode(content).decode(), "encoding": "base64"}
        doing = f"storing a file in {repository}"
        return self._send(doing, "POST", f"/repos/{repository}/git/blobs", body, _sha, safe=True)

    def create_tree(self, repository: str, base_tree: str, entries: Sequence[TreeEntry]) -> str:
        """A tree like `base_tree` but for `entries`. Returns its id."""
        body = {"base_tree": base_tree, "tree": [_entry(one) for one in entries]}
        doing = f"storing a tree in {repository}"
        return self._send(doing, "POST", f"/repos/{repository}/git/trees", body, _sha, safe=True)

    def create_commit(self, repository: str, *, message: str, tree: str, parent: str) -> str:
        """By whoever the token is of, now. Returns its id."""
        body = {"message": message, "tree": tree, "parents": [parent]}
        doing = f"making a commit in {repository}"
        return self._send(doing, "POST", f"/repos/{repository}/git/commits", body, _sha, safe=True)


def _entry(one: TreeEntry) -> dict[str, str | None]:
    named: dict[str, str | None] = {"path": one.path, "mode": one.mode, "type": "blob"}
    if one.text is not None:
        return {**named, "content": one.text}
    return {**named, "sha": one.sha or None}


def _sha(data: object) -> str:
    if not isinstance(data, dict):
        raise TypeError("no object")
    return str(data["sha"])
