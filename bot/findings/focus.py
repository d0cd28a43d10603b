"""The part of a diff that changed since it was last looked at: what an incremental review is about."""

from __future__ import annotations

from dataclasses import replace

from bot.contracts.pulls import Side
from bot.findings.hunks import Diff, FileDiff, Hunk


def changed_since(diff: Diff, since: Diff) -> Diff:
    """The hunks of `diff` that `since` touches. Both lead to the same head, `since` from the one reviewed last.

    What `since` brings in from elsewhere, as a merge of the base branch does, is no hunk of `diff` and stays out.
    """
    kept: list[FileDiff] = []
    for file in diff.files:
        again = since.find(file.path)
        if again is None:
            continue
        touched = _touched(again)
        hunks = tuple(hunk for hunk in file.hunks if _meets(hunk, touched))
        if hunks or not file.hunks:
            kept.append(replace(file, hunks=hunks))
    return Diff(tuple(kept))


def _touched(file: FileDiff) -> frozenset[int]:
    """Lines of the new file that were added, or that stand where lines were removed."""
    touched = set[int]()
    for hunk in file.hunks:
        line = hunk.new_start if hunk.count(Side.RIGHT) else hunk.new_start + 1
        for kind in hunk.kinds:
            if kind == "+":
                touched.add(line)
            elif kind == "-":
                touched.update((line - 1, line))
            line += kind != "-"
    return frozenset(touched)


def _meets(hunk: Hunk, touched: frozenset[int]) -> bool:
    count = hunk.count(Side.RIGHT)
    if not count:
        # The file is gone, or with no context shown only a gap is: the gap is between these two.
        return not touched.isdisjoint((hunk.new_start, hunk.new_start + 1))
    return not touched.isdisjoint(range(hunk.new_start, hunk.new_start + count))
