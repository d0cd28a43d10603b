"""Coverage of the lines that a change adds or rewrites: which lines those are, and what the checks' reports say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bot.checkout.blobs import blobs_at
from bot.checkout.clone import Checkout
from bot.checkout.git import GitError
from bot.contracts.tested import Coverage
from bot.evidence.coverage import CONFIGURED, Measured, together, why_missing
from bot.evidence.detect import Check
from bot.run.changed_lines import changed_lines

_MOST_LINES = 200_000


class Covered:
    """`checkout` has the base, and every tree that is asked about."""

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout

    def lines(self, tree_sha: str) -> dict[str, frozenset[int]]:
        """The lines of `tree_sha` that the base does not have, by path; those of very large changes in part."""
        found: dict[str, frozenset[int]] = {}
        left = _MOST_LINES
        for path, changed in changed_lines(self._checkout, tree_sha) or ():
            left -= len(changed)
            if changed and left >= 0 and _is_text(path):
                found[path] = changed
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
