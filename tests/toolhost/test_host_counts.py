"""Runners without a report, by the line in which they sum up."""

import pytest

from bot.toolhost.reports import parse_output as parse

MAVEN = "Tests run: {}, Failures: 0, Errors: 0, Skipped: 0"
LINES = [
    ("[INFO] Tests run: 10, Failures: 1, Errors: 2, Skipped: 3", (4, 3, 3)),
    (f"{MAVEN.format(2)}\n{MAVEN.format(3)}", (5, 0, 0)),
    ("10 runs, 20 assertions, 1 failures, 1 errors, 2 skips", (6, 2, 2)),
    ("7 tests, 9 assertions, 0 failures, 0 errors, 1 pendings, 0 omissions, 0 notifications", (6, 0, 1)),
    ("  Tests:    1 failed, 2 skipped, 10 passed (20 assertions)", (10, 1, 2)),
    ("OK (130 tests, 0.9 seconds)", (130, 0, 0)),
    ("FAILURES! (12 tests, 1 failure, 2 skipped, 0.3 seconds)", (9, 1, 2)),
    ("Failed! - Failed:     1, Passed:     9, Skipped:     2, Total:    12, Duration: 5 ms", (9, 1, 2)),
    ("[  PASSED  ] 9 tests.\n[  FAILED  ] 2 tests, listed below:", (9, 2, 0)),
    ("All tests passed (10 assertions in 5 test cases)", (5, 0, 0)),
    ("test cases: 5 | 4 passed | 1 failed", (4, 1, 0)),
    ("10 specs, 1 failure, 2 pending specs", (7, 1, 2)),
    ("Ok:                1\nExpected Fail:     1\nFail:              2\nSkipped:           1", (2, 2, 1)),
    ("# TOTAL: 4\n# PASS:  1\n# SKIP:  1\n# XFAIL: 1\n# FAIL:  1\n# XPASS: 0\n# ERROR: 0", (2, 1, 1)),
    ("  2 tests failed\n  1 known failure\n  1 test skipped\n  3 tests passed", (3, 2, 1)),
    ("12 scenarios passed, 0 failed, 1 skipped", (12, 0, 1)),
]


@pytest.mark.parametrize(("output", "counts"), LINES)
def test_the_numbers_are_read(output: str, counts: tuple[int, int, int]) -> None:
    tests = parse(f"warming up\n{output}\ndone\n")
    assert tests is not None
    assert tuple((tests.figures() or {}).values()) == counts
    assert not tests.whole


@pytest.mark.parametrize("output", ["", MAVEN.format(0), "ok", f"x {MAVEN.format(1)}"])
def test_no_number_is_made_up(output: str) -> None:
    assert parse(output) is None
