"""`edit`: replace one piece of text in a file that was viewed, or create a file."""

from collections.abc import Sequence

from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.toolhost.context import Context
from bot.toolhost.encoding import split_lines, to_lf
from bot.toolhost.files import LoadedFile, load, require_shown, resolve, view_call, why_not_current
from bot.toolhost.text_replacement import Span, changed_part, excerpts, find, find_near_miss, line_of, replace
from bot.toolhost.tools.write import unchanged, write_file
from bot.toolhost.write_changes import Change, commit

_LISTED = 20


def run(context: Context, path: str, old: str, new: str, replace_all: bool = False) -> ToolOutcome:
    real = resolve(context, path)
    if not old:
        if real.exists() and (file := load(context, real, path)).data:
            raise ToolFailure(
                f'{file.name} exists and is not empty. Give the text to replace as "old", or use write to replace the '
                "whole file."
            )
        return write_file(context, "edit", path, new)
    file = load(context, real, path)
    if old == new:
        return unchanged(file.name, f'{file.name} was not changed: "old" and "new" are the same.')
    stale = why_not_current(context, file)
    spans = find(file.text.content, old)
    if not spans:
        raise _not_found(file, old, new)
    if len(spans) > 1:
        if not replace_all:
            raise _ambiguous(file, spans)
        require_shown(context, file)
    replaced = replace(file.text.content, spans, new, everywhere=replace_all)
    if replaced.content == file.text.content:
        reason = "only line ends would differ, and those of the file are kept"
        return unchanged(file.name, f"{file.name} was not changed: {reason}.")
    after = file.text._replace(content=replaced.content)
    [metadata] = commit(context, "edit", [Change(real, file, after)])
    count = f", {replaced.spans} occurrences" if replace_all else ""
    counts = f"+{metadata['additions']} -{metadata['removals']}{count}"
    excerpt = changed_part(to_lf(after.content), replaced.first_line, replaced.last_line)
    head = f"Edited {file.name} ({counts}). {f'({stale}.)' if stale else ''}".rstrip()
    return ToolOutcome(f"{head}\n{excerpt}", metadata=metadata)


def _ambiguous(file: LoadedFile, spans: Sequence[Span]) -> ToolFailure:
    numbers = [line_of(file.text.content, start) for start, _ in spans[:_LISTED]]
    listed = ", ".join(map(str, numbers)) + (", ..." if len(spans) > _LISTED else "")
    places = excerpts(split_lines(file.lf), numbers)
    return ToolFailure(
        f'"old" occurs {len(spans)} times in {file.name} (lines {listed}), overlapping places counted:\n'
        f'{places}\nExtend "old" with lines around the one you mean, or set "replace_all" to true.'
    )


def _not_found(file: LoadedFile, old: str, new: str) -> ToolFailure:
    done = find(file.text.content, new) if new.strip() else ()
    if done and old not in new:
        line = line_of(file.text.content, done[0][0])
        return ToolFailure(
            f'"old" is not in {file.name}, but "new" already is, at line {line}. If that is the change you '
            f"meant, it is done; else call {view_call(file.name)}."
        )
    lines, wanted = split_lines(file.lf), split_lines(old.replace("\r\n", "\n"))
    near = find_near_miss(lines, wanted)
    if near is None:
        return ToolFailure(
            f'"old" is not in {file.name}, nor anything like it. Search for it with grep, or call '
            f"{view_call(file.name)} and copy the text from there."
        )
    return ToolFailure(
        f'"old" is not in {file.name}. The closest place is at line {near[0]}.\n{near[1]}\n'
        'Send the edit again with "old" copied from the lines above, without their numbers.'
    )
