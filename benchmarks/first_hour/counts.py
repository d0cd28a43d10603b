"""How many tests a command ran, read from what it printed."""

from __future__ import annotations

import re

# pytest: "3 failed, 511 passed, 2 skipped, 1 xfailed in 3.20s"
_PYTEST = re.compile(r"^=*\s*((?:\d+ [a-z]+(?: passed)?(?:, )?)+) in [\d.]+s", re.MULTILINE)
_PYTEST_PART = re.compile(r"(\d+) (passed|failed|skipped|xfailed|xpassed|error)")
_GO = re.compile(r"^\s*--- (?:PASS|FAIL|SKIP): (\S+)", re.MULTILINE)
_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
_MAVEN = re.compile(r"Tests run: (\d+), Failures: \d+, Errors: \d+, Skipped: \d+(?!.*(?:Time elapsed|-- in))")
_CTEST = re.compile(r"tests? failed out of (\d+)")
_MESON = re.compile(r"^(?:Ok|Expected Fail|Fail|Unexpected Pass|Skipped|Timeout):\s+(\d+)", re.MULTILINE)
_AUTOMAKE = re.compile(r"^# TOTAL: +(\d+)", re.MULTILINE)
_UNITTEST = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
_VITEST = re.compile(r"^\s*Tests\s+.*\((\d+)\)", re.MULTILINE)
_JEST = re.compile(r"^Tests:.*?(\d+) total", re.MULTILINE)
_MOCHA = re.compile(r"^\s*(\d+) (?:passing|failing|pending)\b", re.MULTILINE)
_NODE = re.compile(r"^(?:#|ℹ) tests (\d+)", re.MULTILINE)
_RSPEC = re.compile(r"^(\d+) examples?, \d+ failures?", re.MULTILINE)
_MINITEST = re.compile(r"^(\d+) (?:runs|tests), \d+ assertions", re.MULTILINE)
_PHPUNIT = re.compile(r"^(?:OK \(|Tests: )(\d+)(?: tests?)?, (?:\d+ assertions?|Assertions: )", re.MULTILINE)
_NBDEV = re.compile(r"^Starting \S+\.ipynb$", re.MULTILINE)
# hiredis: "#178 We can use redisOptions to set privdata: PASSED"
_NUMBERED = re.compile(r"^#\d+ .*(?:PASSED|FAILED|SKIPPED)", re.MULTILINE)
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_SUMS = (
    *(_MAVEN, _CTEST, _MESON, _AUTOMAKE, _UNITTEST, _VITEST, _JEST, _MOCHA, _NODE),
    *(_RSPEC, _MINITEST, _PHPUNIT),
)


def tests_in(output: str) -> int | None:
    """The tests that ran or were skipped, summed over all runners that report in `output`; `None` if none does."""
    text = _ESCAPES.sub("", output)
    total = 0
    for line in _PYTEST.findall(text):
        total += sum(int(number) for number, _ in _PYTEST_PART.findall(line))
    total += _leaves(_GO.findall(text)) + len(_NBDEV.findall(text)) + len(_NUMBERED.findall(text))
    total += sum(sum(map(int, numbers)) for numbers in _CARGO.findall(text))
    for pattern in _SUMS:
        total += sum(map(int, pattern.findall(text)))
    return total or None


def _leaves(names: list[str]) -> int:
    """Go's subtests without the tests that only contain them, as slash-agent counts them."""
    parents = {name.rpartition("/")[0] for name in names}
    return sum(name not in parents for name in names)
