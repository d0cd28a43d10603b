"""JUnit XML, as pytest, jest-junit, Surefire, Gradle, nextest and many others write it."""

from __future__ import annotations

from bot.workshop.host.reports import xml
from bot.workshop.host.reports.files import ReportError
from bot.workshop.host.reports.found import FAILED, PASSED, SKIPPED, Found

_STATES = {"failure": FAILED, "error": FAILED, "skipped": SKIPPED}


def parse(content: bytes, tests: Found, drop: str = "") -> None:
    """Add the tests of one report to `tests`. A test's key is its class name and its name; `drop` is left out of both,
    the root's path, since it differs between trees. Raises `ReportError`."""
    _Reader(tests, drop).read(content)


class _Reader:
    def __init__(self, tests: Found, drop: str) -> None:
        self._tests = tests
        self._drop = drop
        self._name = ""
        self._state = ""
        self._depth = 0
        self._seen = False

    def read(self, content: bytes) -> None:
        xml.parse(content, self._begin, self._end)
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
            self._state = PASSED
        elif self._state and name in _STATES and self._state != FAILED:
            self._state = _STATES[name]

    def _end(self, name: str) -> None:
        self._depth -= 1
        if name == "testcase" and self._state:
            self._tests.add(self._name, self._state)
            self._state = ""
