"""Parse JUnit XML, as pytest, jest-junit, Surefire, Gradle, nextest and many others write it."""

from __future__ import annotations

from bot.ecosystems.test_results import FAILED, PASSED, SKIPPED, ParsedTests
from bot.toolhost.reports import files, reasons
from bot.toolhost.reports.files import ReportError

_LONGEST = 4_000
"""Characters of a failure that are read."""
_STATES = {"failure": FAILED, "error": FAILED, "skipped": SKIPPED}


def parse(content: bytes, tests: ParsedTests, drop: str = "") -> None:
    """Add the tests of one report to `tests`. A test's key is its class name and its name; `drop` is left out of both,
    the root's path, since it differs between trees. Raises `ReportError`."""
    _Reader(tests, drop).read(content)


class _Reader:
    def __init__(self, tests: ParsedTests, drop: str) -> None:
        self._tests = tests
        self._drop = drop
        self._name = ""
        self._state = ""
        self._failure: tuple[str, str] | None = None
        self._inside = False
        self._depth = 0
        self._seen = False

    def read(self, content: bytes) -> None:
        files.parse(content, self._begin, self._end, self._text)
        if not self._seen:
            raise ReportError("is no JUnit report")

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1:
            self._seen = name in ("testsuites", "testsuite")
        if name == "testcase" and self._seen:
            where, what = attributes.get("classname", ""), attributes.get("name", "")
            self._name = f"{where}::{what}" if where else what
            if self._drop:
                self._name = self._name.replace(self._drop, "")
            self._state, self._failure = PASSED, None
        elif self._state and name in _STATES and self._state != FAILED:
            self._state = _STATES[name]
            if self._state == FAILED:
                self._failure, self._inside = (attributes.get("message", "")[:_LONGEST], ""), True

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._inside = self._inside and name not in _STATES
        if name == "testcase" and self._state:
            self._tests.add(self._name, self._state)
            if self._failure:
                message, text = (
                    part.replace(self._drop, "") if self._drop else part for part in self._failure
                )
                self._tests.explain(self._name, reasons.one_line(reasons.of_junit(message, text)))
            self._state, self._inside = "", False

    def _text(self, text: str) -> None:
        if self._inside and self._failure and len(self._failure[1]) < _LONGEST:
            self._failure = self._failure[0], self._failure[1] + text[:_LONGEST]
