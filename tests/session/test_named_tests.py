"""Tests by name over real rounds: what broke and what was mended, what is flaky, which lines were run."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.contracts.evidence import TestChanges, TestCounts
from bot.contracts.outcome import CheckResult, CheckState
from bot.evidence.check import Check
from bot.evidence.failing_checks import failing
from bot.evidence.reruns import NO_TIME, PASSED_AGAIN
from bot.session.checks.runner import EXIT_CODE_LOST
from tests.support.rounds import PYTEST, Begin, Trial, trial
from tests.support.workspaces import running

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("reason", ["there is no change to check", "the gate did not accept the change"])
def test_without_a_change_the_round_before_it_ends_at_once(begin: Begin, reason: str):
    begun = begin({"a.txt": "1\n"}, Check("t", "sleep 30", 20), "true")
    begun.rounds.start()
    results = begun.rounds.results(None, reason)
    states = [(side.state, side.note) for one in results for side in (one.before, one.after)]
    assert states == [(CheckState.NOT_RUN, reason)] * 4
    assert [record.run.note for record in begun.records] == [reason] * 2


def test_what_had_run_before_an_end_without_a_change_is_kept(begin: Begin, monkeypatch: pytest.MonkeyPatch):
    begun = begin({"a.txt": "1\n"}, "true")
    begun.rounds.start()
    begun.rounds.executions[0].result()
    assert not begun.rounds.are_slow
    monkeypatch.setattr("bot.session.checks.rounds.SLOW_SECONDS", 0)
    assert begun.rounds.are_slow
    [result] = begun.rounds.results(None)
    assert (result.before.state, result.after.state) == (CheckState.PASSED, CheckState.NOT_RUN)


def test_without_a_change_no_round_is_begun(begin: Begin):
    begun = begin({"a.txt": "1\n"}, "true")
    [result] = begun.rounds.results(None)
    assert (result.before.state, begun.opened) == (CheckState.NOT_RUN, [])


def named(result: CheckResult) -> TestChanges:
    assert result.tests is not None
    return result.tests


SUITE = (
    "import os, unittest\nclass A(unittest.TestCase):\n    def test_a(self): {a}\n    def test_b(self): {b}\n"
)
ONCE = "test -f changed || exit 0; test -e {place} || {{ touch {place}; exit 1; }}"

REPORT = '<testsuite><testcase classname="c" name="{name}"/></testsuite>'
DAEMON = (
    f"echo '{REPORT.format(name='good')}' > daemon.xml; "
    f"setsid bash -c 'sleep 60; echo \"{REPORT.format(name='bad')}\" > daemon.xml # {{mark}}' & true"
)


@dataclass
class Mixed:
    """Checks of every kind that were run on the same change, by name."""

    folder: Path
    trial: Trial
    results: Mapping[str, CheckResult]

    def opened_for(self, name: str) -> bool:
        """Whether a workspace of its own was opened to run all of the check again."""
        number = list(self.results).index(name) + 1
        return f"checks-again-1-{number}" in self.trial.opened


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Mixed:
    folder = tmp_path_factory.mktemp("mixed")

    def fails_once(name: str) -> str:
        return f"os.path.exists('{folder}/{name}') or (open('{folder}/{name}', 'w'), self.fail())"

    fine = SUITE.format(a="pass", b="pass")
    commands = {
        "flaky": "python3 -m unittest discover -s flaky",
        "order": "python3 -m unittest discover -s order",
        "before": "python3 -m unittest discover -s before",
        "piped": "printf 'a\\0\\n'; python3 -m unittest discover -s piped -v 2>&1 | cat",
        "nameless": ONCE.format(place=folder / "was"),
        "leftover": ONCE.format(place="was"),
        "reader": "cat src/a.py",  # else no check opens the change, and none counts
    }
    daemon = Check("daemon", DAEMON.format(mark=f"late-{folder}"), 60, junit=("daemon.xml",))
    begun = trial(
        folder,
        {
            "flaky/test_a.py": fine,
            "order/test_a.py": fine,
            "piped/test_a.py": SUITE.format(a="self.assertFalse(os.path.exists('changed'))", b="pass"),
            # With the change it cannot fail first, however long the base takes.
            "before/test_a.py": SUITE.format(
                a=f"os.path.exists('changed') or {fails_once('before')}",
                b="self.assertTrue(os.path.exists('changed'))",
            ),
            "src/a.py": "one\n",
        },
        *(Check(name, command, 60) for name, command in commands.items()),
        daemon,
    )
    results = begun.results(
        {
            "changed": "1\n",
            "flaky/test_a.py": SUITE.format(a=fails_once("flaky"), b="pass"),
            "order/test_a.py": SUITE.format(
                a="os.environ['SPOILED'] = '1'", b="self.assertNotIn('SPOILED', os.environ)"
            ),
            "src/a.py": "one\ntwo\nthree\nfour\n",
        }
    )
    begun.rounds.stop()
    return Mixed(folder, begun, {result.name: result for result in results})


def test_a_test_that_passes_when_it_is_run_again_is_flaky(mixed: Mixed):
    result = mixed.results["flaky"]
    assert (result.flaky, result.after.state, result.after.note) == (True, CheckState.FAILED, PASSED_AGAIN)
    assert (named(result).flaky, named(result).broken) == (("test_a.A.test_a",), ())
    assert failing([result], "make flaky pass") == ()
    assert mixed.opened_for("flaky")
    assert [(one.phase, one.run.state, one.again) for one in mixed.trial.records if one.name == "flaky"] == [
        ("before", CheckState.PASSED, False),
        ("after", CheckState.FAILED, False),
        ("after", CheckState.PASSED, True),
        ("as_they_were", CheckState.PASSED, False),
    ]


def test_a_test_that_fails_only_after_another_is_broken_and_not_flaky(mixed: Mixed):
    result = mixed.results["order"]
    assert mixed.opened_for("order"), "alone it passes, so all of it is run again"
    assert (named(result).broken, named(result).flaky) == (("test_a.A.test_b",), ())
    assert failing([result], "") == (result,)


def test_a_test_that_is_flaky_on_the_base_is_not_mended(mixed: Mixed):
    result = mixed.results["before"]
    assert (named(result).mended, named(result).flaky) == (("test_a.A.test_b",), ("test_a.A.test_a",))
    assert not mixed.opened_for("before")


def test_a_check_whose_tests_fail_has_failed_whatever_its_exit_code(mixed: Mixed):
    result = mixed.results["piped"]
    assert (result.before.state, result.after.exit_code) == (CheckState.PASSED, 0)
    assert (result.after.state, result.after.note) == (CheckState.FAILED, EXIT_CODE_LOST)
    assert named(result).broken == ("test_a.A.test_a",)
    assert mixed.opened_for("piped")
    assert failing([result], "") == (result,)


def test_a_check_without_names_is_run_again_as_a_whole(mixed: Mixed):
    result = mixed.results["nameless"]
    assert (result.flaky, result.tests, failing([result], "")) == (True, None, ())


def test_what_the_first_run_left_in_its_tree_is_not_there_for_the_second(mixed: Mixed):
    result = mixed.results["leftover"]
    assert mixed.opened_for("leftover")
    assert not result.flaky
    assert failing([result], "") == (result,)


def test_a_daemon_writes_no_report_once_its_check_is_over(mixed: Mixed):
    result = mixed.results["daemon"]
    assert f"late-{mixed.folder}" in result.command
    assert named(result).after == TestCounts(1, 0, 0)
    assert running(f"late-{mixed.folder}") == []


def test_nothing_is_run_again_once_the_time_is_spent(begin: Begin, tmp_path: Path):
    trial = begin({"a": "1\n"}, ONCE.format(place=tmp_path / "was"))
    trial.rounds.stop_reruns_after(0)
    [result] = trial.results({"changed": "1\n"})
    assert (result.flaky, result.after.note) == (False, NO_TIME)
    assert failing([result], "") == (result,)


def test_a_check_that_timed_out_before_the_change_is_not_run_again_in_full(begin: Begin):
    trial = begin({"a": "1\n"}, Check("t", "test -e changed && touch ran; sleep 60", 2))
    [result] = trial.results({"changed": "1\n"})
    assert (result.before.state, result.before.note) == (CheckState.TIMED_OUT, "stopped after 2 s")
    assert result.after.state is CheckState.NOT_RUN
    assert result.scope_note == "it timed out before the change, after 2 s"
    assert sorted(trial.opened) == ["checks-after-1", "checks-before"]


SLOW = "import time\ndef test_slow(): time.sleep(60)\n"
MONEY = "def cents(x): return {}\n"
MONEY_TEST = (
    "import money\ndef test_cents(): assert money.cents(1) == 100\n"
    "def test_zero(): assert money.cents(0) == 0\n"
)


def test_of_a_suite_over_the_budget_the_related_tests_are_run_on_both_sides(begin: Begin):
    files = {
        "money.py": MONEY.format("x * 10"), "test_money.py": MONEY_TEST, "test_slow.py": SLOW,
        "other.py": "", "test_other.py": "import other\ndef test_other(): pass\n",
    }  # fmt: skip
    trial = begin(files, PYTEST, minutes=0.9)
    [result] = trial.results({"money.py": MONEY.format("x * 100")})
    assert (result.before.state, result.after.state) == (CheckState.FAILED, CheckState.PASSED)
    assert result.command == PYTEST
    assert result.related == f"{PYTEST} test_money.py"
    assert result.scope_note == "over the budget of 0.9 minutes"
    assert (named(result).mended, named(result).after) == (("test_money::test_cents",), TestCounts(2, 0, 0))
    assert [name for name in trial.opened if name.startswith("checks-related")] == ["checks-related-1"]


def test_a_report_that_the_repository_holds_is_no_evidence(begin: Begin):
    files = {"src/a.py": "one\n", "junit.xml": REPORT}
    trial = begin(files, Check("t", "true", 60))
    [result] = trial.results({"src/a.py": "uno\n"})
    assert result.tests is None
