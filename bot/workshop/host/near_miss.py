"""Why text that was to be replaced is not in the file: the closest place and the likely cause.

Nothing found here is ever applied; it is told to the model, which then sends text that is really there.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from bot.workshop.host.text import split_lines

ALIKE = 0.6
"""Under this similarity a place is not worth showing."""

# Comparing is quadratic in the window; a larger text is matched by its anchors alone.
_WINDOW = 400
_FUZZY_LINES = 3000
_PREFIX = re.compile(r"^\s*\d+[|\t]")
_PLAIN = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "…": "...", "\u00a0": " "}
)


@dataclass(frozen=True, slots=True)
class NearMiss:
    """Lines `first` to `last` (1-based) are the closest; `cause` is a clause that says what differs."""

    first: int
    last: int
    cause: str


def look(lf: str, old: str) -> NearMiss | None:
    """The closest place to `old` in a text with line feeds, `None` where nothing is alike."""
    old = old.replace("\r\n", "\n")
    whole = _whole_text_causes(lf, old)
    if whole is not None:
        return whole
    lines, wanted = split_lines(lf), split_lines(old)
    for cause, flatten in _CAUSES:
        found = _same_after(lines, wanted, flatten)
        if found is not None:
            return NearMiss(found + 1, found + len(wanted), cause)
    return _alike(lines, wanted)


def first_difference(lines: list[str], wanted: list[str]) -> tuple[int, str, str] | None:
    """Index and both lines, white space made visible, where two lists first differ."""
    for index in range(max(len(lines), len(wanted))):
        there = lines[index] if index < len(lines) else None
        given = wanted[index] if index < len(wanted) else None
        if there != given:
            return index, _visible(there), _visible(given)
    return None


def _whole_text_causes(lf: str, old: str) -> NearMiss | None:
    lines = split_lines(old)
    candidates = []
    if lines and all(_PREFIX.match(line) for line in lines):
        bare = "\n".join(_PREFIX.sub("", line) for line in lines)
        candidates.append((bare, '"old" carries the line numbers of a view, which are not in the file'))
    if "\\n" in old or "\\t" in old or '\\"' in old:
        bare = old.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
        candidates.append(
            (bare, 'a line break, tab or quote in "old" is written as a backslash and a letter')
        )
    candidates.append((old.strip("\n"), '"old" begins or ends with a blank line that is not there'))
    for bare, cause in candidates:
        at = lf.find(bare) if bare.strip() else -1
        if at >= 0:
            first = lf.count("\n", 0, at) + 1
            return NearMiss(first, first + bare.rstrip("\n").count("\n"), cause)
    return None


def _without_trailing_space(line: str) -> str:
    return line.rstrip()


def _without_tabs(line: str) -> str:
    body = line.lstrip()
    return line[: len(line) - len(body)].expandtabs(4) + body.rstrip()


def _without_indentation(line: str) -> str:
    return line.strip()


def _plain(line: str) -> str:
    return unicodedata.normalize("NFKC", line.translate(_PLAIN)).strip()


def _without_spaces(line: str) -> str:
    return "".join(_plain(line).split())


def _without_case(line: str) -> str:
    return _without_spaces(line).casefold()


# From the smallest difference to the largest; each flattens everything that those before it do.
_CAUSES: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("only spaces at line ends differ", _without_trailing_space),
    ("the file indents with tabs where the text has spaces, or the other way round", _without_tabs),
    ("only the indentation differs", _without_indentation),
    ("quotes, dashes, spaces or other characters only look alike", _plain),
    ("only white space within a line differs", _without_spaces),
    ("only upper and lower case differ", _without_case),
)


def _same_after(lines: list[str], wanted: list[str], flatten: Callable[[str], str]) -> int | None:
    """Index of the first run of lines that equals `wanted` once both are flattened."""
    flat, target = [flatten(line) for line in lines], [flatten(line) for line in wanted]
    if not any(target):
        return None
    size, at = len(target), -1
    try:
        while True:
            at = flat.index(target[0], at + 1)
            if flat[at : at + size] == target:
                return at
    except ValueError:
        return None


def _alike(lines: list[str], wanted: list[str]) -> NearMiss | None:
    if not lines or not wanted:
        return None
    flat, target = [_without_spaces(line) for line in lines], [_without_spaces(line) for line in wanted]
    best, best_score = 0, 0.0
    for start in _starts(flat, target):
        window = flat[start : start + len(target)]
        score = _score(window[:_WINDOW], target[:_WINDOW])
        if score > best_score:
            best, best_score = start, score
    if best_score < ALIKE:
        return None
    return NearMiss(best + 1, min(best + len(wanted), len(lines)), f"it is {best_score:.0%} alike")


def _starts(flat: list[str], target: list[str]) -> list[int]:
    """Where it is worth comparing: windows that share whole lines, else those around the most similar lines."""
    places: dict[str, list[int]] = {}
    for number, line in enumerate(flat):
        if line:
            places.setdefault(line, []).append(number)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(target):
        found = places.get(line, ())
        if len(found) <= 50:  # a brace or a blank line says nothing
            votes.update(number - offset for number in found)
    starts = [max(0, start) for start, _ in votes.most_common(5)]
    if starts or len(flat) > _FUZZY_LINES:
        return starts
    longest = max(range(len(target)), key=lambda offset: len(target[offset]))
    ranked = sorted(range(len(flat)), key=lambda number: -_line_score(flat[number], target[longest]))
    return [max(0, number - longest) for number in ranked[:5]]


def _score(window: list[str], target: list[str]) -> float:
    """Mean similarity of the lines, pairwise in order, weighted by length."""
    weight = sum(len(line) for line in target) or 1
    return sum(_line_score(a, b) * len(b) for a, b in zip(window, target, strict=False)) / weight


def _line_score(line: str, wanted: str) -> float:
    from difflib import SequenceMatcher

    if line == wanted:
        return 1.0
    if not line or not wanted or not 0.4 < len(line) / len(wanted) < 2.5:
        return 0.0
    matcher = SequenceMatcher(None, line[:300], wanted[:300], autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= ALIKE else 0.0


def _visible(line: str | None) -> str:
    if line is None:
        return "(no line)"
    body = line.strip(" \t")
    start = line[: len(line) - len(line.lstrip(" \t"))] if body else line
    end = line[len(start) + len(body) :]
    marks = str.maketrans({" ": "·", "\t": "→"})
    shown = (start.translate(marks) + body + end.translate(marks)).replace("\r", "␍")
    return shown if len(shown) <= 200 else shown[:200] + "…"
