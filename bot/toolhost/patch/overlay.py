"""Apply the operations of a patch to the files in memory. It writes nothing and collects every problem.

Several operations on one file are applied in order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.contracts.tools import ToolFailure
from bot.toolhost.context import Context
from bot.toolhost.encoding import Text, usual_line_end
from bot.toolhost.files import LoadedFile, load, relative, require_shown, resolve, why_not_current
from bot.toolhost.patch.grammar import Add, Delete, Operation, PatchError, Problem, Section, Update
from bot.toolhost.patch.locate import Placement, is_once, locate
from bot.toolhost.write_changes import Change


@dataclass
class _File:
    """One file of the overlay. `draft` is `None` once it is gone, for the reason `gone_because`; `source` is the file
    it is moved from."""

    path: Path
    before: LoadedFile | None
    draft: Draft | None
    source: LoadedFile | None = None
    gone_because: str = ""
    stale: str = ""


def plan(context: Context, operations: Sequence[Operation]) -> tuple[list[Change], list[str]]:
    """The changes that the operations make, in their order, and notes that say which files were stale or stay
    unchanged. Raises `PatchError` with all problems."""
    overlay = _Overlay(context)
    for operation in operations:
        overlay.take(operation)
    if overlay.problems:
        raise PatchError(*sorted(overlay.problems, key=lambda problem: problem.line))
    if not (changes := overlay.changes()):
        raise PatchError(Problem(1, "", "The patch changes nothing: every file would be as it is"))
    return changes, overlay.notes


class _Overlay:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._files: dict[Path, _File] = {}
        self.problems: list[Problem] = []
        self.notes: list[str] = []

    def take(self, operation: Operation) -> None:
        try:
            if isinstance(operation, Add):
                self._add(operation)
            elif isinstance(operation, Delete):
                file = self._existing(operation.path)
                if file.before is None:
                    raise ToolFailure(
                        "the file is added or moved here by this patch, so it cannot be deleted in it"
                    )
                file.draft, file.gone_because = None, "is deleted by this patch"
            else:
                self._update(operation)
        except ToolFailure as failure:
            self._wrong(operation, operation.path, str(failure))

    def _add(self, operation: Add) -> None:
        path = self._resolved(operation.path)
        if known := self._files.get(path):
            state = known.gone_because or "is in this patch already"
            raise ToolFailure(f"the file {state}, so it cannot be added. Use one Update File for it")
        if os.path.lexists(path):
            what = "a folder" if path.is_dir() else "there already"
            raise ToolFailure(
                f"{relative(self._context, path)} is {what}. Use Update File, or write to replace it"
            )
        content = "".join(f"{line}\n" for line in operation.lines)
        self._files[path] = _File(path, None, Draft(Text(content)))

    def _update(self, operation: Update) -> None:
        file = self._existing(operation.path, anew=bool(operation.sections))
        assert file.draft is not None
        file.draft.apply(self._locate_sections(file, file.draft, operation))
        if operation.move_to is not None:
            self._move(file, operation.move_to)

    def _move(self, file: _File, target: str) -> None:
        path = self._resolved(target)
        if path in self._files or os.path.lexists(path):
            raise ToolFailure(
                f"the place to move to, {relative(self._context, path)}, is taken. Delete it first"
            )
        if file.before is None and file.source is None:
            raise ToolFailure("the file is added by this patch: add it under its last name")
        source = file.source or file.before
        self._files[path] = _File(path, None, file.draft, source)
        file.draft, file.source, file.gone_because = None, None, f"is moved to {target} by this patch"

    def _locate_sections(self, file: _File, draft: Draft, operation: Update) -> list[Placement]:
        """The placements of the sections, with a problem for each that has none."""
        lines, places = draft.lines, list[Placement]()
        for section in operation.sections:
            result = locate(lines, section, places)
            if isinstance(result, str):
                self._wrong(section, operation.path, result)
            elif file.stale and not (
                is_once(lines, section.old) and lines[result.start : result.end] == section.old
            ):
                self._wrong(
                    section, operation.path, f"{file.stale}, and this section does not fit exactly once"
                )
            else:
                places.append(result)
        return places

    def _existing(self, raw_path: str, *, anew: bool = False) -> _File:
        """The file as earlier operations left it, else as it is on disk: it must exist, and have been shown; with
        `anew` it may have changed since."""
        path = self._resolved(raw_path)
        file = self._files.get(path)
        if file is None:
            if os.path.islink(os.path.join(self._context.root, raw_path)):
                raise ToolFailure(f"it is a link. Name the file it leads to, {relative(self._context, path)}")
            loaded = load(self._context, path, raw_path)
            if not anew:
                require_shown(self._context, loaded)
            file = self._files[path] = _File(path, loaded, Draft(loaded.text))
            file.stale = why_not_current(self._context, loaded)
            if file.stale:
                self.notes.append(f"{file.stale}.")
        if file.draft is None:
            raise ToolFailure(f"the file {file.gone_because}")
        return file

    def _resolved(self, raw_path: str) -> Path:
        if raw_path.endswith("/"):
            raise ToolFailure("this names a folder. Name a file")
        return resolve(self._context, raw_path)

    def changes(self) -> list[Change]:
        changes: list[Change] = []
        moved = {file.source.path for file in self._files.values() if file.source}
        for file in self._files.values():
            if file.draft is None:
                if file.before is not None and file.path not in moved:
                    changes.append(Change(file.path, file.before, None))
                continue
            after = file.draft.text
            if file.before is not None and after.content == file.before.text.content:
                self.notes.append(f"{file.before.name} is as it was.")
                continue
            changes.append(Change(file.path, file.before, after, source=file.source))
            if file.source is not None:
                target = relative(self._context, file.path)
                changes.append(Change(file.source.path, file.source, None, moved_to=target))
        return changes

    def _wrong(self, what: Operation | Section, path: str, message: str) -> None:
        self.problems.append(Problem(what.line, path, message))


class Draft:
    """The lines of a file while a patch is applied: unchanged lines keep their line ends, added ones get the file's
    usual one."""

    def __init__(self, text: Text) -> None:
        self._before = text
        self._rows = re.findall(r"[^\n]*\n|[^\n]+", text.content)
        self._ending = usual_line_end(text.content)

    @property
    def text(self) -> Text:
        return self._before._replace(content="".join(self._rows))

    @property
    def lines(self) -> list[str]:
        """Without their ends."""
        return [
            row.removesuffix("\n").removesuffix("\r") if row.endswith("\n") else row for row in self._rows
        ]

    def apply(self, placements: Sequence[Placement]) -> None:
        """Replace the lines of each placement. Placements do not overlap."""
        rows: list[str] = []
        at = 0
        for placement in sorted(placements, key=lambda one: one.start):
            rows += self._rows[at : placement.start]
            at = placement.start
            for sign, text in placement.section.body:
                if sign == "+":
                    rows.append(text + self._ending)
                    continue
                if sign == " ":
                    rows.append(self._rows[at])
                at += 1
        rows += self._rows[at:]
        # One without an end may no longer be the last one.
        ended = [row if row.endswith("\n") else row + self._ending for row in rows[:-1]]
        self._rows = ended + rows[-1:]
