"""The round with the tests as they were, over real runs of checks (A-66, A-97). All rows are folders of one repository,
each with a check of its own, so that the rounds over them are run once a runner of tests."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from bot.contracts.evidence import TestCounts
from bot.contracts.outcome import CheckResult, CheckState, TestsAsTheyWere
from bot.evidence.check import Check
from bot.evidence.failing_checks import failing
from bot.evidence.labels import as_they_were, confirms
from bot.evidence.summary import summarize_checks
from bot.evidence.view import view_of
from tests.support.outcomes import make_outcome
from tests.support.rounds import PYTEST, Begin, Trial, trial

pytestmark = pytest.mark.slow

APP = "def double(x):\n    return {}\n\n\ndef half(x):\n    return x // 2\n"
RIGHT, WRONG = APP.format("x * 2"), APP.format("x * 3")
CLASS = "import unittest\nimport app\n\n\nclass T(unittest.TestCase):\n    def {}(self):\n        assert {}\n"
DOUBLE = CLASS.format("test_double", "app.double(2) == 4")
HALF = CLASS.format("test_half", "app.half(4) == 2")
PATCHED = "import app\napp.double = lambda x: x + x\n"
CONFTEST = "import sys\nsys.path.insert(0, '.')\n"


class Row(NamedTuple):
    """`changed` are files of the row's folder. `double` is its test of `app.double`."""

    changed: Mapping[str, str | None]
    more: Mapping[str, str] = {}
    double: str = DOUBLE
    app: str = RIGHT


PASSES_WRONGLY = {
    "the_head_of_another_test_file": Row({"app.py": WRONG, "tests/test_half.py": PATCHED + HALF}),
    "a_patch_that_is_never_stopped": Row(
        {
            "app.py": WRONG,
            "tests/test_half.py": f"from unittest import mock\nmock.patch('app.double', lambda x: 4).start()\n{HALF}",
        }
    ),
    "a_new_test_file": Row({"app.py": WRONG, "tests/test_a_new.py": PATCHED + HALF}),
    "a_helper_that_asserts_nothing": Row(
        {"app.py": WRONG, "tests/helper.py": "def same(a, b): pass\n"},
        {"tests/helper.py": "def same(a, b): assert a == b\n"},
        "import helper\n" + DOUBLE.replace("assert app.double(2) == 4", "helper.same(app.double(2), 4)"),
    ),
    # Longer than the new files, so that it was not renamed to one of them.
    "a_deleted_test_file": Row(
        {"app.py": WRONG, "tests/test_a_deleted_test_file.py": None}, double=DOUBLE + "# Once more.\n" * 30
    ),
}
EXPECTS_ANOTHER = {
    "another_value": DOUBLE.replace("== 4", "== 6"),
    "anything": DOUBLE.replace("== 4", "== 4 or True"),
    "an_early_return": DOUBLE.replace("assert", "return\n        assert"),
    "another_name": DOUBLE.replace("test_double", "test_other").replace("== 4", "== 6"),
}
GOLDEN = Row(
    {"app.py": WRONG, "tests/golden/double.txt": "0 3 6"},
    {"tests/golden/double.txt": "0 2 4"},
    "import pathlib\nTEXT = pathlib.Path(__file__).parent / 'golden/double.txt'\n"
    + DOUBLE.replace(
        "app.double(2) == 4", "[str(app.double(x)) for x in range(3)] == TEXT.read_text().split()"
    ),
)
MENDED = {
    "by_an_edited_test": Row({"tests/test_by_an_edited_test.py": DOUBLE.replace("== 4", "== 6")}, app=WRONG),
    "by_another_test_file": Row({"tests/test_half.py": PATCHED + HALF}, app=WRONG),
    "by_a_fix": Row(
        {
            "app.py": RIGHT,
            "tests/test_half.py": f"{HALF}        assert app.half(2) == 1\n",
            "tests/test_more.py": DOUBLE.replace("(2) == 4", "(3) == 6"),
        },
        app=WRONG,
    ),
}
EDITED = {
    name: Row({"app.py": WRONG, f"tests/test_{name}.py": text}) for name, text in EXPECTS_ANOTHER.items()
}
BY_UNITTEST = {**PASSES_WRONGLY, **EDITED, **MENDED, "a_file_beside_it": GOLDEN}
PASSES_BY_SETTINGS = {
    "conftest": Row({"app.py": WRONG, "conftest.py": CONFTEST + PATCHED}),
    "a_new_conftest": Row({"app.py": WRONG, "tests/conftest.py": PATCHED}),
    "settings": Row({"app.py": WRONG, "pytest.ini": "[pytest]\naddopts = --ignore=tests/test_settings.py\n"}),
}
BY_PYTEST = {**PASSES_BY_SETTINGS, "by_conftest": Row({"conftest.py": CONFTEST + PATCHED}, app=WRONG)}


@contextmanager
def rounds_of(rows: Mapping[str, Row], runner: str, factory: pytest.TempPathFactory) -> Iterator[Trial]:
    base: dict[str, str] = {}
    changed: dict[str, str | None] = {}
    for name, row in rows.items():
        files = {
            "app.py": row.app,
            "conftest.py": CONFTEST,
            f"tests/test_{name}.py": row.double,
            "tests/test_half.py": HALF,
            **row.more,
        }
        base |= {f"{name}/{path}": text for path, text in files.items()}
        changed |= {f"{name}/{path}": text for path, text in row.changed.items()}
    checks = (Check(name, f"cd {name} && {runner}", 60) for name in rows)
    begun = trial(factory.mktemp("rounds"), base, *checks)
    begun.results(changed)
    yield begun
    begun.rounds.stop()


UNITTEST = "python3 -m unittest discover -v -s tests"


@pytest.fixture(scope="module")
def by_unittest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    with rounds_of(BY_UNITTEST, UNITTEST, tmp_path_factory) as begun:
        yield begun


@pytest.fixture(scope="module")
def by_pytest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    with rounds_of(BY_PYTEST, PYTEST, tmp_path_factory) as begun:
        yield begun


def row_of(trial: Trial, name: str) -> CheckResult:
    [result] = [one for one in trial.rounds.results(trial.tree) if one.name == name]
    assert result.after.state is CheckState.PASSED, result.after.tail
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


def assert_fails_as_it_was(result: CheckResult, test: str) -> None:
    assert result_of(result).failed == (test,)
    assert result_of(result).tests == TestCounts(1, 1, 0)
    assert as_they_were(result_of(result)) == "with the tests as they were 1 passes, 1 fails"
    assert failing([result], "") == (result,)
    assert_not_green(result)


@pytest.mark.parametrize("name", PASSES_WRONGLY)
def test_a97_a_change_that_breaks_its_source_does_not_pass_by_what_it_does_to_tests(
    by_unittest: Trial, name: str
):
    assert_fails_as_it_was(row_of(by_unittest, name), f"test_{name}.T.test_double")


@pytest.mark.parametrize("name", PASSES_BY_SETTINGS)
def test_a97_nor_by_what_it_does_to_the_settings_of_their_runner(by_pytest: Trial, name: str):
    assert_fails_as_it_was(row_of(by_pytest, name), f"tests.test_{name}.T::test_double")


@pytest.mark.parametrize("name", [*EXPECTS_ANOTHER, "a_file_beside_it"])
def test_a66_a_test_whose_expectation_the_change_edits_is_named(by_unittest: Trial, name: str):
    result = row_of(by_unittest, name)
    doubled = f"test_{name}.T.test_double"
    assert (result_of(result).expectation_changed, result_of(result).failed) == ((doubled,), ())
    assert failing([result], "") == (), "an expectation may change on purpose"
    assert_not_green(result)


def test_a97_a_test_that_passes_because_the_change_edits_it_is_not_fixed(by_unittest: Trial):
    result = row_of(by_unittest, "by_an_edited_test")
    assert result.before.state is CheckState.FAILED
    assert result.tests is not None
    assert result.tests.mended == ()
    assert result_of(result).expectation_changed == ("test_by_an_edited_test.T.test_double",)
    assert_not_green(result)


def assert_unconfirmed(result: CheckResult, test: str) -> None:
    assert result.tests is not None
    assert result.tests.mended == ()
    assert (result_of(result).unconfirmed, result_of(result).failed) == ((test,), ())
    assert_not_green(result)


def test_a97_a_test_that_passes_because_another_file_of_tests_changed_is_not_fixed(by_unittest: Trial):
    assert_unconfirmed(row_of(by_unittest, "by_another_test_file"), "test_by_another_test_file.T.test_double")


def test_a97_a_test_that_passes_because_a_helper_changed_is_not_fixed(by_pytest: Trial):
    assert_unconfirmed(row_of(by_pytest, "by_conftest"), "tests.test_by_conftest.T::test_double")


def test_a_real_fix_is_told_beside_edited_and_new_tests(by_unittest: Trial):
    result = row_of(by_unittest, "by_a_fix")
    assert result.tests is not None
    assert result.tests.mended == ("test_by_a_fix.T.test_double",)
    assert confirms(result.as_they_were)
    assert "checks-as-they-were-1" in by_unittest.opened
    records = [(one.phase, one.tests) for one in by_unittest.records if one.name == "by_a_fix"]
    assert records[-1] == ("as_they_were", TestCounts(2, 0, 0))
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
    trial = begin({"app.py": RIGHT, "tests/test_half.py": HALF}, "true")
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
