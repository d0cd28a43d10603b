"""The round with the tests as they were, over real runs of checks (A-66, A-97)."""

from collections.abc import Mapping

import pytest

from bot.contracts.evidence import TestCounts
from bot.contracts.outcome import CheckResult, CheckState, TestsAsTheyWere
from bot.evidence.failing_checks import failing
from bot.evidence.labels import as_they_were, confirms
from bot.evidence.summary import summarize_checks
from bot.evidence.view import view_of
from tests.support.outcomes import make_outcome
from tests.support.rounds import PYTEST, Begin

APP = "def double(x):\n    return {}\n\n\ndef half(x):\n    return x // 2\n"
RIGHT, WRONG = APP.format("x * 2"), APP.format("x * 3")
DOUBLE = "import app\n\n\ndef test_double():\n    assert app.double(2) == 4\n"
HALF = "import app\n\n\ndef test_half():\n    assert app.half(4) == 2\n"
GOLDEN = """import pathlib
import app


def test_golden():
    text = (pathlib.Path(__file__).parent / "golden/double.txt").read_text()
    assert [str(app.double(x)) for x in range(3)] == text.split()
"""
BASE = {
    "app.py": RIGHT,
    "conftest.py": "import sys\nsys.path.insert(0, '.')\n",
    "tests/test_double.py": DOUBLE,
    "tests/test_half.py": HALF,
}
DOUBLED = "tests.test_double::test_double"
SLOW = pytest.mark.slow
PATCHED = "import app\napp.double = lambda x: x + x\n"


def round_of(begin: Begin, base: Mapping[str, str], change: Mapping[str, str | None]) -> CheckResult:
    [result] = begin(base, PYTEST).results(change)
    return result


def result_of(result: CheckResult) -> TestsAsTheyWere:
    assert result.as_they_were is not None
    return result.as_they_were


def assert_not_green(result: CheckResult) -> None:
    """Neither the headline, nor the mark of the table, nor the word "fixed" speaks for the change."""
    outcome = make_outcome(checks=(result,))
    summary = summarize_checks(outcome)
    assert not summary.good
    assert "with the tests as they were" in summary.headline or not summary.verified
    assert "fixed" not in summary.headline
    assert "good" not in {row.mark for row in view_of(outcome).rows}


@pytest.mark.parametrize(
    ("change", "more"),
    [
        pytest.param({"conftest.py": BASE["conftest.py"] + PATCHED}, {}, id="the subject in conftest"),
        pytest.param({"tests/conftest.py": PATCHED}, {}, id="a new conftest", marks=SLOW),
        pytest.param({"tests/test_half.py": PATCHED + HALF}, {}, id="the head of another test file", marks=SLOW),
        pytest.param(
            {
                "tests/test_half.py": "from unittest import mock\nmock.patch('app.double', lambda x: 4).start()\n"
                + HALF
            },
            {},
            id="a patch that is never stopped",
            marks=SLOW,
        ),
        pytest.param({"tests/test_a_new.py": PATCHED + HALF}, {}, id="a new test file", marks=SLOW),
        pytest.param(
            {"tests/helper.py": "def same(a, b): pass\n"},
            {
                "tests/helper.py": "def same(a, b): assert a == b\n",
                "tests/__init__.py": "",
                "tests/test_double.py": (
                    "import app\nfrom tests import helper\n\n\ndef test_double():\n    helper.same(app.double(2), 4)\n"
                ),
            },
            id="a helper that asserts nothing",
            marks=SLOW,
        ),
        pytest.param(
            {"pytest.ini": "[pytest]\naddopts = --ignore=tests/test_double.py\n"},
            {},
            id="settings",
            marks=SLOW,
        ),
        pytest.param({"tests/test_double.py": None}, {}, id="a deleted test file", marks=SLOW),
    ],
)  # fmt: skip
def test_a97_a_change_that_breaks_its_source_does_not_pass_by_what_it_does_to_tests(
    begin: Begin, change: dict[str, str | None], more: dict[str, str]
):
    result = round_of(begin, {**BASE, **more}, {"app.py": WRONG, **change})
    assert result.after.state is CheckState.PASSED, result.after.tail
    assert result_of(result).failed == (DOUBLED,)
    assert result_of(result).tests == TestCounts(1, 1, 0)
    assert as_they_were(result_of(result)) == "with the tests as they were 1 passes, 1 fails"
    assert failing([result], "") == (result,)
    assert_not_green(result)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tests/test_double.py", DOUBLE.replace("== 4", "== 6")),
        pytest.param("tests/test_double.py", DOUBLE.replace("== 4", "== 4 or True"), marks=SLOW),
        pytest.param("tests/test_double.py", DOUBLE.replace("    assert", "    return\n    assert"), marks=SLOW),
        pytest.param(
            "tests/test_double.py",
            DOUBLE.replace("test_double", "test_other").replace("== 4", "== 6"),
            marks=SLOW,
        ),
        pytest.param("tests/golden/double.txt", "0 3 6", marks=SLOW),
    ],
)  # fmt: skip
def test_a66_a_test_whose_expectation_the_change_edits_is_named(begin: Begin, path: str, text: str):
    golden = path.endswith(".txt")
    base = {
        "app.py": RIGHT, "conftest.py": BASE["conftest.py"], "tests/test_half.py": HALF,
        **({"tests/test_golden.py": GOLDEN, path: "0 2 4"} if golden else {"tests/test_double.py": DOUBLE}),
    }  # fmt: skip
    result = round_of(begin, base, {"app.py": WRONG, path: text})
    assert result.after.state is CheckState.PASSED, result.after.tail
    name = "tests.test_golden::test_golden" if golden else DOUBLED
    assert (result_of(result).expectation_changed, result_of(result).failed) == ((name,), ())
    assert failing([result], "") == (), "an expectation may change on purpose"
    assert_not_green(result)


@pytest.mark.slow
def test_a97_a_test_that_passes_because_the_change_edits_it_is_not_fixed(begin: Begin):
    result = round_of(
        begin, {**BASE, "app.py": WRONG}, {"tests/test_double.py": DOUBLE.replace("== 4", "== 6")}
    )
    assert (result.before.state, result.after.state) == (CheckState.FAILED, CheckState.PASSED)
    assert result.tests is not None
    assert result.tests.mended == ()
    assert result_of(result).expectation_changed == (DOUBLED,)
    assert_not_green(result)


def test_a97_a_test_that_passes_because_a_helper_changed_is_not_fixed(begin: Begin):
    result = round_of(begin, {**BASE, "app.py": WRONG}, {"conftest.py": BASE["conftest.py"] + PATCHED})
    assert result.tests is not None
    assert result.tests.mended == ()
    assert (result_of(result).unconfirmed, result_of(result).failed) == ((DOUBLED,), ())
    assert_not_green(result)


@pytest.mark.slow
def test_a_real_fix_is_told_beside_edited_and_new_tests(begin: Begin):
    trial = begin({**BASE, "app.py": WRONG}, PYTEST)
    change: dict[str, str | None] = {
        "app.py": RIGHT,
        "tests/test_half.py": HALF + "    assert app.half(2) == 1\n",
        "tests/test_more.py": DOUBLE.replace("(2) == 4", "(3) == 6"),
    }
    [result] = trial.results(change)
    assert result.tests is not None
    assert result.tests.mended == (DOUBLED,)
    assert confirms(result.as_they_were)
    assert trial.opened[-1] == "checks-as-they-were-1"
    assert [(one.phase, one.tests) for one in trial.records][-1] == ("as_they_were", TestCounts(2, 0, 0))
    summary = summarize_checks(make_outcome(checks=(result,)))
    assert summary.headline == "3 of 3 tests pass (1 fixed); with the tests as they were 2 pass"
    assert summary.good


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"app.py": RIGHT + "\n"}, id="no file of tests"),
        pytest.param({"pyproject.toml": "[tool.x]\n"}, id="a file of tests and others"),
    ],
)
def test_there_is_no_round_for_a_change_that_touches_no_tests(begin: Begin, change: dict[str, str]):
    trial = begin(BASE, "true")
    [result] = trial.results(change)
    assert result.as_they_were is None
    assert sorted(trial.opened) == ["checks-after-1", "checks-before"]


def test_a_change_of_tests_alone_is_compared_with_the_run_on_the_base(begin: Begin):
    trial = begin({"test_a.py": "1\n"}, "echo Ran 1 test in 1s; test -e test_a.py")
    [result] = trial.results({"test_a.py": "2\n"})
    assert result_of(result).run.state is CheckState.PASSED
    assert sorted(trial.opened) == ["checks-after-1", "checks-before"]


def test_a_check_that_names_no_tests_is_compared_by_its_exit_code(begin: Begin):
    trial = begin({"tests/run": "exec grep -q 1 a\n", "a": "1\n"}, "sh tests/run")
    [result] = trial.results({"a": "2\n", "tests/run": "exit 0\n"})
    assert (result.before.state, result.after.state) == (CheckState.PASSED, CheckState.PASSED)
    assert as_they_were(result_of(result)) == "with the tests as they were the check fails"
    assert_not_green(result)


def test_the_tests_inside_a_source_file_are_not_comparable(begin: Begin):
    source = (
        "fn f() -> u8 { 1 }\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn f() { assert_eq!(1, 1) }\n}\n"
    )
    counts = "1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out"
    printed = f"echo; echo running 1 test; echo test tests::f ... ok; echo; echo 'test result: ok. {counts}'"
    cargo = f"cat src/lib.rs > built; {printed}"
    trial = begin({"src/lib.rs": source}, cargo)
    [result] = trial.results({"src/lib.rs": source.replace("(1, 1)", "(2, 2)")})
    assert result_of(result).inside == ("src/lib.rs",)
    assert sorted(trial.opened) == ["checks-after-1", "checks-before"]
    assert_not_green(result)
    [result] = trial.results({"src/lib.rs": source.replace("{ 1 }", "{ 2 }")})
    assert result.as_they_were is None, "only the source changed"
