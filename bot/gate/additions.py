"""Report what added lines contain: comments that silence a checker, invisible characters, credentials.

Reads lines, not programs. A report blocks no change; reviewers see it. See `weaker_tests` for tests.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from bot.gate.secrets import Finder
from bot.gate.text import is_seen
from bot.gate.weaker_tests import Line, line_list

_KINDS_NAMED = 4
# Bytes at the start and at the end of a line that are searched: a line may be a file's five megabytes.
_HEAD = 2_000
_END = 300


def suppressed(path: str, removed: Iterable[Line], added: Iterable[Line]) -> str:
    """Return a clause that names the new suppression comments with their lines; "" if there are no more than
    before."""
    pattern = _pattern_of(path.rpartition("/")[2].lower())
    if pattern is None:
        return ""
    old, new = _marked(pattern, removed), _marked(pattern, added)
    more = {mark: len(lines) - len(old.get(mark, ())) for mark, lines in new.items()}
    named = [
        f"{mark} ({line_list(_not_moved(lines, old.get(mark, ())))})"
        for mark, lines in new.items()
        if more[mark] > 0
    ]
    if not named:
        return ""
    number = sum(one for one in more.values() if one > 0)
    return f"adds {'a suppression' if number == 1 else f'{number} suppressions'}: {_kinds(named)}"


def _marked(pattern: re.Pattern[bytes], lines: Iterable[Line]) -> dict[str, list[Line]]:
    marked: dict[str, list[Line]] = {}
    for line in lines:
        for mark in dict.fromkeys(_marks(pattern, line.text)):
            marked.setdefault(mark, []).append(line)
    return marked


def _marks(pattern: re.Pattern[bytes], text: bytes) -> Iterator[str]:
    near = text if len(text) <= _HEAD + _END else text[:_HEAD] + b" " + text[-_END:]
    for match in pattern.finditer(near):
        yield " ".join(match[0].decode(errors="replace").split())


def _not_moved(lines: Sequence[Line], before: Iterable[Line]) -> list[int]:
    """Return the numbers of the lines that were not only moved, or of all if each was there before."""
    bare = {b"".join(line.text[:_HEAD].split()) for line in before}
    new = [line.number for line in lines if b"".join(line.text[:_HEAD].split()) not in bare]
    return new or [line.number for line in lines]


def _kinds(named: Sequence[str]) -> str:
    more = len(named) - _KINDS_NAMED
    return ", ".join(named[:_KINDS_NAMED]) + (f" and {more} other kinds" if more > 0 else "")


def _pattern_of(name: str) -> re.Pattern[bytes] | None:
    extension = name.rpartition(".")[2]
    patterns = (pattern for extensions, pattern in _LANGUAGES if extension in extensions.split())
    return next(map(re.compile, patterns), None)


# The match is reported, so each pattern stops where the name of the suppression ends.
_PYTHON = (
    rb"#\s*+(?:(?:ruff|flake8):\s*+)?(?i:noqa)\b|#\s*+type:\s*+ignore\b|#\s*+(?:pyright|ty|pyre-?):\s*+ignore\b"
    rb"|#\s*+pyre-(?:ignore|fixme)\b|#\s*+pyright:\s*+(?:basic|off)\b"
    rb"|#\s*+mypy:\s*+(?:ignore-errors|disable-error-code|allow-untyped\S{0,20})"
    rb"|#\s*+pylint:\s*+(?:disable|skip-file)\b(?:-next)?|#\s*+pragma:\s*+no (?:cover|branch)\b|#\s*+nosec\b"
    rb"|@(?:typing\.)?no_type_check\b"
)
_SCRIPT = (
    rb"@ts-(?:nocheck|ignore|expect-error)\b|\b(?:eslint|oxlint)-disable(?:-next-line|-line)?\b"
    rb"|\bbiome-ignore(?:-all|-start)?\b|\bdeno-lint-ignore(?:-file)?\b|\btslint:disable\b"
    rb"|\b(?:istanbul|c8|v8) ignore\b|\$Flow(?:FixMe|Ignore)\b|@noflow\b"
)
_GO = rb"//\s*+nolint\b|//\s*+lint:(?:file-)?ignore\b|#nosec\b"
_RUST = (
    rb"#!?\[\s*+(?:allow|expect)\s*+\(|\bcfg_attr\s*+\([^()\]]{0,80}\([^()]{0,80}\)?\s*+,\s*+allow\s*+\("
    rb"|\bcfg_attr\s*+\([^()\]]{0,80},\s*+allow\s*+\(|#!?\[\s*+coverage\s*+\(\s*+off\b"
)
_SHELL = rb"#\s*+shellcheck\s++disable\b"
_JVM = (
    rb"@(?:file:)?Suppress(?:Warnings|FBWarnings|Lint)?\b|\bNOSONAR\b|@nowarn\b|\bCHECKSTYLE:OFF\b"
    rb"|//\s*+noinspection\b"
)
_SHARP = (
    rb"#pragma\s++warning\s++disable\b|\[(?:\w+:\s*+)?(?:SuppressMessage|ExcludeFromCodeCoverage)\b"
    rb"|#nullable\s++disable\b"
)
_C = (
    rb"\bNOLINT(?:NEXTLINE|BEGIN)?\b|#pragma\s++(?:GCC|clang)\s++diagnostic\s++ignored\b"
    rb"|#pragma\s++warning\s*+\(\s*+disable\b|\bcppcheck-suppress\b|\b(?:LCOV|GCOVR?)_EXCL_(?:BR_)?(?:LINE|START)\b"
)
_RUBY = rb"\brubocop:(?:disable|todo)\b|#\s*+:nocov:|#\s*+typed:\s*+(?:false|ignore)\b|\bT\.unsafe\b"
_PHP = (
    rb"@phpstan-ignore(?:-next-line|-line)?\b|@psalm-suppress\b|\bphpcs:(?:ignore|disable)\b"
    rb"|@codeCoverageIgnore(?:Start)?\b"
)
_SWIFT = rb"\bswiftlint:disable\b"
_SETTINGS = (
    rb"\byamllint\s++disable\b|\bhadolint\s++ignore\b|\b(?:tflint|checkov|trivy|kics)[:-](?:ignore|skip)\b"
)
_LANGUAGES = (
    ("py pyi pyx", _PYTHON),
    ("js jsx ts tsx mjs cjs mts cts vue svelte astro css json", _SCRIPT),
    ("go", _GO),
    ("rs", _RUST),
    ("sh bash zsh ksh bats", _SHELL),
    ("java kt kts scala groovy", _JVM),
    ("cs vb", _SHARP),
    ("c h cc cpp cxx hh hpp hxx m mm", _C),
    ("rb rake", _RUBY),
    ("php", _PHP),
    ("swift", _SWIFT),
    ("yml yaml tf dockerfile", _SETTINGS),
)


_ALL_VISIBLE = re.compile(rb"[\t -~]*")
# Where joiners are valid: after an emoji or a letter of a joining script, once each, and in a keycap after its digit.
_JOINERS = "\u200c\u200d\ufe0f"
_JOINING = re.compile(rf"(?<=[^\x00-\x7f{_JOINERS}])\ufe0f?[\u200c\u200d]?|(?<=[0-9#*])\ufe0f(?=\u20e3)")
_BYTE_ORDER_MARK = "\ufeff"


def unseen(removed: Iterable[Line], added: Iterable[Line]) -> str:
    """Return a clause that names the invisible characters with their lines; "" if there are no more than before."""
    old, new = _unseen_by_char(removed), _unseen_by_char(added)
    more = {char: lines for char, lines in new.items() if len(lines) > len(old.get(char, ()))}
    named = [
        f"U+{ord(char):04X} ({line_list(list(dict.fromkeys(lines)))})" for char, lines in sorted(more.items())
    ]
    return f"adds characters that do not show: {_kinds(named)}" if named else ""


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
    return Counter({char: left.count(char) for char in set(left) if char in _JOINERS or not is_seen(char)})


_CREDENTIALS_NAMED = 3
_MOST_CREDENTIALS = 20
"""Finding the line of each counts lines from the start, and a file may have a hundred thousand credentials."""


def new_credentials(removed: Iterable[Line], added: Iterable[Line]) -> str:
    """Return a clause that names kinds and lines of new credentials, never a value; "" if there are none."""
    lines = tuple(added)
    if not lines:
        return ""
    before = b"\n".join(line.text for line in removed)
    old = {before[span.start : span.end] for span in Finder().spans(before)}
    text = b"\n".join(line.text for line in lines)
    spans = (span for span in sorted(Finder().spans(text)) if text[span.start : span.end] not in old)
    clauses = dict.fromkeys(
        f"{span.kind}, line {_line(lines, text, span.start)}" for span in islice(spans, _MOST_CREDENTIALS)
    )
    if not clauses:
        return ""
    named = list(clauses)
    more = "; and more" if len(named) > _CREDENTIALS_NAMED else ""
    return f"adds what looks like a credential ({'; '.join(named[:_CREDENTIALS_NAMED])}{more})"


def _line(lines: Sequence[Line], text: bytes, at: int) -> int:
    return lines[text.count(b"\n", 0, at)].number
