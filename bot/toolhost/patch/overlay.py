"""Apply the operations of a patch to the files in memory. It writes nothing and collects every problem.

Several operations on one file are applied in order.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from bot.contracts.tools import ToolFailure
from bot.toolhost.context import Context
from bot.toolhost.file_excerpt import excerpt
from bot.toolhost.files import LoadedFile, load, relative, require_shown, resolve, why_not_current
from bot.toolhost.patch.draft import Draft
from bot.toolhost.patch.grammar import Add, Delete, Operation, PatchError, Problem, Section, Update
from bot.toolhost.patch.locate import Lines, NoPlacement, Placement, is_once, locate
from bot.toolhost.text import Encoding, Text
from bot.toolhost.text_replacement import find_near_miss, first_difference
from bot.toolhost.write_changes import Change


class _File:
    """One file of the overlay. `draft` is `None` if it is to be gone; `source` is the file it is moved from."""

    def __init__(
        self,
        path: Path,
        before: LoadedFile | None,
        draft: Draft | None,
        encoding: Encoding,
        source: LoadedFile | None = None,
    ) -> None:
        self.path = path
        self.before = before
        self.draft = draft
        self.encoding = encoding
        self.source = source
        self.gone_because = ""
        self.stale = ""


class Plan(NamedTuple):
    """`changes` in the order of the patch; `notes` say which files were stale or stay unchanged."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...]


def plan(context: Context, operations: Sequence[Operation]) -> Plan:
    """The changes that the operations make. Raises `PatchError` with all their problems."""
    overlay = _Overlay(context)
    for operation in operations:
        overlay.take(operation)
    return overlay.planned()


class _Overlay:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._files: dict[Path, _File] = {}
        self._problems: list[Problem] = []
        self._notes: list[str] = []

    def take(self, operation: Operation) -> None:
        try:
            if isinstance(operation, Add):
                self._add(operation)
            elif isinstance(operation, Delete):
                self._delete(operation)
            else:
                self._update(operation)
        except ToolFailure as failure:
            self._wrong(operation, operation.path, str(failure))

    def planned(self) -> Plan:
        if self._problems:
            raise PatchError(sorted(self._problems, key=lambda problem: problem.line))
        changes = self._changes()
        if not changes:
            raise PatchError([Problem(1, "", "The patch changes nothing: every file would be as it is")])
        return Plan(tuple(changes), tuple(self._notes))

    def _add(self, operation: Add) -> None:
        path = self._resolved(operation.path)
        known = self._files.get(path)
        if known is not None:
            state = known.gone_because or "is in this patch already"
            raise ToolFailure(f"the file {state}, so it cannot be added. Use one Update File for it")
        if os.path.lexists(path):
            what = "a folder" if path.is_dir() else "there already"
            raise ToolFailure(
                f"{relative(self._context, path)} is {what}. Use Update File, or write to replace it"
            )
        self._files[path] = _File(path, None, Draft.new(operation.lines), Encoding())

    def _delete(self, operation: Delete) -> None:
        file = self._existing(operation.path)
        if file.before is None:
            raise ToolFailure("the file is added or moved here by this patch, so it cannot be deleted in it")
        file.draft, file.gone_because = None, "is deleted by this patch"

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
        self._files[path] = _File(path, None, file.draft, file.encoding, source)
        file.draft, file.source, file.gone_because = None, None, f"is moved to {target} by this patch"

    def _locate_sections(self, file: _File, draft: Draft, operation: Update) -> list[Placement]:
        """The placements of the sections, with a problem for each that has none."""
        lines = Lines(draft.lines)
        places: list[Placement] = []
        for section in operation.sections:
            result = locate(lines, section, places)
            if isinstance(result, NoPlacement):
                self._wrong(section, operation.path, why(result, section, draft.lines))
            elif file.stale and not (result.exact and is_once(lines, section.old)):
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
            content = loaded.text.content
            file = self._files[path] = _File(path, loaded, Draft.of(content), loaded.text.encoding)
            file.stale = why_not_current(self._context, loaded)
            if file.stale:
                self._notes.append(f"{file.stale}.")
        if file.draft is None:
            raise ToolFailure(f"the file {file.gone_because}")
        return file

    def _resolved(self, raw_path: str) -> Path:
        if raw_path.endswith("/"):
            raise ToolFailure("this names a folder. Name a file")
        return resolve(self._context, raw_path)

    def _changes(self) -> list[Change]:
        changes: list[Change] = []
        for file in self._files.values():
            if file.draft is None:
                if not self._moved_on(file):
                    changes.append(Change(file.path, file.before, None))
                continue
            after = Text(file.draft.content, file.encoding)
            if file.before is not None and after.content == file.before.text.content:
                self._notes.append(f"{file.before.name} is as it was.")
                continue
            changes.append(Change(file.path, file.before, after, source=file.source))
        return changes

    def _moved_on(self, file: _File) -> bool:
        """Whether the file's deletion is part of a move: it is a move's source, or an intermediate name."""
        return file.before is None or any(other.source is file.before for other in self._files.values())

    def _wrong(self, what: Operation | Section, path: str, message: str) -> None:
        self._problems.append(Problem(what.line, path, message))


_MAX_LINES = 5
_MOST_PLACES = 20


def why(missed: NoPlacement, section: Section, lines: Sequence[str]) -> str:
    """The problem for the model. `lines` are those of the file."""
    numbers = ", ".join(map(str, missed.places[:_MOST_PLACES]))
    if missed.kind == "anchor":
        return _anchor(missed, lines)
    if missed.kind == "ambiguous":
        return (
            f"this section fits at several places (lines {numbers}). Add lines of context, or above it an anchor that "
            'is there once, such as "@@ class Name"\n' + _places(missed, lines)
        )
    if missed.kind == "above":
        return f"its lines are at line {numbers}, not below the line after @@\n{_places(missed, lines)}"
    if missed.kind == "taken":
        return f"its lines are at line {numbers}, which an earlier section has. Repeat no line in two of them"
    if missed.kind == "end":
        return f'its lines are at line {numbers} and not at the end of the file. Leave "*** End of File" out'
    return _block(section, lines)


def _anchor(missed: NoPlacement, lines: Sequence[str]) -> str:
    head = f'there is no line "{missed.anchor}" after the places before it'
    close = get_close_matches(missed.anchor.strip(), {line.strip() for line in lines if line.strip()}, n=3)
    if not close:
        return f"{head}. After @@ comes a line of the file, or a part of one that is there once"
    near = [f"{n}|{line}" for n, line in enumerate(lines, start=1) if line.strip() in close][:_MAX_LINES]
    return f"{head}. Alike are\n" + "\n".join(near)


def _places(missed: NoPlacement, lines: Sequence[str]) -> str:
    return "\n--\n".join(excerpt(lines, n - 1, n + 1) for n in missed.places[:_MAX_LINES])


def _block(section: Section, lines: Sequence[str]) -> str:
    old, new = section.old, section.new
    if any(sign == "+" for sign, _ in section.body) and (there := _already(section, new, lines)):
        return f"its lines are not there, but what it makes of them is, at line {there}: it may be applied already"
    if len(old) > len(lines):
        return f"it wants {len(old)} lines and the file has {len(lines)}. View the file again"
    near = find_near_miss("\n".join(lines), "\n".join(old))
    if near is None:
        wanted = "\n".join(old[:_MAX_LINES])
        return (
            f"its lines are not in the file, nor anything like them. View it and copy. Looked for:\n{wanted}"
        )
    return f"its lines are not in the file. Closest is line {near.first}: {near.cause}\n" + _difference(
        section, lines, near.first, near.last - near.first + 1
    )


def _already(section: Section, new: Sequence[str], lines: Sequence[str]) -> int:
    body = tuple((" ", text) for text in new)
    if not "".join(new).strip():
        return 0
    result = locate(Lines(lines), Section(section.line, (), body))
    places = result.places if isinstance(result, NoPlacement) and result.kind == "ambiguous" else ()
    return (places[0] if places else 0) if isinstance(result, NoPlacement) else result.start + 1


def _difference(section: Section, lines: Sequence[str], first: int, count: int) -> str:
    there = list(lines[first - 1 : first - 1 + count])
    excerpt_text = excerpt(lines, first, first + count - 1)
    different = first_difference(there, section.old)
    if different is None:
        return excerpt_text
    index, in_file, in_patch = different
    return (
        f"{excerpt_text}\nFirst difference, line {first + index} of the file (· space, → tab):\n"
        f"file:  {in_file}\npatch: {in_patch}"
    )
