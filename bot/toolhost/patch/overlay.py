"""Apply the operations of a patch to the files in memory. It writes nothing and collects every problem.

Several operations on one file are applied in order.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from bot.contracts.tools import ToolFailure
from bot.toolhost.commit import Change
from bot.toolhost.context import Context
from bot.toolhost.file_excerpt import excerpt
from bot.toolhost.files import LoadedFile, load, relative, resolve
from bot.toolhost.freshness import NotShown, require_lines_shown, require_shown
from bot.toolhost.matching import find_near_miss, first_difference
from bot.toolhost.patch.draft import Draft
from bot.toolhost.patch.errors import PatchError, Problem
from bot.toolhost.patch.grammar import Add, Delete, Operation, Section, Update, unnumbered
from bot.toolhost.patch.locate import THRESHOLD, Lines, NoPlacement, Placement, is_once, locate
from bot.toolhost.text import Encoding, Text


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


class Plan(NamedTuple):
    """`changes` in the order of the patch; `notes` say what was adjusted to make it fit, and what was unchanged;
    `exact` is whether every section was found as written."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    exact: bool


def plan(context: Context, operations: Sequence[Operation]) -> Plan:
    """The changes that the operations make. Raises `PatchError` with all their problems; the valid operations and
    sections are then kept for the next patch."""
    overlay = _Overlay(context)
    for operation in operations:
        overlay.take(operation)
    return overlay.planned(operations)


class _Overlay:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._files: dict[Path, _File] = {}
        self._problems: list[Problem] = []
        self._notes: list[str] = []
        self._scores: list[tuple[Section, str, int]] = []
        self._wrong_ones: set[int] = set()

    def take(self, operation: Operation) -> None:
        try:
            if isinstance(operation, Add):
                self._add(operation)
            elif isinstance(operation, Delete):
                self._delete(operation)
            else:
                self._update(operation)
        except NotShown as failure:
            self._not_shown(operation, operation.path, failure)
        except ToolFailure as failure:
            self._wrong(operation, operation.path, str(failure))

    def planned(self, operations: Sequence[Operation]) -> Plan:
        if sum(score for _, _, score in self._scores) > THRESHOLD:
            for section, path, score in self._scores:
                self._wrong(
                    section,
                    path,
                    f"this section fits only with score {score}, and a whole patch may have {THRESHOLD} at most. Copy "
                    "its lines from a view as they are, with their white space",
                )
        if self._problems:
            fitting = tuple(self._fitting(operations))
            stored_number = self._context.records.store(list(map(unnumbered, fitting))) if fitting else 0
            count = sum(len(one.sections) or 1 if isinstance(one, Update) else 1 for one in fitting)
            raise PatchError(sorted(self._problems, key=lambda problem: problem.line), count, stored_number)
        changes = self._changes()
        if not changes:
            raise PatchError([Problem(1, "", "The patch changes nothing: every file would be as it is")])
        return Plan(tuple(changes), tuple(self._notes), not self._scores)

    def _fitting(self, operations: Sequence[Operation]) -> Iterator[Operation]:
        """The operations and sections without a problem. A file moves with all of its sections or not at all."""
        for operation in operations:
            if id(operation) in self._wrong_ones:
                continue
            if not isinstance(operation, Update):
                yield operation
                continue
            sections = tuple(one for one in operation.sections if id(one) not in self._wrong_ones)
            if len(sections) == len(operation.sections):
                yield operation
            elif sections and operation.move_to is None:
                yield operation._replace(sections=sections)

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
        file = self._existing(operation.path, by_lines=operation.move_to is None)
        assert file.draft is not None
        places = self._locate_sections(file, file.draft, operation)
        if places is not None:
            file.draft.apply(places)
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

    def _locate_sections(self, file: _File, draft: Draft, operation: Update) -> list[Placement] | None:
        """The placements of the sections; `None`, with a problem for each section without one, if one has none."""
        lines, cursor, missed = Lines(draft.lines), 0, 0
        passed: tuple[str, ...] = ()
        places: list[Placement] = []
        for section in operation.sections:
            result = locate(lines, section, cursor, passed)
            if isinstance(result, NoPlacement):
                self._wrong(section, operation.path, why(result, section, draft.lines, cursor))
                missed += 1
                continue
            cursor, passed = result.end, section.anchors
            try:
                self._require_lines(file, result, lines)
            except NotShown as failure:
                self._not_shown(section, operation.path, failure)
                missed += 1
                continue
            places.append(result)
            if result.score:
                self._scores.append((section, operation.path, result.score))
            if result.note:
                first, last = result.start + 1, max(result.start + 1, result.end)
                self._notes.append(
                    f"{operation.path}, lines {first}-{last}: the added lines were {result.note}."
                )
        return places if not missed else None

    def _require_lines(self, file: _File, placement: Placement, lines: Lines) -> None:
        """Raise an error unless the changed lines were shown, or were added by this patch."""
        before = file.before or file.source
        if before is None or file.draft is None:
            return
        unknown = self._context.records.get(before.path) is None
        if unknown and not placement.section.old:
            require_shown(self._context, before)
        for start, end in [(placement.start, placement.end)] if unknown else _at_stake(placement, lines):
            first, last = file.draft.file_lines(start, end)
            if first <= last:
                require_lines_shown(self._context, before, first, last)

    def _existing(self, raw_path: str, *, by_lines: bool = False) -> _File:
        """The file as earlier operations left it, else as it is on disk: it must exist, and be shown and unchanged
        since."""
        path = self._resolved(raw_path)
        file = self._files.get(path)
        if file is None:
            if os.path.islink(os.path.join(self._context.root, raw_path)):
                raise ToolFailure(f"it is a link. Name the file it leads to, {relative(self._context, path)}")
            loaded = load(self._context, path, raw_path)
            require_shown(self._context, loaded, by_lines=by_lines)
            content = loaded.text.content
            file = self._files[path] = _File(path, loaded, Draft.of(content), loaded.text.encoding)
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
            before = file.before or file.source
            # Where carriage returns alone end lines, a diff counts no lines.
            known = file.draft.known() if before and file.draft.ending != "\r" else None
            changes.append(Change(file.path, file.before, after, source=file.source, known=known))
        return changes

    def _moved_on(self, file: _File) -> bool:
        """Whether the file's deletion is part of a move: it is a move's source, or an intermediate name."""
        return file.before is None or any(other.source is file.before for other in self._files.values())

    def _wrong(self, what: Operation | Section, path: str, message: str) -> None:
        self._wrong_ones.add(id(what))
        self._problems.append(Problem(what.line, path, message))

    def _not_shown(self, what: Operation | Section, path: str, failure: NotShown) -> None:
        """The operation itself is valid: it is stored, and tried again with the next patch."""
        self._problems.append(Problem(what.line, path, f"{failure.reason} Call {failure.call}"))


def _at_stake(placement: Placement, lines: Lines) -> Iterator[tuple[int, int]]:
    """The lines, from 0, that must have been shown: the removed ones if the section's lines are in the file once and
    exactly as written; else all of them, since another place may be meant."""
    if placement.score or not is_once(lines, placement.section.old):
        yield placement.start, placement.end
        return
    at = placement.start
    for sign, group in groupby(placement.section.body, key=itemgetter(0)):
        size = 0 if sign == "+" else len(list(group))
        if sign == "-":
            yield at, at + size
        at += size


_MAX_LINES = 5


def why(missed: NoPlacement, section: Section, lines: Sequence[str], cursor: int) -> str:
    """The problem for the model. `lines` are the file's after the earlier sections; the search began at line
    `cursor`."""
    if missed.kind == "anchor":
        return _anchor(missed, lines)
    numbers = ", ".join(map(str, missed.places))
    if missed.kind == "ambiguous":
        return (
            f"this section fits at several places (lines {numbers}). Add lines of context, or above it an anchor that "
            'is there once, such as "@@ class Name"\n' + _places(missed, lines)
        )
    if missed.kind == "order":
        return (
            f"its lines are at line {numbers}, which an earlier section has passed (it ended at line {cursor}). Put "
            "sections in the order of the file, and repeat no line in two of them"
        )
    if missed.kind == "end":
        return f'its lines are at line {numbers} and not at the end of the file. Leave "*** End of File" out'
    if missed.kind == "indent":
        return (
            f"its lines are at line {numbers} with another indentation (score {missed.score}). Copy them as they are\n"
            + _difference(section, lines, missed.places[0], len(section.old))
        )
    return _block(section, lines)


def _anchor(missed: NoPlacement, lines: Sequence[str]) -> str:
    head = f'there is no line "{missed.anchor}" after the places before it'
    close = get_close_matches(missed.anchor.strip(), {line.strip() for line in lines if line.strip()}, n=3)
    if not close:
        return f"{head}. After @@ comes a whole line of the file"
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
    result = locate(Lines(lines), Section(section.line, (), body), 0)
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
