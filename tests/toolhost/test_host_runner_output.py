"""Tests by name from what known runners print, by recorded output of each."""

import time
from pathlib import Path

import pytest

from bot.ecosystems.test_results import ParsedTests
from bot.toolhost.test_reports import PLACES, find, parse_junit, parse_output
from bot.toolhost.test_reports import parse_output as parse

RECORDED = Path(__file__).parent / "runner_output"


def told(text: str, root: str = "") -> ParsedTests:
    tests = parse_output(text, root)
    assert tests is not None
    return tests


def read(name: str) -> ParsedTests:
    return told((RECORDED / f"{name}.txt").read_text(), "/repo/")


@pytest.mark.parametrize(
    ("name", "passed", "failed", "skipped"),
    [
        ("cargo", 4, 1, 1),
        ("go_json", 2, 2, 1),
        ("go_verbose", 3, 2, 1),
        ("mocha", 2, 1, 1),
        ("node_spec", 3, 2, 2),
        ("node_tap", 3, 2, 2),
        ("unittest_verbose", 4, 5, 3),
    ],
)
def test_a_runner_that_names_every_test_is_read_whole(name: str, passed: int, failed: int, skipped: int):
    tests = read(name)
    assert tests.whole
    assert {state: len(names) for state, names in tests.names.items()} == tests.figures()
    assert tests.figures() == {"passed": passed, "failed": failed, "skipped": skipped}


@pytest.mark.parametrize(
    ("name", "failed", "figures"),
    [
        ("go", ["example.com/app.TestBad/one_two", "example.com/app/broken"], None),
        ("rspec", ["spec/a_spec.rb Sum is bad", "spec/a_spec.rb Sum when empty raises"], (1, 2, 1)),
        ("phpunit",
         ["App\\Tests\\ATest::testBad", "App\\Tests\\ATest::testErr",
          'App\\Tests\\ATest::testMany with data set "two" (2)'],
         (2, 3, 1)),
        ("jest", ["a.test.js > sum > is bad"], (3, 1, 1)),
        ("jest_colours", ["a.test.js > sum > is bad"], (1, 1, 0)),
        ("vitest", ["a.test.mjs > sum > is bad"], (2, 1, 1)),
        ("pytest_quiet", ["test_a.py::test_bad", "test_a.py::test_e", "test_b.py"], (5, 3, 2)),
        ("pytest_interrupted", ["test_b.py"], (0, 1, 0)),
        ("unittest",
         ["tests.test_a.A.test_bad", "tests.test_a.A.test_err", "tests.test_a.A.test_sub",
          "tests.test_a.C.setUpClass", "tests.test_b"],
         (4, 4, 3)),
    ],
)  # fmt: skip
def test_a_runner_that_names_only_failures_is_not_whole(
    name: str, failed: list[str], figures: tuple[int, int, int] | None
):
    tests = read(name)
    assert not tests.whole
    assert sorted(tests.names["failed"]) == failed
    assert tests.names["passed"] == []
    told = tests.figures()
    assert (tuple(told.values()) if told else None) == figures


def test_the_names_are_those_that_people_know():
    assert read("cargo").names["failed"] == ["src/lib.rs::tests::bad"]
    assert "tests/it.rs::it_works" in read("cargo").names["passed"]
    assert "src/lib.rs::tests::panics" in read("cargo").names["passed"]
    assert read("go_verbose").names["skipped"] == ["example.com/app.TestSkip"]
    assert read("mocha").names["skipped"] == ["Array > #indexOf() > pending one"]
    assert read("node_spec").names["failed"] == ["bad # one", "suite > inner bad"]
    assert read("node_tap").names == read("node_spec").names


EQUAL = "AssertionError [ERR_ASSERTION]: 1 == 2"
NO_MODULE = "ModuleNotFoundError: No module named 'nothing_here'"


@pytest.mark.parametrize(
    ("name", "test", "reason"),
    [
        ("cargo", "src/lib.rs::tests::bad", "assertion `left == right` failed; left: 1; right: 2"),
        ("nextest", "app tests::bad", "assertion `left == right` failed; left: 1; right: 2"),
        ("ctest", "crash", "Exception"),
        ("go", "example.com/app.TestBad/one_two", "a_test.go:11: bad: 1"),
        ("go", "example.com/app/broken", "broken/b_test.go:5:28: undefined: undefinedThing"),
        ("go_verbose", "example.com/app.TestBad/one_two", "a_test.go:11: bad: 1"),
        ("go_json", "example.com/app.TestBad/one_two", "a_test.go:8: no"),
        ("jest", "a.test.js > sum > is bad",
         "expect(received).toBe(expected) // Object.is equality; Expected: 2; Received: 1"),
        ("mocha", "Array > #indexOf() > is bad", EQUAL),
        ("node_spec", "suite > inner bad", "Error: x"),
        ("node_tap", "suite > inner bad", "error: 'x'"),
        ("phpunit", "App\\Tests\\ATest::testBad", "Failed asserting that 2 is identical to 1."),
        ("pytest_quiet", "test_a.py::test_bad", "assert 0"),
        ("pytest_quiet", "test_b.py", NO_MODULE),
        ("rspec", "spec/a_spec.rb Sum when empty raises", "RuntimeError: no"),
        ("unittest", "tests.test_a.A.test_bad", "AssertionError: 1 != 2"),
        ("unittest_verbose", "tests.test_b", NO_MODULE),
        ("vitest", "a.test.mjs > sum > is bad", "AssertionError: expected 1 to be 2 // Object.is equality"),
    ],
)  # fmt: skip
def test_a_failing_test_has_the_reason_that_its_runner_prints(name: str, test: str, reason: str):
    assert read(name).reasons[test] == reason


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDED.iterdir()))
def test_every_failing_test_of_every_runner_has_a_reason(name: str):
    tests = read(name)
    assert set(tests.reasons) == set(tests.names["failed"])


def test_a_reason_is_one_line_without_colour_and_of_few_characters():
    text = (
        "== short test summary info ==\nFAILED a.py::b - \x1b[31massert\x1b[0m\t"
        + "x" * 5_000
        + "\n1 failed in 0.1s\n"
    )
    (reason,) = told(text).reasons.values()
    assert reason.startswith("assert xxx")
    assert len(reason) == 200


def test_a_unittest_message_of_many_lines_is_told_by_its_first():
    rule, line = "=" * 70, "-" * 70
    text = f"""{rule}
FAIL: test_b (t.A.test_b)
{line}
Traceback (most recent call last):
  File "/r/t.py", line 5, in test_b
    self.assertEqual([1], [2])
AssertionError: Lists differ: [1] != [2]

First differing element 0:
1
2

- [1]
+ [2]

{line}
Ran 1 test in 0.001s

FAILED (failures=1)
"""
    assert told(text).reasons == {"t.A.test_b": "AssertionError: Lists differ: [1] != [2]"}


def test_a_runner_that_prints_no_reason_is_given_none():
    """pytest leaves it out where its line would be too long."""
    text = "== short test summary info ==\nFAILED a.py::b\nFAILED a.py::c - no\n2 failed in 0.1s\n"
    assert told(text).reasons == {"a.py::c": "no"}


def test_of_testify_what_was_expected_is_the_reason():
    error = ["Error Trace:\t/r/a_test.go:9", "Error:      \tNot equal:", "  expected: 1", "  actual  : 2"]
    block = "".join(f"        \t{line}\n" for line in error)
    text = f"--- FAIL: TestX (0.00s)\n    a_test.go:9:\n{block}FAIL\nFAIL\texample.com/app\t0.002s\n"
    assert told(text).reasons == {"example.com/app.TestX": "Error: Not equal:; expected: 1; actual : 2"}


def test_what_a_unittest_prints_itself_hides_no_test():
    named = read("unittest_verbose").names
    assert {"tests.test_a.A.test_noeol", "tests.test_a.A.test_print", "tests.test_a.A.test_doc"} <= set(
        named["passed"]
    )
    assert "tests.test_a.A.test_sub" in named["failed"], "one of its subtests failed"
    assert named["skipped"] == [
        "tests.test_a.A.test_skip",
        "tests.test_a.A.test_xfail",
        "tests.test_a.B.test_b",
    ]


def test_before_python_3_11_the_method_stands_before_its_class():
    text = "test_x (tests.test_a.A) ... ok\ntests.b (unittest.loader._FailedTest) ... ERROR\n" + "-" * 70
    tests = told(f"{text}\nRan 2 tests in 0.001s\n\nFAILED (errors=1)\n")
    assert (tests.names["passed"], tests.names["failed"]) == (["tests.test_a.A.test_x"], ["tests.b"])


def test_two_runners_in_one_check_are_told_together():
    both = "".join((RECORDED / f"{name}.txt").read_text() for name in ("cargo", "mocha"))
    tests = told(both)
    assert tests.source == "mocha's output, cargo test's output"
    assert tests.figures() == {"passed": 6, "failed": 2, "skipped": 2}


@pytest.mark.parametrize(
    "text", ["", "hello\n", "12 passed\n", "ok then\n", "FAIL\n", "=" * 70, "1 passing\n"]
)
def test_what_no_runner_wrote_names_no_test(text: str):
    assert parse_output(text, "") is None


@pytest.mark.parametrize(
    "line",
    [
        "a::" * 600,
        "a::b PASSED (" * 150,
        "test x ... ok" * 150,
        "x (a.b) ... skipped '" * 100,
        "test_x (a.b) " + "skipped '" * 200,
        " (1" * 600,
        "--- PASS: " + "x (1" * 400,
        "# skip" * 300,
        "ok 1 - " + "# " * 900,
        "1 passed, " * 190,
        '{"Action":' * 190,
        '{"Action":"fail","Package":"p"' + " " * 1_000,
        "rspec ./" + "a" * 1_900,
        "rspec '" + "[1:" * 600,
        "Tests: 1, Assertions: 1" + ", Errors: 1" * 170,
        " PASS [" + "(" * 1_900,
        " Summary [" + "]" * 1_900,
        "There were 1 " + "s:" * 900,
    ],
    ids=lambda line: line[:12],
)
def test_no_line_takes_longer_than_its_length_allows(line: str):
    ends = "1 passed in 0.01s\nRan 1 test in 0.01s\nok  \tx\t0.1s\ntest result: ok. 1 passed; 0 failed; 0 ignored; x\n"
    text = "PHPUnit 9.6.7 by x\ntest_y (a.b)\n" + f"{line}\n" * 400 + ends
    began = time.process_time()
    parse_output(text, "")
    assert time.process_time() - began < 10  # a quadratic pattern takes minutes


def test_nextest_names_all_that_ran_and_counts_what_was_skipped():
    tests = read("nextest")
    assert tests.whole
    assert tests.names["passed"] == ["app tests::good", "app::it it_works"]
    assert tests.names["failed"] == ["app tests::bad"]
    assert tests.figures() == {"passed": 2, "failed": 1, "skipped": 1}


def test_ctest_names_every_test():
    names = {state: sorted(names) for state, names in read("ctest").names.items()}
    assert names == {
        "passed": ["good"],
        "failed": ["bad.one", "crash", "missing", "slow", "with"],
        "skipped": ["off", "skipped"],
    }


def test_go_tells_the_same_in_json_as_in_words():
    assert read("go_json").names == {
        "passed": ["example.com/app.TestGood", "example.com/app.TestBad/other"],
        "failed": ["example.com/app/broken", "example.com/app.TestBad/one_two"],
        "skipped": ["example.com/app.TestSkipped"],
    }


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
    ("  total:     3\n  passing:   2\n  failing:   1", (2, 1, 0)),
    ("[doctest] test cases: 3 | 2 passed | 1 failed | 0 skipped", (2, 1, 0)),
    ("[  PASSED  ] 2 test(s).\n[  FAILED  ] 1 test(s), listed below:", (2, 1, 0)),
    ("4 Tests 1 Failures 1 Ignored", (2, 1, 1)),
    (f"[ERROR] {MAVEN.format(2)}, Flakes: 1", (2, 0, 0)),
    ("===== 1 failed, 3 passed, 4 subtests passed in 0.1s =====", (3, 1, 0)),
    ("3 scenarios (1 failed, 2 passed)", (2, 1, 0)),
    ("3 tests, 1 failure, 1 skipped", (1, 1, 1)),
    ("DONE 4 tests, 1 skipped, 1 failure in 0.5s", (2, 1, 1)),
    (
        "a/b test:   2 passing (2ms)\na/b test:   1 failing\n@x/c test: Tests:       3 passed, 3 total",
        (5, 1, 0),
    ),
    ("web:test:       Tests  3 passed (3)\napi:test:       Tests  1 failed | 1 passed (2)", (4, 1, 0)),
    ("a: 3 passed in 0.1s\n[@x/b]: 2 passed in 0.1s\n[0] 1 failed in 0.1s", (5, 1, 0)),
    ("12 scenarios passed, 0 failed, 1 skipped", (12, 0, 1)),
]


@pytest.mark.parametrize(("output", "counts"), LINES)
def test_the_numbers_are_read(output: str, counts: tuple[int, int, int]):
    tests = parse(f"warming up\n{output}\ndone\n", "")
    assert tests is not None
    assert tuple((tests.figures() or {}).values()) == counts
    assert not tests.whole


@pytest.mark.parametrize("output", ["", MAVEN.format(0), "ok", f"x {MAVEN.format(1)}"])
def test_no_number_is_made_up(output: str):
    assert parse(output, "") is None


# Reports that a check left


PYTEST = """<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" tests="5">
<testcase classname="" name="test_b"><error message="collection failure">no</error></testcase>
<testcase classname="test_a" name="test_good" time="0.000" />
<testcase classname="test_a" name="test_p[b c]"><failure message="x">no &amp; no</failure></testcase>
<testcase classname="test_a" name="test_x"><skipped type="pytest.xfail" message="" /></testcase>
<testcase classname="test_a.TestK" name="test_k"><error message="setup"/></testcase>
</testsuite></testsuites>"""


def parsed(content: bytes | str) -> ParsedTests:
    return parse_junit(content if isinstance(content, bytes) else content.encode(), "JUnit report", "")


def test_a_test_is_its_class_and_its_name_and_an_error_is_a_failure():
    found = parsed(PYTEST)
    assert found.names == {
        "passed": ["test_a::test_good"],
        "failed": ["test_b", "test_a::test_p[b c]", "test_a.TestK::test_k"],
        "skipped": ["test_a::test_x"],
    }


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_encodings_that_xml_may_have_are_read(encoding: str):
    text = f'<?xml version="1.0" encoding="{encoding}"?><testsuite><testcase name="ü"/></testsuite>'
    assert parsed(text.encode(encoding)).names["passed"] == ["ü"]


@pytest.mark.parametrize(
    "path",
    [
        "junit.xml",
        "test-reports.xml",
        "test-results/a.xml",
        "reports/junit.xml",
        "target/nextest/ci/junit.xml",
    ],
)
def test_reports_are_found_where_runners_put_them_by_default(path: str, tmp_path: Path):
    report = tmp_path / path
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text("<testsuite/>")
    assert list(find(tmp_path, PLACES)) == [path]
