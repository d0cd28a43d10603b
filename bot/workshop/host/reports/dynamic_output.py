"""What RSpec and PHPUnit print of their tests: by name those that fail."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.workshop.host.reports.found import FAILED, PASSED, SKIPPED, Found

_RSPEC_END = re.compile(
    r"(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred .*)?"
)
_RSPEC_BAD = re.compile(r"rspec '?(?:\./)?([^\s':\[]+)(?::\d+|\[[\d:]+\])?'?(?: # (.+))?")

_PHPUNIT = re.compile(r"PHPUnit \d+\.\d.*")
_PHPUNIT_GOOD = re.compile(r"OK \((\d+) tests?, \d+ assertions?\)")
_PHPUNIT_END = re.compile(r"Tests: (\d+), Assertions: \d+(?:, [A-Za-z ]+: \d+)*\.")
_PHPUNIT_FIGURE = re.compile(r"(Errors|Failures|Skipped|Incomplete): (\d+)")
_PHPUNIT_PART = re.compile(r"There (?:was|were) \d+ (.+):")
_PHPUNIT_TEST = re.compile(r"\d+\) ([\w\\]+::\w.*)")
_BAD_PARTS = ("error", "errors", "failure", "failures")


def rspec(lines: Sequence[str]) -> Found | None:
    """By its list of failed examples, each with its file and its words: a line moves."""
    ends = [found for line in lines if (found := _RSPEC_END.fullmatch(line))]
    if not ends:
        return None
    tests = Found("RSpec's output", whole=False)
    named = (found for line in lines if line.startswith("rspec ") and (found := _RSPEC_BAD.fullmatch(line)))
    for name in dict.fromkeys(f"{found[1]} {found[2] or ''}".rstrip() for found in named):
        tests.add(name, FAILED)
    ran, failed, pending, outside = (sum(int(end[place] or 0) for end in ends) for place in range(1, 5))
    tests.totals = {PASSED: max(ran - failed - pending, 0), FAILED: failed + outside, SKIPPED: pending}
    return tests


def phpunit(lines: Sequence[str]) -> Found | None:
    """By its lists of errors and failures."""
    if not any(_PHPUNIT.fullmatch(line) for line in lines):
        return None
    ran = 0
    figures = dict.fromkeys(("Errors", "Failures", "Skipped", "Incomplete"), 0)
    tests = Found("PHPUnit's output", whole=False)
    part = ""
    bad: dict[str, None] = {}
    for line in lines:
        if found := _PHPUNIT_PART.fullmatch(line):
            part = found[1]
        elif part in _BAD_PARTS and (found := _PHPUNIT_TEST.fullmatch(line)):
            bad[found[1]] = None
        elif found := _PHPUNIT_GOOD.fullmatch(line) or _PHPUNIT_END.fullmatch(line):
            part, ran = "", ran + int(found[1])
            for word, number in _PHPUNIT_FIGURE.findall(line):
                figures[word] += int(number)
    if not ran:
        return None
    for name in bad:
        tests.add(name, FAILED)
    failed, skipped = figures["Errors"] + figures["Failures"], figures["Skipped"] + figures["Incomplete"]
    tests.totals = {PASSED: max(ran - failed - skipped, 0), FAILED: failed, SKIPPED: skipped}
    return tests
