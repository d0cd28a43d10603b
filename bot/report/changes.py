"""What a command made of a file, as a page shows it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from bot.contracts.journal import FileVersion

_LARGEST_DIFF = 64 * 1024


@dataclass(slots=True)
class ChangedPath:
    """One file that a command changed. `diff` is empty where the contents are not text or not known."""

    path: str
    what: str
    diff: str = ""


def is_bytecode(path: str) -> bool:
    """Whether Python made it by itself: nobody changed such a file, and no pull request holds it."""
    return path.endswith((".pyc", ".pyo")) or "__pycache__" in path.split("/")


def changed_path(file: FileVersion) -> ChangedPath:
    if file.link is not None:
        return ChangedPath(file.path, f"became a link to {file.link}")
    if file.after is None:
        what = "removed"
    elif file.before is None:
        what = "created"
    else:
        what = "changed"
    if file.oversize:
        return ChangedPath(file.path, f"{what}, too large to keep")
    return ChangedPath(file.path, what, _diff(file))


def _diff(file: FileVersion) -> str:
    known = (file.before is None or file.before_content is not None) and (
        file.after is None or file.content is not None
    )
    if not known:
        return ""
    before, after = file.before_content or b"", file.content or b""
    if len(before) + len(after) > _LARGEST_DIFF or b"\0" in before + after:
        return ""
    rows = difflib.unified_diff(
        before.decode("utf-8", "replace").split("\n"),
        after.decode("utf-8", "replace").split("\n"),
        f"a/{file.path}",
        f"b/{file.path}",
        lineterm="",
    )
    return "\n".join(rows)


def counts(diff: str) -> tuple[int, int]:
    rows = below_head(diff.split("\n"))
    return sum(row.startswith("+") for row in rows), sum(row.startswith("-") for row in rows)


def below_head(rows: list[str]) -> list[str]:
    """The rows from the first hunk on: below it, a row that begins with `+++` is an added line of two plus signs."""
    return rows[next((at for at, row in enumerate(rows) if row.startswith("@@")), len(rows)) :]
