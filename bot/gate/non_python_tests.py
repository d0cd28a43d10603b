"""Read the tests and assertions of a test file in other languages than Python from its tokens: see `Part` in
`python_tests`.

Pygments identifies comments and strings, so that patterns match code only; brackets delimit expressions and blocks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from bot.gate.python_tests import CANNOT_FAIL, ITSELF, NOT_RUN, Part

_OPENS = {"(": ")", "[": "]", "{": "}"}
_LONGEST_NAME = 200
NO_MATCHER = "without a matcher"

_RETURN = re.compile(r"\breturn\b[^\S\n]*(?:undefined\b|null\b|nil\b|true\b|Ok\(\(\)\))?[^\S\n]*(?=[;\n}])")
_NEVER = re.compile(r"\bif\s*+\(?\s*+(?:false|0)\s*+\)?\s*+\{")
_OTHER_CASE = re.compile(r"\b(?:case|default)\b")
_MEMBER = re.compile(r"\s*+(?:\?\.|\.|::)\s*+\w++(?:<[^()<>]{0,80}>)?!?")
_WORD_BEFORE = re.compile(r"\b(?:if|for|while|with|switch)\s*\Z")
# Words between `expect(x)` and a matcher.
_LINKS = (
    "to be been is that which and has have with at of same but does still also not resolves rejects deep any all own"
    " ordered nested itself"
)
_IS_CALLED = re.compile(r"to[A-Z]\w*")
# For a name in lower case, letters only.
_COMPARES = re.compile(
    r"(?:debug|assert|expect|require|check|qt|is|t)*(?:deep|strict|are)*(?:eq|equals?|same|is|like)"
)
_IS_TRUE = re.compile(r"(?:debug|assert|expect|require|check|is|t)*(?:assert|true|ok|truthy)")


@dataclass(frozen=True)
class _Language:
    assertion: re.Pattern[str]
    skip: re.Pattern[str]
    test: re.Pattern[str]
    braces: bool = False  # a condition has always a block
    matchers: bool = False  # `expect(x)` alone asserts nothing


def parts_of_other(path: str, text: str, *, inside: bool) -> list[Part]:
    """`inside`: the file also contains the tested code, and only what follows the first test belongs to the tests."""
    language = _language_of(path)
    return list(_File(text, _code_of(path, text), language).parts(inside=inside))


def _code_of(path: str, text: str) -> str:
    """Return `text` with the characters of comments and strings replaced."""
    from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
    from pygments.token import Comment, String
    from pygments.util import ClassNotFound

    extension = path.rpartition(".")[2].lower()
    try:
        name = _LEXERS.get(extension)
        lexer = get_lexer_by_name(name) if name else get_lexer_for_filename(f"x.{extension}")
    except ClassNotFound:
        return text
    pieces: list[str] = []
    for _, kind, value in lexer.get_tokens_unprocessed(text):
        if kind in Comment and kind not in Comment.Preproc:
            value = re.sub(r"[^\n]", " ", value)
        elif kind in String and kind not in String.Symbol and kind not in String.Interpol:
            value = re.sub(r"[^\n]", "'", value)
        elif kind in String.Interpol:
            value = " " * len(value)
        pieces.append(value)
    return "".join(pieces)


@dataclass
class _File:
    text: str
    code: str
    language: _Language
    _tests: list[tuple[int, str]] = field(default_factory=list)

    def parts(self, *, inside: bool) -> Iterator[Part]:
        self._tests = [(match.start(), self._name(match)) for match in self.language.test.finditer(self.code)]
        for match in self.language.assertion.finditer(self.code):
            if inside and self._test_at(match.start()) < 0:
                continue
            end = self._end(match.end())
            why = self._empty(match, end) or (NOT_RUN if self._is_dead(match.start()) else "")
            yield self._part(why or "assertion", match.start(), _bare(self.text[match.start() : end]))
        for match in self.language.skip.finditer(self.code):
            yield self._part("skip", match.start(), self._test_name(match.start()) + _bare(match[0]))
        for start, name in self._tests:
            yield self._part("test", start, name)

    def _part(self, kind: str, position: int, key: str) -> Part:
        return Part(kind, self._test_name(position), key, self.code.count("\n", 0, position) + 1)

    def _test_at(self, position: int) -> int:
        return bisect_right(self._tests, (position, "\U0010ffff")) - 1

    def _test_name(self, position: int) -> str:
        number = self._test_at(position)
        return self._tests[number][1] if number >= 0 else ""

    def _name(self, match: re.Match[str]) -> str:
        """Return the name of a test: the rest of its line or, after an attribute, everything until its block begins."""
        start, far = match.start(), match.start() + _LONGEST_NAME
        ends = [position for sign in ("{", "=>") if (position := self.code.find(sign, match.end(), far)) >= 0]
        if match[0].lstrip()[:1] not in "#@[" and (line := self.code.find("\n", match.end(), far)) >= 0:
            ends.append(line)
        return _bare(self.text[start : min(ends, default=far)])

    @cached_property
    def _closes(self) -> dict[int, int]:
        """The position where each bracket closes; the end of the file for an unclosed one."""
        pairs: dict[int, int] = {}
        stack: list[int] = []
        for match in re.finditer(r"[()\[\]{}]", self.code):
            if match[0] in _OPENS:
                stack.append(match.start())
            elif stack and _OPENS[self.code[stack[-1]]] == match[0]:
                pairs[stack.pop()] = match.start()
        return pairs | dict.fromkeys(stack, len(self.code))

    @cached_property
    def _opened_by(self) -> dict[int, int]:
        return {end: start for start, end in self._closes.items()}

    def _end(self, position: int) -> int:
        """Return the end of the expression that begins before `position`: after its calls and members, or its line."""
        if self.code[position - 1] not in _OPENS:
            return end if (end := self.code.find("\n", position)) >= 0 else len(self.code)
        position = self._closes[position - 1] + 1
        while position < len(self.code):
            if self.code[position] in ("(", "["):
                position = self._closes[position] + 1
            elif member := _MEMBER.match(self.code, position):
                position = member.end()
            else:
                break
        return min(position, len(self.code))

    def _empty(self, match: re.Match[str], end: int) -> str:
        """Return why an assertion cannot fail; "" if it may fail."""
        start = match.start()
        opens = self.code.find("(", start, end)
        if opens < 0:
            return ""
        args = self._arguments(opens)
        if self.language.matchers and self.code.startswith("expect", start):
            return self._empty_expect(self.code[self._closes[opens] + 1 : end], args)
        head = re.sub(r"[\W_]", "", self.code[start:opens]).lower()
        args = args[1:] if args[:1] == ["t"] and len(args) > 1 else args
        if len(args) > 1 and args[0] == args[1] and _COMPARES.fullmatch(head):
            return ITSELF
        true = bool(args) and (args[0] in ("true", "True", "1") or args[0].endswith("||true"))
        return CANNOT_FAIL if true and _IS_TRUE.fullmatch(head) else ""

    def _empty_expect(self, rest: str, args: Sequence[str]) -> str:
        """`rest` is the code after `expect(x)`."""
        words = [word for word in re.findall(r"\.\s*(\w+)", rest) if word not in _LINKS.split()]
        if not words or (_IS_CALLED.fullmatch(words[-1]) and not rest.rstrip().endswith(")")):
            return NO_MATCHER
        rest_bare = _bare(rest).partition("(")[2]
        return (
            ITSELF
            if args and "'" not in args[0] and rest_bare == f"{args[0]})" and ".not." not in rest
            else ""
        )

    def _arguments(self, opens: int) -> list[str]:
        """Return the arguments between two brackets, without white space."""
        args, start, position = [], opens + 1, opens + 1
        close = self._closes[opens]
        while position < close:
            if self.code[position] in _OPENS:
                position = min(self._closes[position], close)
            elif self.code[position] == ",":
                args.append(self.text[start:position])
                start = position + 1
            position += 1
        return [bare for one in [*args, self.text[start:close]] if (bare := _bare(one))]

    def _is_dead(self, position: int) -> bool:
        return any(start < position < end for start, end in self._dead)

    @cached_property
    def _dead(self) -> list[tuple[int, int]]:
        """The ranges after a bare `return` in its block, and under `if (false)`."""
        spans = [(one.end(), self._closes[one.end() - 1]) for one in _NEVER.finditer(self.code)]
        for one in _RETURN.finditer(self.code):
            if self._is_unconditional(one.start()):
                around = (
                    end
                    for start, end in self._closes.items()
                    if start < one.start() < end and self.code[start] == "{"
                )
                end = min(around, default=one.end())
                other = _OTHER_CASE.search(self.code, one.end(), end)
                spans.append((one.end(), other.start() if other else end))
        return spans

    def _is_unconditional(self, position: int) -> bool:
        before = self.code[max(position - 400, 0) : position].rstrip()
        if self.language.braces or before[-1:] in ("{", "}", ";"):
            return True
        if before[-1:] == ")":
            opened = self._opened_by.get(max(position - 400, 0) + len(before) - 1, 0)
            return not _WORD_BEFORE.search(self.code[max(opened - 40, 0) : opened])
        return False


def _bare(text: str) -> str:
    return "".join(text.split())


def _language_of(path: str) -> _Language:
    extension = path.rpartition(".")[2].lower()
    return next((language for extensions, language in _LANGUAGES if extension in extensions.split()), _OTHER)


def _language(
    assertion: str, skip: str, test: str, *, braces: bool = False, matchers: bool = False
) -> _Language:
    compiled = [re.compile(one, re.MULTILINE) for one in (assertion, skip, test)]
    return _Language(compiled[0], compiled[1], compiled[2], braces, matchers)


_LEXERS = {
    "mjs": "javascript",
    "cjs": "javascript",
    "jsx": "javascript",
    "vue": "javascript",
    "svelte": "javascript",
    "tsx": "typescript",
    "mts": "typescript",
    "cts": "typescript",
    "ts": "typescript",
    "h": "cpp",
    "m": "objective-c",
    "t": "perl",
    "pl": "perl",
    "bats": "bash",
    "cs": "csharp",
}
_SCRIPT = _language(
    r"\bexpect(?:Type[A-Za-z]*)?\s*+\(|\bassert(?:\.\w+)*\s*+\(|\.should\b"
    r"|\bt\.(?:is|deepEqual|true|false|throws|equal|ok|not|truthy|falsy|like|regex|fail|pass|plan)\w*\s*+\(",
    r"\b(?:it|test|describe|suite|context)(?:\.\w+)*?\.(?:skip|todo|fixme|fails|failing|only|skipIf|runIf)\b"
    r"|\b[xf](?:it|test|describe|context)\s*+\(|\bthis\.skip\s*+\(|\bpending\s*+\(|\.each\s*+\(\s*+\[\s*+\]\s*+\)",
    r"^[^\S\n]*+[xf]?(?:it|test)(?:\.\w+)*+\s*+[(`]",
    matchers=True,
)
_GO = _language(
    r"\bt\.(?:Error|Fatal|Fail)\w*\s*+\(|\b(?:assert|require|is|qt|check)\.[A-Z]\w*\s*+\(|\bcmp\.Diff\s*+\("
    # A function that receives `t` may fail the test.
    r"|\b\w+\((?:[^()\n]{0,120},[^\S\n]*)?t[^\S\n]*[,)]",
    r"\b[tb]\.Skip\w*\s*+\(|\btesting\.Short\s*+\(",
    r"^func\s+(?:\([^()\n]{1,80}\)\s*)?(?:Test|Fuzz|Example)\w*\s*+\(",
    braces=True,
)
_RUST = _language(
    r"\b(?:debug_)?assert\w*!\s*+[(\[{]|\bshould_panic\b|\bpanic!\s*+\(",
    r"#\[\s*+ignore\b|#!?\[\s*+cfg\s*+\(\s*+(?:any\s*+\(\s*+\)|not\s*+\(\s*+test)",
    r"#\[\s*+(?:\w+::)*test\b",
    braces=True,
)
_JAVA = _language(
    r"\b(?:assert\w*|verify\w*|fail|expectThrows|should\w*)\s*+[({]|^\s*+assert\b|\bAssert(?:ions)?\.\w+\s*+\(",
    r"@(?:Ignore|Disabled)\w*\b|\bassum\w+\s*+\(|@Test\s*+\([^)]{0,99}enabled\s*+=\s*+false"
    r"|\[\s*+(?:Ignore|Fact\s*+\(\s*+Skip|Theory\s*+\(\s*+Skip)",
    r"@(?:Test|ParameterizedTest|RepeatedTest)\b|\[\s*+(?:Fact|Theory|Test|TestMethod)\b",
)
_RUBY = _language(
    r"\bexpect\s*+[({]|\bassert\w*\b|\brefute\w*\b|\.(?:should|must_\w+|wont_\w+)\b|\bis_expected\b",
    r"^\s*+(?:skip|pending)\b|\b[xf](?:it|describe|context|specify|example)\b|,\s*+:?(?:skip|pending|focus)\b",
    r"^[^\S\n]*+(?:(?:it|specify|test|example|scenario)\s+'|def\s+test_)",
)
_OTHER = _language(
    r"\bassert\w*|\bexpect\s*+\(|\.should\b|\b(?:EXPECT|ASSERT|CHECK|REQUIRE)(?:_\w+)?\s*+\(",
    r"\b(?:skip|xfail|ignore|disabled|pending)\b\s*+[(:]|\b(?:GTEST_SKIP|DISABLED_)|\bmarkTest(?:Skipped|Incomplete)\b",
    r"\b(?:TEST|TEST_F|TEST_P|TEST_CASE|SCENARIO)\s*+\(|^\s*+(?:public\s+)?function\s+test",
)
_LANGUAGES = (
    ("js jsx ts tsx mjs cjs mts cts vue svelte", _SCRIPT),
    ("go", _GO),
    ("rs", _RUST),
    ("java kt kts scala groovy cs", _JAVA),
    ("rb rake", _RUBY),
)
