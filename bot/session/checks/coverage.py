"""Coverage of the changed lines: find those lines, and merge the reports of the checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bot.checkout.clone import Checkout
from bot.checkout.git import GitError
from bot.checkout.objects import blobs_at
from bot.contracts.evidence import Coverage
from bot.evidence.check import Check
from bot.evidence.coverage import COVERAGE_FILES, MeasuredCoverage, merge_coverage, missing_reason
from bot.session.context.git_trees import changed_lines

_MOST_LINES = 200_000


class ChangeCoverage:
    """`checkout` has the base, and the objects of every changed tree."""

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout

    def lines(self, tree_sha: str) -> dict[str, frozenset[int]]:
        """Return the lines of `tree_sha` that the base does not have, by path; only some of a very large change."""
        by_path: dict[str, frozenset[int]] = {}
        lines_left = _MOST_LINES
        for path, changed in changed_lines(self._checkout, tree_sha) or ():
            lines_left -= len(changed)
            if changed and lines_left >= 0 and _is_text(path):
                by_path[path] = changed
        return by_path

    def report(self, checks: Sequence[Check], measured: Iterable[MeasuredCoverage | None]) -> Coverage | None:
        """Return the coverage of all checks, or a note why it is missing; `None` if none is configured."""
        reports = [entry for entry in measured if entry is not None]
        if any(entry.sources or entry.note for entry in reports):
            return merge_coverage(reports)
        try:
            base = blobs_at(self._checkout.git, self._checkout.base_sha, COVERAGE_FILES)
        except GitError:
            base = {}
        patterns = [pattern for check in checks for pattern in check.coverage]

        def read(path: str) -> str | None:
            return base[path].decode(errors="replace") if path in base else None

        return merge_coverage((), missing_reason([check.command for check in checks], patterns, read))


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
