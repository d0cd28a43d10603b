"""Report what added lines contain: comments that silence a checker, invisible characters, credentials.

Reads lines, not programs. A report blocks no change; reviewers see it. See `weaker_tests` for tests.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

from bot.contracts.formatting import first_of
from bot.contracts.plain_text import UNSEEN
from bot.gate.secrets import credentials_in
from bot.gate.weaker_tests import Line, line_list

# Bytes at the start and at the end of a line that are searched: a line may be a file's five megabytes.
_HEAD = 2_000
_END = 300


def suppressed(path: str, removed: Iterable[Line], added: Iterable[Line]) -> str:
    """Return a clause that names the new suppression comments with their lines; "" if there are no more than
    before."""
    if path.lower().rpartition(".")[2] in PROSE:
        return ""
    old, new = _marked(removed), _marked(added)
    more = {mark: len(lines) - len(old.get(mark, ())) for mark, lines in new.items()}
    named = [
        f"{mark} ({line_list(_not_moved(lines, old.get(mark, ())))})"
        for mark, lines in new.items()
        if more[mark] > 0
    ]
    if not named:
        return ""
    number = sum(one for one in more.values() if one > 0)
    return f"adds {'a suppression' if number == 1 else f'{number} suppressions'}: {first_of(named, 4)}"


def _marked(lines: Iterable[Line]) -> dict[str, list[Line]]:
    marked: dict[str, list[Line]] = {}
    for line in lines:
        text = line.text
        near = text if len(text) <= _HEAD + _END else text[:_HEAD] + b" " + text[-_END:]
        marks = (match[0].decode(errors="replace") for match in _SUPPRESSION.finditer(near))
        for mark in dict.fromkeys(" ".join(one.split()) for one in marks):
            marked.setdefault(mark, []).append(line)
    return marked


def _not_moved(lines: Sequence[Line], before: Iterable[Line]) -> list[int]:
    """Return the numbers of the lines that were not only moved, or of all if each was there before."""
    bare = {b"".join(line.text[:_HEAD].split()) for line in before}
    new = [line.number for line in lines if b"".join(line.text[:_HEAD].split()) not in bare]
    return new or [line.number for line in lines]


PROSE = ("md", "mdx", "rst", "txt", "adoc")
# What checkers of many languages take for a suppression, as they take it. It is reported, so each form stops where the
# name of the suppression ends.
_SUPPRESSION = re.compile(
    rb"(?:#|//)\s*+(?:[a-z]\w{0,20}+:\s*+)?(?:(?i:noqa)|nosec|nolint|noinspection)\b"
    rb"|(?:#|//)\s*+[a-z][\w-]{0,20}+:\s*+(?:(?:file-)?ignore(?:-errors)?|disable(?:-[a-z-]{1,30})?|skip-file|basic|off"
    rb"|no (?:cover|branch)|false|allow-untyped\S{0,20})\b|#\s*+:nocov:|#\s*+pyre-(?:ignore|fixme)\b"
    rb"|\b(?:eslint|oxlint|biome|deno-lint|tflint|checkov|trivy|kics|cppcheck)[-:](?:ignore|disable|suppress|skip)(?:-[a-z-]{1,20})?"
    rb"|\b[a-z]{3,20}:(?:disable|ignore|todo)\b|\$Flow(?:FixMe|Ignore)\b|\bCHECKSTYLE:OFF\b|\bT\.unsafe\b"
    rb"|\b(?:istanbul|c8|v8|shellcheck|yamllint|hadolint)\s++(?:ignore|disable)\b|\bNOSONAR\b"
    rb"|@ts-(?:nocheck|ignore|expect-error)\b|@(?:phpstan|psalm)-(?:ignore|suppress)(?:-[a-z-]{1,20})?|@codeCoverageIgnore\w*"
    rb"|@(?:file:)?Suppress(?:Warnings|FBWarnings|Lint)?\b|@(?:typing\.)?no_type_check\b|@nowarn\b|@noflow\b"
    rb"|#!?\[\s*+(?:(?:allow|expect)\s*+\(|coverage\s*+\(\s*+off\b)"
    rb"|\bcfg_attr\s*+\([^()\]]{0,80}(?:\([^()]{0,80}\)?\s*+)?,\s*+allow\s*+\("
    rb"|#(?:pragma\s++(?:warning\s++disable|warning\s*+\(\s*+disable|(?:GCC|clang)\s++diagnostic\s++ignored)|nullable\s++disable)\b"
    rb"|\[(?:\w{1,20}+:\s*+)?(?:SuppressMessage|ExcludeFromCodeCoverage)\b"
    rb"|\bNOLINT(?:NEXTLINE|BEGIN)?\b|\b(?:LCOV|GCOVR?)_EXCL_(?:BR_)?(?:LINE|START)\b"
)


_ALL_VISIBLE = re.compile(rb"[\t -~]*")
# Where joiners are valid: after an emoji or a letter of a joining script, once each, and in a keycap after its digit.
_JOINERS = "\u200c\u200d\ufe0f"
_JOINING = re.compile(rf"(?<=[^\x00-\x7f{_JOINERS}])\ufe0f?[\u200c\u200d]?|(?<=[0-9#*])\ufe0f(?=\u20e3)")
_HIDDEN = re.compile(f"{UNSEEN.pattern}|[{_JOINERS}]")
_BYTE_ORDER_MARK = "\ufeff"


def unseen(removed: Iterable[Line], added: Iterable[Line]) -> str:
    """Return a clause that names the invisible characters with their lines; "" if there are no more than before."""
    old, new = _unseen_by_char(removed), _unseen_by_char(added)
    more = {char: lines for char, lines in new.items() if len(lines) > len(old.get(char, ()))}
    named = [
        f"U+{ord(char):04X} ({line_list(list(dict.fromkeys(lines)))})" for char, lines in sorted(more.items())
    ]
    return f"adds characters that do not show: {first_of(named, 4)}" if named else ""


def brings_in_unseen(before: str, after: str) -> bool:
    """Whether `after` has more of an invisible character than `before`."""
    return bool(_unseen_in(after) - _unseen_in(before))


def _unseen_by_char(lines: Iterable[Line]) -> dict[str, list[int]]:
    """Return the line numbers of each invisible character, one for each occurrence."""
    numbers: dict[str, list[int]] = {}
    for line in lines:
        if _ALL_VISIBLE.fullmatch(line.text):
            continue
        text = line.text.decode(errors="replace")
        for char, times in _unseen_in(
            text.removeprefix(_BYTE_ORDER_MARK) if line.number == 1 else text
        ).items():
            numbers.setdefault(char, []).extend([line.number] * times)
    return numbers


def _unseen_in(text: str) -> Counter[str]:
    left = _JOINING.sub("", text.replace("\r\n", "\n").removesuffix("\r").replace("\f", ""))
    return Counter(_HIDDEN.findall(left))


_MOST_CREDENTIALS = 20
"""Finding the line of each counts lines from the start, and a file may have a hundred thousand credentials."""


def new_credentials(removed: Iterable[Line], added: Iterable[Line]) -> str:
    """Return a clause that names kinds and lines of new credentials, never a value; "" if there are none."""
    lines = tuple(added)
    if not lines:
        return ""
    before = b"\n".join(line.text for line in removed)
    old = {before[span.start : span.end] for span in credentials_in(before)}
    text = b"\n".join(line.text for line in lines)
    spans = (span for span in credentials_in(text) if text[span.start : span.end] not in old)
    clauses = dict.fromkeys(
        f"{span.kind} in line {_line(lines, text, span.start)}" for span in islice(spans, _MOST_CREDENTIALS)
    )
    return f"adds what looks like a credential ({first_of([*clauses], 3)})" if clauses else ""


def _line(lines: Sequence[Line], text: bytes, at: int) -> int:
    return lines[text.count(b"\n", 0, at)].number
