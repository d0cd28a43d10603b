"""Tests by name from what known runners print, by recorded output of each."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bot.workshop.host.reports import output
from bot.workshop.host.reports.found import Found

RECORDED = Path(__file__).parent / "runner_output"


def read(name: str) -> Found:
    tests = output.parse((RECORDED / f"{name}.txt").read_text(), "/repo/")
    assert tests is not None
    return tests


@pytest.mark.parametrize(
    ("name", "passed", "failed", "skipped"),
    [
        ("cargo", 4, 1, 1),
        ("go_json", 2, 2, 1),
        ("go_verbose", 3, 2, 1),
        ("jest_verbose", 3, 1, 1),
        ("mocha", 2, 1, 1),
        ("node_spec", 3, 2, 2),
        ("node_tap", 3, 2, 2),
        ("pytest_verbose", 5, 3, 2),
        ("unittest_verbose", 4, 5, 3),
        ("vitest_verbose", 2, 1, 1),
    ],
)
def test_a_runner_that_names_every_test_is_read_whole(
    name: str, passed: int, failed: int, skipped: int
) -> None:
    tests = read(name)
    assert tests.whole
    assert {state: len(names) for state, names in tests.names.items()} == tests.figures()
    assert tests.figures() == {"passed": passed, "failed": failed, "skipped": skipped}


@pytest.mark.parametrize(
    ("name", "failed", "figures"),
    [
        ("go", ["example.com/app.TestBad/one_two", "example.com/app/broken"], None),
        (
            "rspec",
            ["spec/a_spec.rb Sum is bad", "spec/a_spec.rb Sum when empty raises"],
            (1, 2, 1),
        ),
        (
            "phpunit",
            [
                "App\\Tests\\ATest::testBad",
                "App\\Tests\\ATest::testErr",
                'App\\Tests\\ATest::testMany with data set "two" (2)',
            ],
            (2, 3, 1),
        ),
        ("jest", ["a.test.js > sum > is bad"], (3, 1, 1)),
        ("vitest", ["a.test.mjs > sum > is bad"], (2, 1, 1)),
        ("pytest_quiet", ["test_a.py::test_bad", "test_a.py::test_e", "test_b.py"], (5, 3, 2)),
        ("pytest_interrupted", ["test_b.py"], (0, 1, 0)),
        (
            "unittest",
            [
                "tests.test_a.A.test_bad",
                "tests.test_a.A.test_err",
                "tests.test_a.A.test_sub",
                "tests.test_a.C.setUpClass",
                "tests.test_b",
            ],
            (4, 4, 3),
        ),
    ],
)
def test_a_runner_that_names_only_failures_is_not_whole(
    name: str, failed: list[str], figures: tuple[int, int, int] | None
) -> None:
    tests = read(name)
    assert not tests.whole
    assert sorted(tests.names["failed"]) == failed
    assert tests.names["passed"] == []
    told = tests.figures()
    assert (tuple(told.values()) if told else None) == figures


def test_the_names_are_those_that_people_know() -> None:
    assert read("cargo").names["failed"] == ["src/lib.rs::tests::bad"]
    assert "tests/it.rs::it_works" in read("cargo").names["passed"]
    assert "src/lib.rs::tests::panics" in read("cargo").names["passed"]
    assert read("go_verbose").names["skipped"] == ["example.com/app.TestSkip"]
    assert "a.test.js > sum > deep > works" in read("jest_verbose").names["passed"]
    assert read("mocha").names["skipped"] == ["Array > #indexOf() > pending one"]
    assert read("node_spec").names["failed"] == ["bad # one", "suite > inner bad"]
    assert read("node_tap").names == read("node_spec").names
    assert "test_a.py::test_p[b c]" in read("pytest_verbose").names["passed"]


def test_what_a_unittest_prints_itself_hides_no_test() -> None:
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


def test_before_python_3_11_the_method_stands_before_its_class() -> None:
    text = "test_x (tests.test_a.A) ... ok\ntests.b (unittest.loader._FailedTest) ... ERROR\n" + "-" * 70
    tests = output.parse(f"{text}\nRan 2 tests in 0.001s\n\nFAILED (errors=1)\n")
    assert tests is not None
    assert (tests.names["passed"], tests.names["failed"]) == (["tests.test_a.A.test_x"], ["tests.b"])


def test_xdist_puts_the_worker_and_the_state_first() -> None:
    text = "[gw0] [ 50%] PASSED test_a.py::test_x \n[gw1] [100%] FAILED test_a.py::test_y \n"
    tests = output.parse(f"{text}=========== 1 failed, 1 passed in 0.53s ===========\n")
    assert tests is not None
    assert tests.whole
    assert (tests.names["passed"], tests.names["failed"]) == (["test_a.py::test_x"], ["test_a.py::test_y"])


def test_two_runners_in_one_check_are_told_together() -> None:
    both = "".join((RECORDED / f"{name}.txt").read_text() for name in ("cargo", "mocha"))
    tests = output.parse(both)
    assert tests is not None
    assert tests.source == "cargo test's output, mocha's output"
    assert tests.figures() == {"passed": 6, "failed": 2, "skipped": 2}


@pytest.mark.parametrize(
    "text", ["", "hello\n", "12 passed\n", "ok then\n", "FAIL\n", "=" * 70, "1 passing\n"]
)
def test_what_no_runner_wrote_names_no_test(text: str) -> None:
    assert output.parse(text) is None


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
    ],
    ids=lambda line: line[:12],
)
def test_no_line_takes_longer_than_its_length_allows(line: str) -> None:
    ends = "1 passed in 0.01s\nRan 1 test in 0.01s\nok  \tx\t0.1s\ntest result: ok. 1 passed; 0 failed; 0 ignored; x\n"
    text = "test_y (a.b)\n" + f"{line}\n" * 400 + ends
    began = time.process_time()
    output.parse(text)
    assert time.process_time() - began < 10  # a quadratic pattern takes minutes


def test_nextest_names_all_that_ran_and_counts_what_was_skipped() -> None:
    tests = read("nextest")
    assert tests.whole
    assert tests.names["passed"] == ["app tests::good", "app::it it_works"]
    assert tests.names["failed"] == ["app tests::bad"]
    assert tests.figures() == {"passed": 2, "failed": 1, "skipped": 1}


def test_go_tells_the_same_in_json_as_in_words() -> None:
    assert read("go_json").names == {
        "passed": ["example.com/app.TestGood", "example.com/app.TestBad/other"],
        "failed": ["example.com/app/broken", "example.com/app.TestBad/one_two"],
        "skipped": ["example.com/app.TestSkipped"],
    }


@pytest.mark.parametrize(
    "line",
    [
        '{"Action":' * 190,
        '{"Action":"fail","Package":["x"],"Test":7}',
        '{"Action":"fail","Package":"p"' + " " * 1_000,
        "rspec ./" + "a" * 1_900,
        "rspec '" + "[1:" * 600,
        "Tests: 1, Assertions: 1" + ", Errors: 1" * 170,
        " PASS [" + "(" * 1_900,
        " Summary [" + "]" * 1_900,
        "There were 1 " + "s:" * 900,
    ],
)
def test_lines_without_sense_are_read_in_no_time(line: str) -> None:
    began = time.process_time()
    output.parse("\n".join(["PHPUnit 9.6.7 by x", *[line] * 3_000]))
    assert time.process_time() - began < 20
