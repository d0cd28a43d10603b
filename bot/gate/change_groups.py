"""The limits of a change: which changes of a work tree are kept if there are more than a commit may have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.gate.objects import Change, ChangeLimits

KINDS = ("edited files", "changed files", "new files")
"""Files that the edit tools wrote, other files of the base, other new files: they are published in this order."""


@dataclass(slots=True)
class ChangeGroup:
    """Changes of one kind: all `paths`, each with whether the base has it, and the first `changes` up to the limits."""

    kind: str
    limits: ChangeLimits
    paths: list[tuple[str, bool]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    bytes: int = 0

    def add(self, change: Change) -> None:
        size = len(change.data or b"")
        fits = len(self.changes) < self.limits.files and self.bytes + size <= self.limits.total_bytes
        if fits and len(self.changes) == len(self.paths):
            self.changes.append(change)
            self.bytes += size
        self.paths.append((change.path, change.old is not None))


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
        count, fitting = len(group.paths), len(group.changes)
        if count == fitting and len(taken) + count <= limits.files and group.bytes <= left:
            taken += group.changes
            left -= group.bytes
            continue
        over = f"more than {limits.files} files are changed"
        if count <= limits.files - len(taken):
            over = f"the changed files hold more than {limits.total_bytes} bytes"
        if group.kind == KINDS[0]:
            taken, left = list(group.changes), left - group.bytes
            rows[group.paths[fitting][0]] = f"{count - fitting} of {count} {group.kind}: {over}"
        else:
            fitting = 0
            rows[min(group.paths)[0]] = f"all {count} {group.kind}: {over}"
        unchanged |= {path for path, is_tracked in group.paths[fitting:] if is_tracked}
    return taken, rows, unchanged
