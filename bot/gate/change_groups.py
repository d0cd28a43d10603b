"""The limits of a change: which changes of a work tree are kept if there are more than a commit may have."""

from __future__ import annotations

from collections.abc import Sequence

from bot.gate.objects import Change, ChangeLimits

KINDS = ("edited files", "changed files", "new files")
"""Files that the edit tools wrote, other files of the base, other new files: they are published in this order."""


class ChangeGroup:
    """Changes of one kind up to the limits; further ones are only counted."""

    def __init__(self, kind: str, limits: ChangeLimits) -> None:
        self.kind = kind
        self.changes: list[Change] = []
        self.bytes = 0
        self.count = 0
        self.first = self.first_left_out = ""
        self.left_out: set[str] = set()
        self._limits = limits

    def add(self, change: Change) -> None:
        self.count += 1
        self.first = min(self.first or change.path, change.path)
        size = len(change.data or b"")
        if len(self.changes) < self._limits.files and self.bytes + size <= self._limits.total_bytes:
            self.changes.append(change)
            self.bytes += size
            return
        self.first_left_out = self.first_left_out or change.path
        if change.old is not None:
            self.left_out.add(change.path)


def within_limits(
    groups: Sequence[ChangeGroup], limits: ChangeLimits
) -> tuple[list[Change], dict[str, str], set[str]]:
    """Return the changes within the limits, a reason for each group that is left out or cut, and the paths of the base
    in it.

    A part of what a command wrote would be a broken change, so only the group of edited files is cut.
    """
    taken: list[Change] = []
    rows: dict[str, str] = {}
    unchanged: set[str] = set()
    left = limits.total_bytes
    for group in groups:
        is_whole = group.count == len(group.changes)
        if is_whole and len(taken) + group.count <= limits.files and group.bytes <= left:
            taken += group.changes
            left -= group.bytes
            continue
        over = f"more than {limits.files} files are changed"
        if group.count <= limits.files - len(taken):
            over = f"the changed files hold more than {limits.total_bytes} bytes"
        if group.kind == KINDS[0]:
            taken, left = list(group.changes), left - group.bytes
            rest = group.count - len(group.changes)
            rows[group.first_left_out] = f"{rest} of {group.count} {group.kind}: {over}"
        else:
            rows[group.first] = f"all {group.count} {group.kind}: {over}"
            group.left_out.update(change.path for change in group.changes if change.old is not None)
        unchanged |= group.left_out
    return taken, rows, unchanged
