"""How a change makes tests prove less: assertions gone or made empty, tests gone or passed over, each with its line.

Language by language, since `skip` is a word in one and a mark in another. A reader of lines and not of programs: what
it names is shown to a reviewer, and nothing is refused for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

_LINES_NAMED = 5
# Nobody writes an assertion further to the right, and a line may be a file's five megabytes.
_LOOKED_AT = 500

_TEST_PATH = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__)/|(?:^|/)test_[^/]*$|[._-](?:tests?|spec)\.[^/]+$|_test\.[^/]+$|Tests?\.[a-z]+$"
)


class Line(NamedTuple):
    """A line that a patch takes away (`number` is of the old file) or adds (of the new one)."""

    number: int
    text: bytes


@dataclass(frozen=True, slots=True)
class _Language:
    """What a line of a test says. `comment` begins what is not run; a line that matches `empty` asserts nothing."""

    assertion: re.Pattern[bytes]
    skip: re.Pattern[bytes]
    test: re.Pattern[bytes]
    comment: re.Pattern[bytes]
    empty: re.Pattern[bytes]


def weakened(path: str, removed: Iterable[Line], added: Iterable[Line], *, deleted: bool) -> str:
    """What a reviewer should know of a change to a test, with the lines; "" where it proves as much as before."""
    name = path.rpartition("/")[2]
    # Rust keeps its tests beside what they test.
    if not _TEST_PATH.search(path) and not name.endswith(".rs"):
        return ""
    if deleted and _TEST_PATH.search(path):
        return "deletes a test file"
    language = _language_of(name)
    old, new = _run(removed, language), _run(added, language)
    notes = (
        _fewer("assertion", _asserting(old, language), _asserting(new, language)),
        _fewer("test", _matching(old, language.test), _matching(new, language.test)),
        _skipped(_matching(old, language.skip), _matching(new, language.skip)),
    )
    return ", ".join(note for note in notes if note)


def _run(lines: Iterable[Line], language: _Language) -> list[Line]:
    """The lines that are no comment."""
    near = (Line(line.number, line.text[:_LOOKED_AT]) for line in lines)
    return [line for line in near if not language.comment.match(line.text)]


def _asserting(lines: Sequence[Line], language: _Language) -> list[Line]:
    return [line for line in _matching(lines, language.assertion) if not language.empty.search(line.text)]


def _matching(lines: Sequence[Line], pattern: re.Pattern[bytes]) -> list[Line]:
    return [line for line in lines if pattern.search(line.text)]


def _fewer(what: str, old: Sequence[Line], new: Sequence[Line]) -> str:
    """A line that was only changed is on both sides; which of the others is gone nobody can tell, so all are named."""
    number = len(old) - len(new)
    if number <= 0:
        return ""
    return f"removes {number} {what}{'s' if number > 1 else ''} ({_where(old)} before)"


def _skipped(old: Sequence[Line], new: Sequence[Line]) -> str:
    number = len(new) - len(old)
    if number <= 0:
        return ""
    return f"skips {'a test' if number == 1 else f'{number} tests'} ({_where(new)})"


def _where(lines: Sequence[Line]) -> str:
    numbers = [str(line.number) for line in lines[:_LINES_NAMED]]
    more = len(lines) - len(numbers)
    word = "line" if len(lines) == 1 else "lines"
    return f"{word} {', '.join(numbers)}{f' and {more} more' if more else ''}"


def _language_of(name: str) -> _Language:
    extension = name.rpartition(".")[2].lower()
    for extensions, patterns in _LANGUAGES:
        if extension in extensions:
            return _compiled(patterns)
    return _compiled(_OTHER)


@lru_cache(maxsize=16)
def _compiled(patterns: tuple[bytes, bytes, bytes, bytes]) -> _Language:
    assertion, skip, test, comment = (re.compile(pattern) for pattern in patterns)
    return _Language(assertion, skip, test, comment, _EMPTY)


# `assert True`, `expect(true).toBe(true)`, `assert_eq!(1, 1)`: what holds whatever the program does.
_EMPTY = re.compile(
    rb"\bassert\s*+\(?\s*+(?:True|1)\s*+\)?\s*+(?:[,;#].*)?$"
    rb"|\bassert(?:True|_true|!)?\s*+\(\s*+(?:True|true|1)\s*+[,)]"
    rb"|\bexpect\s*+\(\s*+(true|false|\d+)\s*+\)\s*+\.\s*+(?:toBe|toEqual|to\.eq|to\s*+\(?\s*+eq)\w*\s*+\(?\s*+\1\b"
    rb"|\bassert\w*(?:!|\.\w+)?\s*+\(\s*+(?:t\s*+,\s*+)?(\d+|true)\s*+,\s*+\2\s*+[,)]"
)
_HASH = rb"\s*+#(?!\[)"
_SLASHES = rb"\s*+(?://|/?\*)"

_PYTHON = (
    (
        rb"^\s*+assert\b|\bself\.(?:assert|fail)\w*\s*+\(|\.assert_\w+\s*+\("
        rb"|\bpytest\.(?:raises|warns|fail)\b|\bnp\.testing\."
    ),
    (
        rb"\bmark\.(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail|importorskip)\s*+\("
        rb"|\bskip(?:If|Unless|Test)?\s*+\("
        rb"|\bunittest\.skip|\bexpectedFailure\b|\bSkipTest\b|\bcollect_ignore\b"
    ),
    rb"^\s*+(?:async\s+)?def\s+test|^class\s+Test",
    _HASH,
)
_SCRIPT = (
    (
        rb"\bexpect(?:Type[A-Za-z]*)?\s*+\(|\bassert(?:\.\w+)*\s*+\(|\.should\b"
        rb"|\bt\.(?:is|deepEqual|true|false|throws|equal|ok|not)\w*\s*+\("
    ),
    (
        rb"\b(?:it|test|describe|suite|context)\.(?:skip|todo|fixme|fails|failing|only|skipIf)\b"
        rb"|\b[xf](?:it|test|describe|context)\s*+\("
        rb"|\bthis\.skip\s*+\(|\bpending\s*+\("
    ),
    rb"^\s*+[xf]?(?:it|test)(?:\.\w+)*+\s*+[(`]",
    _SLASHES,
)
_GO = (
    rb"\bt\.(?:Error|Fatal|Fail)\w*\s*+\(|\b(?:assert|require|is|qt|check)\.[A-Z]\w*\s*+\(|\bcmp\.Diff\s*+\(",
    rb"\b[tb]\.Skip\w*\s*+\(|\btesting\.Short\s*+\(|^//go:build\s+(?:ignore|never)",
    rb"^\s*+func\s+(?:Test|Fuzz|Example)\w*\s*+\(|\bt\.Run\s*+\(",
    rb"\s*+(?://(?!go:build)|/?\*)",
)
_RUST = (
    rb"\b(?:debug_)?assert\w*!\s*+[(\[{]|\bshould_panic\b|\bpanic!\s*+\(",
    rb"#\[\s*+ignore\b|#!?\[\s*+cfg\s*+\(\s*+(?:any\s*+\(\s*+\)|not\s*+\(\s*+test)",
    rb"#\[\s*+(?:\w+::)*test\b",
    _SLASHES,
)
_JAVA = (
    (
        rb"\b(?:assert\w*|verify\w*|fail|expectThrows|should\w*)\s*+[({]|^\s*+assert\b|\bAssert(?:ions|\.)\w*"
        rb"|\bassertThat\b"
    ),
    (
        rb"@(?:Ignore|Disabled)\w*\b"
        rb"|\bassum\w+\s*+\(|@Test\s*+\([^)]{0,99}enabled\s*+=\s*+false|\[\s*+(?:Ignore|Fact\s*+\(\s*+Skip|Theory\s*+\(\s*+Skip)"
    ),
    rb"@(?:Test|ParameterizedTest|RepeatedTest)\b|\[\s*+(?:Fact|Theory|Test|TestMethod)\b",
    _SLASHES,
)
_RUBY = (
    rb"\bexpect\s*+[({]|\bassert\w*\b|\brefute\w*\b|\.(?:should|must_\w+|wont_\w+)\b|\bis_expected\b",
    rb"^\s*+(?:skip|pending)\b|\b[xf](?:it|describe|context|specify|example)\b|,\s*+:?(?:skip|pending|focus)\b",
    rb"^\s*+(?:it|specify|test|example|scenario)\s+['\"]|^\s*+def\s+test_",
    _HASH,
)
_OTHER = (
    rb"\bassert|\bexpect\s*+\(|\.should\b|\b(?:EXPECT|ASSERT|CHECK|REQUIRE)(?:_\w+)?\s*+\(",
    (
        rb"\b(?:skip|xfail|ignore|disabled|pending)\b\s*+[(:]|\b(?:GTEST_SKIP|DISABLED_)"
        rb"|\bmarkTest(?:Skipped|Incomplete)\b"
    ),
    rb"\b(?:TEST|TEST_F|TEST_P|TEST_CASE|SCENARIO)\s*+\(|^\s*+(?:public\s+)?function\s+test",
    _SLASHES,
)
_LANGUAGES: tuple[tuple[frozenset[str], tuple[bytes, bytes, bytes, bytes]], ...] = (
    (frozenset({"py", "pyi"}), _PYTHON),
    (frozenset({"js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte"}), _SCRIPT),
    (frozenset({"go"}), _GO),
    (frozenset({"rs"}), _RUST),
    (frozenset({"java", "kt", "kts", "scala", "groovy", "cs"}), _JAVA),
    (frozenset({"rb", "rake"}), _RUBY),
)
