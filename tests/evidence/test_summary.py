"""The headline on a run's checks, and the sentence for a change that none of them says anything about."""

from typing import Any

import pytest

from bot.contracts.evidence import TestChanges, TestCounts
from bot.contracts.outcome import CheckResult, CheckRun, CheckState, Outcome, TestsAsTheyWere
from bot.contracts.request import Tier
from bot.evidence.failing_checks import failing_checks_message
from bot.evidence.summary import summarize_checks
from tests.support.outcomes import OUTCOME

PASSED, FAILED = CheckRun(CheckState.PASSED, 0, 1.0), CheckRun(CheckState.FAILED, 1, 1.0)


NOWHERE = CheckRun(CheckState.NOT_RUNNABLE)
LINT = CheckResult("fmt", "cargo fmt --check", PASSED, PASSED)


def _check(before: CheckRun, after: CheckRun, tests: TestChanges | None = None, **more: Any) -> CheckResult:
    return CheckResult("tests", "python3 -m pytest -q", before, after, tests=tests, **more)


def _counts(passed: int, failed: int = 0, **kinds: tuple[str, ...]) -> TestChanges:
    return TestChanges(TestCounts(passed, failed), TestCounts(passed, failed), **kinds)


def _of(*checks: CheckResult, tier: Tier = Tier.MAINTAINER) -> Outcome:
    request = OUTCOME.request._replace(actor=OUTCOME.request.actor._replace(tier=tier))
    return OUTCOME._replace(checks=checks, request=request)


@pytest.mark.parametrize(
    ("checks", "headline", "failing"),
    [
        ([_check(FAILED, PASSED, _counts(20, mended=("t::a",)))], "20 of 20 tests pass (1 fixed)", False),
        ([_check(PASSED, FAILED, _counts(18, 2, broken=("t::a", "t::b")))],
         "2 tests fail that passed before, 18 of 20 tests pass", True),
        ([_check(PASSED, FAILED, _counts(20, 1, new_failing=("t::new",)))], "1 new test fails, 20 of 21 tests pass",
         True),
        ([_check(PASSED, PASSED, _counts(3)), _check(PASSED, PASSED), _check(PASSED, PASSED)],
         "3 of 3 tests pass, 2 of 2 other checks pass", False),
        ([_check(PASSED, FAILED)], "1 check fails that passed before", True),
        ([_check(PASSED, PASSED, _counts(212), related="pytest a", scope_note="over 5 minutes")],
         "related tests: 212 of 212 tests pass; whole suite not run: over 5 minutes", False),
        ([_check(PASSED, FAILED, _counts(9, 1, broken=("t::a",)), related="pytest a", scope_note="over 5 minutes")],
         "related tests: 1 test fails that passed before, 9 of 10 tests pass; whole suite not run: over 5 minutes",
         True),
    ],
)  # fmt: skip
def test_the_headline_says_what_the_checks_came_to(checks: list[CheckResult], headline: str, failing: bool):
    summary = summarize_checks(_of(*checks))

    assert (summary.headline, summary.failing, summary.verified) == (headline, failing, True)


def test_a_formatter_that_passes_does_not_speak_for_tests_without_a_result():
    late = CheckRun(CheckState.TIMED_OUT, None, 150, "", "stopped after 150 s")
    summary = summarize_checks(_of(LINT, CheckResult("tests", "cargo test", late, late)))

    assert summary.headline == "not verified: the tests did not end in time, 1 of 1 check passes"
    assert not summary.verified
    assert summary.remedy == "budget: {check_minutes: 15}"


def test_a_second_suite_that_fails_as_before_leaves_the_tests_of_the_first():
    """As of fastify/fastify, whose integration test needs a server that nobody started."""
    first = CheckResult("unit", "pytest", FAILED, FAILED, tests=_counts(2300, 2))
    summary = summarize_checks(_of(first, CheckResult("more", "make integration-test", FAILED, FAILED)))

    assert (summary.headline, summary.good) == ("2,300 of 2,302 tests pass, 1 check without a result", True)


@pytest.mark.parametrize(
    "command",
    ["mypy src tests", "ruff check test", "npm run lint:test", "make docs", "cargo test --no-run", "pytest || true",
     "go test -run=^$ ./...", "pytest --collect-only", "mvn -DskipTests package", "npx jest --passWithNoTests"],
)  # fmt: skip
def test_nothing_is_verified_without_a_counted_test(command: str):
    summary = summarize_checks(_of(LINT, CheckResult("x", command, PASSED, PASSED)))
    assert summary.headline == "not verified: no test was run, 2 of 2 checks pass"
    assert not summary.verified


def test_more_failing_tests_than_before_are_red_though_none_is_named():
    worse = _check(FAILED, FAILED, TestChanges(before=TestCounts(9, 1), after=TestCounts(8, 2)))
    summary = summarize_checks(_of(worse))
    assert (summary.headline, summary.failing) == ("1 test more fails than before, 8 of 10 tests pass", True)
    same = _check(FAILED, FAILED, TestChanges(before=TestCounts(9, 1), after=TestCounts(9, 1)))
    assert not summarize_checks(_of(same)).failing


def test_failing_tests_that_did_not_end_before_the_change_are_not_green():
    late = CheckRun(CheckState.TIMED_OUT, None, 150, "", "stopped after 150 s")
    fails = CheckResult("t", "make test", late, FAILED, tests=TestChanges(after=TestCounts(94, 6)))
    summary = summarize_checks(_of(_check(PASSED, PASSED, _counts(9)), fails))
    assert summary.headline == "not verified: a check fails that did not end before the change"
    assert (summary.good, summary.failing) == (False, False)
    assert "stopped after 150 s" in summary.unverified


def test_tests_of_another_language_verify_nothing():
    passing = _check(PASSED, PASSED, _counts(9))._replace(command="go test ./...")
    summary = summarize_checks(_of(passing, _check(NOWHERE, NOWHERE)))
    assert summary.headline == "not verified: no test was run, 9 of 9 tests pass"
    assert summarize_checks(_of(passing._replace(command="make test"))).headline == "9 of 9 tests pass"


@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'pytest -q'",
        "bash -lc 'cd app && python3 -m pytest'",
        "bundle exec rspec",
        "/bin/sh -c 'npx jest'",
    ],
)
def test_a_command_within_another_is_known_as_one_of_tests(command: str):
    other = CheckResult("x", command, NOWHERE, NOWHERE)
    assert summarize_checks(_of(LINT, other)).headline.startswith("not verified")


def test_a_check_that_fails_is_told_also_if_the_tests_gave_no_result():
    broken = LINT._replace(after=FAILED)
    summary = summarize_checks(_of(broken, _check(NOWHERE, NOWHERE)))
    assert (summary.failing, summary.headline) == (
        True, "1 check fails that passed before, 1 check without a result",
    )  # fmt: skip


def test_of_a_run_that_changed_nothing_there_is_nothing_to_say():
    summary = summarize_checks(OUTCOME._replace(files=()))

    assert (summary.headline, summary.verified) == ("", True)


def test_without_a_check_the_line_to_add_is_that_of_what_changed():
    summary = summarize_checks(_of())

    assert summary.headline == "not verified: no test was run"
    assert summary.unverified.startswith("No test was run: no check is configured")
    assert summary.help == (
        'Add the command that runs your tests to .github/agent.yml: checks: ["python3 -m pytest"]'
    )


INSTALL = "python3 -m venv .venv && .venv/bin/python -m pip install -e . pytest"


@pytest.mark.parametrize(
    ("tier", "remedy"),
    [(Tier.MAINTAINER, f'setup: [{{command: "{INSTALL}", egress: [python]}}]'), (Tier.LOCAL, INSTALL)],
)
def test_a_missing_tool_is_named_with_what_installs_it(tier: Tier, remedy: str):
    run = CheckRun(
        CheckState.NOT_RUNNABLE, 1, 0.1, "", "a tool or dependency is missing: No module named $(x)"
    )

    summary = summarize_checks(_of(_check(run, run), tier=tier))

    assert "No test was run: `python3 -m pytest -q`: a tool or dependency is missing" in summary.unverified
    assert summary.remedy == remedy


@pytest.mark.parametrize(
    ("after", "tests", "headline", "remedy"),
    [
        (CheckRun(CheckState.TIMED_OUT, None, 300, "", "stopped after 300 s"), None,
         "not verified: the tests did not end in time", "budget: {check_minutes: 15}"),
        (CheckRun(CheckState.NOT_RUN, note="skipped by you"), None, "not verified: no test was run", ""),
        (FAILED, None, "not verified: the check fails, as before", ""),
        (PASSED, TestChanges(after=TestCounts(0, 0, 7)), "not verified: no test was run", ""),
        (CheckRun(CheckState.NOT_RUNNABLE, 5, note="it found no tests"), None, "not verified: no test was run",
         'checks: ["python3 -m pytest"]'),
    ],
)  # fmt: skip
def test_what_says_nothing_of_the_change_is_never_called_verified(
    after: CheckRun, tests: TestChanges | None, headline: str, remedy: str
):
    summary = summarize_checks(_of(_check(CheckRun(CheckState.FAILED, 1), after, tests)))

    assert (summary.headline, summary.verified, summary.remedy) == (headline, False, remedy)


def test_the_reason_is_one_short_line_without_control_characters():
    run = CheckRun(CheckState.NOT_RUNNABLE, 1, note=f"missing\n\x1b]0;x\x07{'y' * 5000}")

    reason = summarize_checks(_of(_check(run, run))).unverified

    assert len(reason) < 400 and reason.isprintable()


WAS = TestsAsTheyWere(FAILED, TestCounts(18, 2))


@pytest.mark.parametrize(
    ("result", "clause", "failing"),
    [
        (WAS._replace(failed=("t::a", "t::b")), "with the tests as they were 18 pass, 2 fail", True),
        (WAS._replace(expectation_changed=("t::a",), counts=(("expectation_changed", 5),)),
         "with the tests as they were 18 pass, expectation changed in 5", False),
        (WAS._replace(unconfirmed=("t::a",)), "with the tests as they were 18 pass, 1 fails as before", False),
        (WAS._replace(not_comparable=("t::a",)), "with the tests as they were 18 pass, 1 not comparable", False,),
        (WAS._replace(inside=("src/lib.rs",)),
         "with the tests as they were 18 pass, not comparable in 1 source file with tests inside", False),
        (TestsAsTheyWere(CheckRun(CheckState.NOT_RUN), note="no time left"),
         "with the tests as they were: not run, no time left", False),
    ],
)  # fmt: skip
def test_the_headline_names_what_fails_with_the_tests_as_they_were(
    result: TestsAsTheyWere, clause: str, failing: bool
):
    check = _check(PASSED, PASSED, _counts(20), as_they_were=result)
    summary = summarize_checks(_of(check))
    assert summary.headline == f"20 of 20 tests pass; {clause}"
    assert (summary.failing, summary.good) == (failing, False)
    assert all(line in failing_checks_message([check]) for line in result.failed)
