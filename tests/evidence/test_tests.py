"""Tests by name, before against after."""

import pytest

from bot.contracts.evidence import TestChanges, TestCounts
from bot.contracts.outcome import CheckRun, CheckState
from bot.evidence.check import Check
from bot.evidence.failing_checks import failing_checks_message, is_failing
from bot.evidence.reruns import (
    ONE_RUN,
    PASSED_AGAIN,
    CheckExecution,
    CheckPair,
    failed_before,
    needs_rerun,
    newly_failed_after,
)
from bot.evidence.tests import (
    MOST_NAMES,
    SuiteResult,
    compare_tests,
    contains_test,
    count_names,
    newly_failed,
)
from bot.evidence.view import fails as fails_when_published

STATES = {"p": "passed", "f": "failed", "s": "skipped"}
CHECK = Check("tests", "pytest", detected=True)


def reading(
    states: dict[str, str], source: str = "report", *, whole: bool = True, note: str = ""
) -> SuiteResult:
    """Each test with a letter for each time that it ran."""
    names: dict[str, list[str]] = {"passed": [], "failed": [], "skipped": []}
    for name, letters in states.items():
        for letter in letters:
            names[STATES[letter]].append(name)
    counts = TestCounts(*(len(names[state]) for state in names)) if whole else None
    return SuiteResult(source, count_names(names), counts, whole, note=note)


def compared(before: SuiteResult, after: SuiteResult | None, flaky: tuple[str, ...] = ()) -> TestChanges:
    changes_seen = compare_tests(before, after, flaky)
    assert changes_seen is not None
    return changes_seen


def changes(before: dict[str, str], after: dict[str, str], **more: bool) -> TestChanges:
    return compared(reading(before, **more), reading(after, **more))


def moved(changes_seen: TestChanges) -> dict[str, tuple[str, ...]]:
    fields = ("broken", "mended", "appeared", "new_failing", "vanished", "flaky")
    return {field: getattr(changes_seen, field) for field in fields if getattr(changes_seen, field)}


@pytest.mark.parametrize(
    ("before", "after", "became"),
    [
        ("p", "f", "broken"), ("f", "p", "mended"), ("", "p", "appeared"), ("", "f", "new_failing"),
        ("s", "p", "appeared"), ("s", "f", "new_failing"), ("p", "", "vanished"), ("f", "", "vanished"),
        ("p", "s", "vanished"), ("f", "s", "vanished"), ("p", "p", ""), ("f", "f", ""), ("s", "s", ""),
        ("s", "", ""), ("", "s", ""),
    ],
)  # fmt: skip
def test_what_becomes_of_a_test(before: str, after: str, became: str):
    changes_seen = changes({"a": before} if before else {}, {"a": after} if after else {})
    assert moved(changes_seen) == ({became: ("a",)} if became else {})
    assert dict(changes_seen.counts) == ({became: 1} if became else {})


@pytest.mark.parametrize(
    ("before", "after", "became"),
    [
        ("pp", "pf", {"broken": 1}), ("pf", "fp", {}), ("ppp", "p", {"vanished": 2}),
        ("f", "pp", {"mended": 1, "appeared": 1}), ("pf", "ff", {"broken": 1}),
        ("ppf", "fff", {"broken": 2}), ("ff", "p", {"mended": 1, "vanished": 1}),
    ],
)  # fmt: skip
def test_tests_of_one_name_are_counted_one_by_one(before: str, after: str, became: dict[str, int]):
    assert dict(changes({"a": before}, {"a": after}).counts) == became


def test_one_broken_import_mends_nothing():
    before = {f"test_b::test_{n}": "f" for n in range(3)} | {"test_a::x": "p"}
    changes_seen = changes(before, {"test_b": "f"})
    assert moved(changes_seen) == {
        "new_failing": ("test_b",),
        "vanished": ("test_a::x", "test_b::test_0", "test_b::test_1", "test_b::test_2"),
    }
    assert dict(changes_seen.counts) == {"new_failing": 1, "vanished": 4}
    assert changes_seen.note == "", "the numbers are told by their kind"


def test_no_run_without_tests_is_one_that_mended_them():
    for after in (None, SuiteResult("", whole=False, note="junit.xml is a link"), reading({})):
        changes_seen = compared(reading({"a": "f", "b": "p"}), after)
        assert (changes_seen.mended, changes_seen.broken) == ((), ())
        assert changes_seen.note or changes_seen.vanished
    assert compare_tests(None, None) is None


MANY = SuiteResult("report", {}, TestCounts(900_000, 1, 0), named=False)


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        (reading({"a": "p"}, "report"), reading({"b": "f"}, "output"),
         "the names come from report before and from output after, so none are compared"),
        (MANY, MANY, "the tests are too many to be compared by name"),
        (reading({"a": "p"}), reading({"a": "p"}, note="junit.xml is a link"), "after: junit.xml is a link"),
    ],
    ids=["two sources", "too many to name", "a note of one"],
)  # fmt: skip
def test_what_is_not_compared_is_counted_and_noted(before: SuiteResult, after: SuiteResult, note: str):
    changes_seen = compared(before, after)
    assert (moved(changes_seen), changes_seen.note) == ({}, note)
    assert (changes_seen.before, changes_seen.after) == (before.counts, after.counts)


def test_what_is_shown_is_capped_and_what_is_counted_is_not():
    changes_seen = changes({f"t{n:04}": "p" for n in range(500)}, {f"t{n:04}": "f" for n in range(500)})
    assert (len(changes_seen.broken), dict(changes_seen.counts)) == (MOST_NAMES, {"broken": 500})


def test_a_runner_that_names_only_failures_mends_nothing():
    changes_seen = changes({"old": "f", "gone": "f"}, {"old": "f", "new": "f"}, whole=False)
    assert moved(changes_seen) == {"broken": ("new",)}
    assert (
        "names only tests that fail; of those that failed before it does not name gone any more"
        in changes_seen.note
    )
    quiet = changes({}, {"new": "f"}, whole=False)
    assert quiet.note == "report names only tests that fail, so one that is new may be among the broken ones"


def test_of_names_before_and_failures_after_a_new_one_is_told_from_a_broken_one():
    changes_seen = compared(reading({"a": "p", "b": "s"}), reading({"a": "f", "c": "f"}, whole=False))
    assert moved(changes_seen) == {"broken": ("a",), "new_failing": ("c",)}


def test_a_flaky_test_is_neither_broken_nor_mended():
    changes_seen = compared(
        reading({"a": "p", "b": "f", "c": "p"}), reading({"a": "f", "b": "p", "c": "f"}), ("a", "b")
    )
    assert moved(changes_seen) == {"broken": ("c",), "flaky": ("a", "b")}
    assert changes_seen.newly_flaky == ("a",)
    assert dict(changes_seen.counts)["newly_flaky"] == 1


# Run again.

S = CheckState


def ran(
    state: CheckState, states: dict[str, str] | None = None, again: dict[str, str] | None = None
) -> CheckExecution:
    run = CheckRun(state, 0 if state is S.PASSED else 1, 2.0, "tail")
    return CheckExecution(
        run, None if states is None else reading(states), None if again is None else reading(again)
    )


GREEN = ran(S.PASSED, {"a": "p", "b": "p"})
RED = ran(S.FAILED, {"a": "f", "b": "p"})


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        (GREEN, RED, True),
        (ran(S.PASSED), ran(S.FAILED), True),
        (GREEN, ran(S.FAILED, {"a": "f", "b": "p"}, {"a": "f"}), False),
        (GREEN, ran(S.FAILED, {"a": "f", "b": "p"}, {"a": "p"}), True),
        (GREEN, ran(S.FAILED, {"a": "f", "b": "f"}, {"a": "f", "b": "p"}), True),
        (GREEN, ran(S.FAILED, {"a": "f"}, {}), True),
        (GREEN, ran(S.FAILED, {"a": "p", "b": "p"}, {}), True),
        (GREEN, GREEN, False),
        (RED, RED, False),
        (RED, ran(S.FAILED, {"a": "p", "b": "f"}), True),
        (ran(S.FAILED), ran(S.FAILED), False),
        (GREEN, ran(S.TIMED_OUT), False),
        (GREEN, ran(S.NOT_RUNNABLE), False),
        (GREEN, ran(S.NOT_RUN), False),
        (ran(S.NO_SOCKETS, {"a": "f", "b": "p"}), ran(S.NO_SOCKETS, {"a": "f", "b": "f"}), True),
        (ran(S.NOT_RUNNABLE, {"a": "f", "b": "p"}), ran(S.NOT_RUNNABLE, {"a": "f", "b": "p"}), False),
    ],
)
def test_all_of_a_check_is_run_again_where_it_got_worse_and_not_for_certain(
    before: CheckExecution, after: CheckExecution, wanted: bool
):
    assert needs_rerun(before, after) is wanted


BOTH = ran(S.FAILED, {"a": "f", "b": "f"})


@pytest.mark.parametrize(
    ("before", "after", "second", "moves", "flaky", "fails"),
    [
        (GREEN, RED, GREEN, {"flaky": ("a",)}, True, False),
        (GREEN, RED, RED, {"broken": ("a",)}, False, True),
        # Of a check that fails twice, a test that passed once is flaky, also if it failed before.
        (GREEN, BOTH, ran(S.FAILED, {"a": "p", "b": "f"}), {"broken": ("b",), "flaky": ("a",)}, False, True),
        (RED, BOTH, ran(S.FAILED, {"a": "p", "b": "f"}), {"broken": ("b",), "flaky": ("a",)}, False, True),
        # One that fails and passes on the base is not mended by the change.
        (
            ran(S.FAILED, {"a": "f", "b": "f"}, {"a": "p", "b": "f"}), GREEN, None,
            {"mended": ("b",), "flaky": ("a",)}, False, False,
        ),
        (ran(S.PASSED), ran(S.FAILED), ran(S.PASSED), {}, True, False),
        # A second run with fewer tests, as after a build with other options, says nothing of those that failed.
        (GREEN, RED, ran(S.PASSED, {"b": "p"}), {"broken": ("a",)}, False, True),
        (GREEN, RED, ran(S.PASSED), {"broken": ("a",)}, False, True),
    ],
)  # fmt: skip
def test_what_a_second_run_shows(
    before: CheckExecution,
    after: CheckExecution,
    second: CheckExecution | None,
    moves: dict[str, tuple[str, ...]],
    flaky: bool,
    fails: bool,
):
    result = CheckPair(CHECK, before, after, second).result()
    assert (moved(result.tests) if result.tests else {}) == moves
    assert (result.flaky, is_failing(result, "")) == (flaky, fails)


@pytest.mark.parametrize(
    ("before", "note"),
    [
        (ran(S.FAILED), ONE_RUN),
        (RED, ONE_RUN),
        (ran(S.FAILED, {"a": "f", "b": "p"}, {"a": "f"}), ""),
        (GREEN, ""),
    ],
)
def test_a_fix_of_what_ran_once_on_the_base_is_noted(before: CheckExecution, note: str):
    assert CheckPair(CHECK, before, GREEN).result().before.note == note


def test_a_check_that_passes_the_second_time_says_so_and_is_not_published_as_failing():
    result = CheckPair(CHECK, GREEN, RED, GREEN).result()
    assert (result.after.state, result.after.note) == (S.FAILED, PASSED_AGAIN)
    assert not is_failing(result, "make the tests pass")
    assert not fails_when_published(result)
    assert fails_when_published(result._replace(flaky=False))


def test_a_test_that_the_change_broke_speaks_against_it_though_the_check_failed_before():
    result = CheckPair(CHECK, RED, ran(S.FAILED, {"a": "f", "b": "f"}, {"a": "f", "b": "f"})).result()
    assert is_failing(result, "")
    words = failing_checks_message([result])
    assert "`pytest` failed before your change with other tests and now ends with exit code 1." in words
    assert "in the lines with |:\n| b\n" in words
    assert not is_failing(result._replace(after=CheckRun(S.NOT_RUN)), "")


@pytest.mark.parametrize("state", [S.NO_SOCKETS, S.NOT_RUNNABLE])
def test_a_test_that_the_change_broke_speaks_against_it_though_the_check_as_such_says_nothing(
    state: CheckState,
):
    before, after = ran(state, {"a": "f", "b": "p"}), ran(state, {"a": "f", "b": "f"})
    assert is_failing(CheckPair(CHECK, before, after, after).result(), "")
    assert not is_failing(CheckPair(CHECK, before, before).result(), "")


def test_only_what_failed_is_suspected():
    assert failed_before(RED) == {"a"}
    assert failed_before(RED._replace(run=CheckRun(S.TIMED_OUT))) == frozenset()
    assert newly_failed_after(RED, ran(S.FAILED, {"a": "f", "b": "f"})) == {"b"}
    assert newly_failed_after(ran(S.PASSED), RED) == {"a"}
    assert newly_failed_after(ran(S.NOT_RUN), RED) == frozenset()
    assert newly_failed_after(GREEN, GREEN) == frozenset()
    assert newly_failed(reading({"a": "f"}, "report"), reading({"a": "f"}, "output")) == {"a"}


@pytest.mark.parametrize(
    ("name", "path", "contained"),
    [
        ("tests/test_a.py::test_x", "tests/test_a.py", True),
        ("tests.test_a.T.test_x", "tests/test_a.py", True),
        ("test_x (tests.test_a.T)", "tests/test_a.py", True),
        ("test_a.T.test_x", "tests/test_a.py", True),
        ("example.com/app/pkg.TestA", "pkg/a_test.go", True),
        ("github.com/o/app.TestA", "a_test.go", True),
        ("test/a.test.ts > adds", "test/a.test.ts", True),
        ("tests/test_b.py::test_y", "tests/test_a.py", False),
        ("tests.test_ab.T.test_x", "tests/test_a.py", False),
        ("example.com/app/pkg.TestA", "other/a_test.go", False),
        ("adds", "test/a.test.ts", False),
    ],
)
def test_the_file_of_a_test_is_known_by_its_name(name: str, path: str, contained: bool):
    assert contains_test(path, name) is contained


def test_only_confirmed_tests_are_mended():
    before, after = reading({"a": "f", "b": "f"}), reading({"a": "p", "b": "p"})
    [every, one, none] = [
        compare_tests(before, after, confirmed=names) for names in (None, {"a"}, set[str]())
    ]
    assert [tests and tests.mended for tests in (every, one, none)] == [("a", "b"), ("a",), ()]
