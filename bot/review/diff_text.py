"""Render a diff as text for the model, with line numbers on both sides; and reduce a diff to what is new since the last
review.

The text is limited in length. Small files are included first, so that one lock file does not displace the rest; what is
left out is listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bot.contracts.formatting import count_of
from bot.contracts.pulls import Side
from bot.contracts.review import NOT_LOOKED_AT
from bot.review.diff import Diff, FileDiff, FileStatus, Hunk

# In characters: together about 40,000 tokens.
MOST = 160_000
MOST_A_FILE = 24_000
_LONGEST_LINE = 400
_NAMES_LISTED = 300
_NAMES_FOR_PEOPLE = 3
_WIDTH = 5


@dataclass(frozen=True, slots=True)
class DiffText:
    """`text` is for the model; `left_out` lists for people what the model was not shown."""

    text: str
    left_out: tuple[str, ...]


def diff_text(diff: Diff, most: int = MOST, most_a_file: int = MOST_A_FILE) -> DiffText:
    """Return the diff as text, complete if it fits."""
    texts = {file.path: _file(file, most_a_file) for file in diff.files}
    chosen = _fitting({path: len(text) for path, (text, _) in texts.items()}, most)
    parts = [_head(diff)]
    parts += [texts[file.path][0] for file in diff.files if file.path in chosen]
    absent = [file for file in diff.files if file.path not in chosen]
    if absent:
        parts.append(_listed(absent))
    cut = [file.path for file in diff.files if file.path in chosen and texts[file.path][1]]
    binary = [file.path for file in diff.files if file.binary and not file.hunks]
    wide = [file.path for file in diff.files if file.path in chosen and _has_long_line(file)]
    return DiffText("\n\n".join(parts), tuple(_left_out(absent, cut, binary, wide)))


def _has_long_line(file: FileDiff) -> bool:
    return any(
        kind != " " and len(text) > _LONGEST_LINE
        for hunk in file.hunks
        for kind, text in zip(hunk.kinds, hunk.texts, strict=True)
    )


def _fitting(sizes: dict[str, int], most: int) -> frozenset[str]:
    chosen, used = set[str](), 0
    for path in sorted(sizes, key=sizes.__getitem__):
        used += sizes[path]
        if used > most:
            break
        chosen.add(path)
    return frozenset(chosen)


def _head(diff: Diff) -> str:
    added, removed = (sum(_changed(file, side) for file in diff.files) for side in (Side.RIGHT, Side.LEFT))
    return (
        f"{count_of(len(diff.files), 'file')}, +{added} -{removed}. Before each line stand its number in the old "
        "file (LEFT) and in the new one (RIGHT)."
    )


def _file(file: FileDiff, most: int) -> tuple[str, bool]:
    """Return the text of a file, and whether it was cut."""
    lines = [f"## {_title(file)}"]
    if file.binary:
        lines.append("(binary for git; shown as text)" if file.hunks else "(binary)")
    used = 0
    for number, hunk in enumerate(file.hunks):
        for line in _hunk(hunk):
            used += len(line) + 1
            if used > most:
                lines.append(_rest(file.hunks[number:]))
                return "\n".join(lines), True
            lines.append(line)
    return "\n".join(lines), False


def _title(file: FileDiff) -> str:
    what = str(file.status)
    if file.status in (FileStatus.RENAMED, FileStatus.COPIED):
        what = f"{file.status} from {_readable(file.old_path)}"
    if file.status is FileStatus.MODIFIED and file.new_mode:
        what = f"mode {file.old_mode} to {file.new_mode}"
    return f"{_readable(file.path)} ({what}, +{_changed(file, Side.RIGHT)} -{_changed(file, Side.LEFT)})"


def _hunk(hunk: Hunk) -> Iterator[str]:
    yield "@@"
    for kind, old, new, text in hunk.rows():
        text_shown = (
            text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}… ({len(text):,} characters)"
        )
        yield f"{old or '':>{_WIDTH}} {new or '':>{_WIDTH}} {kind}{text_shown.rstrip(chr(13))}"


def _rest(hunks: Sequence[Hunk]) -> str:
    first, last = hunks[0], hunks[-1]
    end = last.new_start + last.count(Side.RIGHT) - 1
    where = f"changes in the lines {first.new_start} to {end}"
    return f"(The rest of this file is not shown: {where}; look at them with view.)"


def _listed(files: Sequence[FileDiff]) -> str:
    lines = ["## Changed too, and not shown: look at those that matter"]
    lines += [f"- {_title(file)}" for file in files[:_NAMES_LISTED]]
    if (more := len(files) - _NAMES_LISTED) > 0:
        lines.append(f"- and {more} more")
    return "\n".join(lines)


def _left_out(
    absent: Sequence[FileDiff], cut: Sequence[str], binary: Sequence[str], wide: Sequence[str]
) -> Iterator[str]:
    if binary:
        names = ", ".join(map(_readable, binary[:_NAMES_LISTED]))
        more = f" and {len(binary) - _NAMES_LISTED} more" if len(binary) > _NAMES_LISTED else ""
        yield f"{NOT_LOOKED_AT}{names}{more} (binary, or too large)"
    if absent:
        names = _listing([file.path for file in absent])
        yield f"{count_of(len(absent), 'file')} of the diff did not fit and were given by name only: {names}"
    if cut:
        yield f"the end of {count_of(len(cut), 'long file diff')} was not shown: {_listing(cut)}"
    if wide:
        yield f"the end of lines over {_LONGEST_LINE} characters was not shown: {_listing(wide)}"


def _listing(names: Sequence[str]) -> str:
    more = len(names) - _NAMES_FOR_PEOPLE
    return ", ".join(map(_readable, names[:_NAMES_FOR_PEOPLE])) + (f" and {more} more" if more > 0 else "")


def _changed(file: FileDiff, side: Side) -> int:
    return sum(hunk.kinds.count("+" if side is Side.RIGHT else "-") for hunk in file.hunks)


def _readable(path: str) -> str:
    """Return `path` on one line, with invalid UTF-8 and unprintable characters escaped."""
    plain = path.encode(errors="surrogateescape").decode(errors="replace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in plain)


def changed_since(diff: Diff, since: Diff) -> Diff:
    """Return the hunks of `diff` that `since` touches. Both lead to the same head, `since` from the last reviewed one.

    Changes of `since` from elsewhere, such as a merge of the base branch, are in no hunk of `diff` and left out.
    """
    remaining: list[FileDiff] = []
    for file in diff.files:
        again = since.find(file.path)
        if again is None:
            continue
        if again.binary and not again.hunks:
            remaining.append(file)
            continue
        touched = _touched(again)
        hunks = tuple(hunk for hunk in file.hunks if _meets(hunk, touched))
        if hunks or not file.hunks:
            remaining.append(replace(file, hunks=hunks))
    return Diff(tuple(remaining))


def _touched(file: FileDiff) -> frozenset[int]:
    """Return the lines of the new file that were added, or next to removed lines."""
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
        # The file was deleted, or the hunk only removes lines and has no context: they were between these two lines.
        return not touched.isdisjoint((hunk.new_start, hunk.new_start + 1))
    return not touched.isdisjoint(range(hunk.new_start, hunk.new_start + count))
