"""Which lines of a tree a change adds or rewrites."""

from __future__ import annotations

from collections.abc import Iterator

from bot.checkout.clone import Checkout
from bot.checkout.git import GitError
from bot.contracts.pulls import Side


def changed_lines(checkout: Checkout, tree_sha: str) -> Iterator[tuple[str, frozenset[int]]] | None:
    """Each changed file of `tree_sha` that has lines, with those that the base does not have, renames followed; `None`
    where the diff cannot be read."""
    from bot.checkout.compare import diff_between
    from bot.findings.parse import DiffError, parse_diff

    try:
        diff = parse_diff(diff_between(checkout.git, checkout.base_sha, tree_sha))
    except (GitError, DiffError):
        return None
    return (
        (file.path, frozenset[int]().union(*(hunk.changed(Side.RIGHT) for hunk in file.hunks)))
        for file in diff.files
        if file.hunks or (file.old_path != file.path and not file.binary)
    )
