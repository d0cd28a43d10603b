"""Coverage of the lines that a change adds or rewrites: which lines those are, and what the checks' reports say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bot.checkout.blobs import blobs_at
from bot.checkout.clone import Checkout
from bot.checkout.git import GitError
from bot.contracts.pulls import Side
from bot.contracts.tested import Coverage
from bot.evidence.coverage import CONFIGURED, Measured, together, why_missing
from bot.evidence.detect import Check

_MOST_LINES = 200_000


class Covered:
    """`checkout` has the base, and every tree that is asked about."""

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout

    def lines(self, tree_sha: str) -> dict[str, frozenset[int]]:
        """The lines of `tree_sha` that the base does not have, by path; those of very large changes in part."""
        from bot.checkout.compare import diff_between
        from bot.findings.parse import DiffError, parse_diff

        try:
            diff = parse_diff(diff_between(self._checkout.git, self._checkout.base_sha, tree_sha))
        except (GitError, DiffError):
            return {}
        found: dict[str, frozenset[int]] = {}
        left = _MOST_LINES
        for file in diff.files:
            changed = frozenset[int]().union(*(hunk.changed(Side.RIGHT) for hunk in file.hunks))
            left -= len(changed)
            if changed and left >= 0 and _is_text(file.path):
                found[file.path] = changed
        return found

    def told(self, checks: Sequence[Check], measured: Iterable[Measured | None]) -> Coverage | None:
        """What all checks measured; why there is nothing where the repository wants it; else `None`."""
        by_check = [one for one in measured if one is not None]
        if any(one.sources or one.note for one in by_check):
            return together(by_check)
        try:
            base = blobs_at(self._checkout.git, self._checkout.base_sha, CONFIGURED)
        except GitError:
            base = {}
        named = [place for check in checks for place in check.coverage]

        def read(path: str) -> str | None:
            return base[path].decode(errors="replace") if path in base else None

        return together((), why_missing([check.command for check in checks], named, read))


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
