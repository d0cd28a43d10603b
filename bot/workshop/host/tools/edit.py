"""`edit`: replace one piece of text in a file that was viewed, or create a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.workshop.host import arguments as given
from bot.workshop.host.attempts import counted
from bot.workshop.host.commit import Change, commit
from bot.workshop.host.context import Context, ToolFailure
from bot.workshop.host.files import Loaded, load
from bot.workshop.host.matching import Match, find, replace
from bot.workshop.host.paths import relative, resolve
from bot.workshop.host.shown import require_lines_shown, require_shown, view_call
from bot.workshop.host.snippet import changed_part, excerpt
from bot.workshop.host.text import Text, split_lines, to_lf

_LISTED = 20
_EXPLAINED = 5


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    asked = given.text(arguments, "path")
    old = given.text(arguments, "old")
    new = given.text(arguments, "new")
    everywhere = given.flag(arguments, "replace_all")
    path = resolve(context, asked)
    with counted(context, lambda: [path]) as note:
        if not old:
            return _fill(context, path, asked, new, note)
        return _replace(context, path, asked, old, new, note, everywhere=everywhere)


def _replace(
    context: Context, path: Path, asked: str, old: str, new: str, note: str, *, everywhere: bool
) -> ToolOutcome:
    file = load(context, path, asked)
    if old == new:
        return _unchanged(file.name, '"old" and "new" are the same')
    require_shown(context, file, by_lines=True)
    match = find(file.text.content, old)
    if not match.spans:
        raise _not_found(file, old, new)
    if len(match.spans) > 1 and not everywhere:
        raise _ambiguous(file, match)
    _require_lines_shown(context, file, match)
    replaced = replace(file.text.content, match, new, everywhere=everywhere)
    if replaced.content == file.text.content:
        return _unchanged(file.name, "only line ends would differ, and those of the file are kept")
    after = Text(replaced.content, file.text.encoding)
    lines = (replaced.first_line, replaced.last_line)
    done = commit(context, "edit", [Change(path, file, after)])
    metadata = done.files[0]
    count = f", {replaced.count} occurrences" if everywhere else ""
    head = f"Edited {file.name} (+{metadata['additions']} -{metadata['removals']}{count}). {note}".rstrip()
    shown = changed_part(to_lf(after.content), *lines)
    return ToolOutcome("\n".join(filter(None, [head, shown, done.said])), metadata=metadata)


def _fill(context: Context, path: Path, asked: str, new: str, note: str) -> ToolOutcome:
    """Empty `old`: a new file, or content for one that is empty."""
    before = None
    if path.exists():
        before = load(context, path, asked)
        if before.lf:
            raise ToolFailure(
                f'{before.name} exists and is not empty. Give the text to replace as "old", or use write to '
                "replace the whole file."
            )
        if not new:
            return _unchanged(before.name, "it is empty already")
    after = Text(new, before.text.encoding) if before else Text(new)
    done = commit(context, "edit", [Change(path, before, after)])
    metadata = done.files[0]
    verb = "Filled" if before else "Created"
    head = f"{verb} {relative(context, path)} (+{metadata['additions']} -0). {note}".rstrip()
    return ToolOutcome("\n".join(filter(None, [head, done.said])), metadata=metadata)


def _unchanged(name: str, reason: str) -> ToolOutcome:
    return ToolOutcome(
        f"{name} was not changed: {reason}.", metadata={"path": name, "additions": 0, "removals": 0}
    )


def _ambiguous(file: Loaded, match: Match) -> ToolFailure:
    numbers = match.lines()
    lines = split_lines(file.lf)
    listed = ", ".join(map(str, numbers[:_LISTED])) + (", ..." if len(numbers) > _LISTED else "")
    places = "\n--\n".join(excerpt(lines, n - 1, n + 1) for n in dict.fromkeys(numbers[:_EXPLAINED]))
    return ToolFailure(
        f'"old" occurs {len(numbers)} times in {file.name} (lines {listed}), overlapping places counted:\n'
        f'{places}\nExtend "old" with lines around the one you mean, or set "replace_all" to true.'
    )


def _not_found(file: Loaded, old: str, new: str) -> ToolFailure:
    from bot.workshop.host.near_miss import first_difference, look

    done = find(file.text.content, new).lines() if new.strip() else []
    if done and old not in new:
        return ToolFailure(
            f'"old" is not in {file.name}, but "new" already is, at line {done[0]}. If that is the change you '
            f"meant, it is done; else call {view_call(file.name)}."
        )
    near = look(file.lf, old)
    if near is None:
        return ToolFailure(
            f'"old" is not in {file.name}, nor anything like it. Search for it with grep, or call '
            f"{view_call(file.name)} and copy the text from there."
        )
    lines = split_lines(file.lf)
    message = [
        f'"old" is not in {file.name}. The closest place is at line {near.first}: {near.cause}.',
        excerpt(lines, near.first, near.last),
    ]
    sent_lines = split_lines(old.replace("\r\n", "\n"))
    difference = first_difference(lines[near.first - 1 : near.last], sent_lines)
    if difference is not None:
        index, there, sent = difference
        message.append(
            f"First difference, line {near.first + index} (· space, → tab):\nfile: {there}\nold:  {sent}"
        )
    message.append('Send the edit again with "old" copied from the lines above, without their numbers.')
    return ToolFailure("\n".join(message))


def _require_lines_shown(context: Context, file: Loaded, match: Match) -> None:
    """Of a file that was shown in part, only that part may change."""
    for (start, end), first in zip(match.spans, match.lines(), strict=True):
        require_lines_shown(context, file, first, first + file.lf.count("\n", start, end - 1))
