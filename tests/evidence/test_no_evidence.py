"""Tests that pass are evidence only if they opened what changed."""

import pytest

from bot.contracts.evidence import TestCounts
from bot.contracts.outcome import CheckRun, CheckState
from bot.evidence.check import Check
from bot.evidence.no_evidence import excused, left_out_note, reasons, sources
from bot.evidence.reruns import CheckExecution
from bot.evidence.tests import SuiteResult
from bot.workspace.sandbox.confinement import EnvironmentFolder

CHANGED = ("src/app.py", "web/app.ts")
THREE = TestCounts(3, 0, 0)


def ran(
    command: str,
    *opened: str,
    state: CheckState = CheckState.PASSED,
    counts: TestCounts | None = THREE,
    known: bool = True,
) -> tuple[Check, CheckExecution]:
    suite = SuiteResult("pytest", counts=counts)
    execution = CheckExecution(CheckRun(state, 0), suite, opened=frozenset(opened) if known else None)
    return Check(command, command), execution


def excuses(*executions: tuple[Check, CheckExecution], changed: tuple[str, ...] = CHANGED) -> dict[int, str]:
    return dict(reasons(executions, changed))


def test_only_sources_that_the_change_leaves_in_the_tree_must_be_opened():
    paths = {"src/app.py", "tests/test_app.py", "conftest.py", "README.md", "fixtures/data.py", "web/app.ts"}
    assert sources((*sorted(paths), "gone.py"), paths) == ("src/app.py", "web/app.ts")


def test_tests_that_opened_nothing_of_their_language_are_no_evidence():
    reasons = excuses(ran("pytest"), ran("node --test", "web/app.ts"))
    assert list(reasons) == [0]
    assert reasons[0].startswith("its tests never opened src/app.py: they run other code, or none of it. ")
    assert "pip install -e ." in reasons[0]
    assert excuses(ran("pytest", "src/app.py"), ran("node --test", "web/app.ts")) == {}
    several = excuses(ran("pytest"), changed=("a.py", "b.py", "c.py"))
    assert "a.py or 2 other changed files:" in several[0]


def test_a_script_may_test_any_language_and_tests_of_another_one_are_left():
    assert list(excuses(ran("make test"))) == [0]
    assert excuses(ran("make test", "web/app.ts")) == {}
    assert excuses(ran("cargo test")) == {}


@pytest.mark.parametrize("command", ["ruff check .", "mypy src"])
def test_what_a_linter_opened_says_nothing_of_tests_and_what_a_build_opened_does(command: str):
    linter = ran(command, *CHANGED, counts=None)
    assert list(excuses(linter, ran("pytest"))) == [1]
    assert excuses(ran("make build", *CHANGED, counts=None), ran("pytest")) == {}


def test_beside_a_suite_that_failed_before_its_first_test_tests_must_open_a_source_themselves():
    """As of junegunn/fzf: the tests of one package passed, and the result was green for a change of another."""
    suite = ran("make test", *CHANGED, state=CheckState.FAILED, counts=None)
    assert list(excuses(suite, ran("pytest tests/other"))) == [1]
    assert excuses(suite, ran("pytest", "src/app.py")) == {}


def test_what_fails_or_counts_no_tests_stays_as_it_is():
    failed, uncounted = ran("pytest", state=CheckState.FAILED), ran("pytest", counts=None)
    assert excuses(failed, uncounted, ran("pytest", counts=TestCounts(0, 0, 2))) == {}


def test_where_nothing_can_be_watched_tests_are_no_evidence_either():
    assert "fs.inotify.max_user_instances" in excuses(ran("pytest", known=False))[0]


def test_an_excused_check_keeps_its_output_and_no_result_of_tests():
    execution = excused(ran("pytest")[1], "why")
    assert (execution.run.state, execution.run.note) == (CheckState.NOT_RUNNABLE, "why")
    assert execution.suite is None


@pytest.mark.parametrize(
    ("path", "command", "is_needed"),
    [
        (".venv", "python3 -m pytest", True), (".venv", "make test", True), (".venv", "npm test", False),
        ("", "pytest", True), ("", "npm test", False), ("web/node_modules", "npm test", True),
        ("web/node_modules", "cargo test", False), ("vendor/bundle", "bundle exec rake test", True),
        ("vendor", "go test ./...", True), ("vendor", "pytest", False),
    ],
)  # fmt: skip
def test_a_check_that_needs_an_environment_that_is_not_shown_does_not_run(
    tmp_path: object, path: str, command: str, is_needed: bool
):
    folder = EnvironmentFolder(tmp_path / "x", path, unshown="others can write in /a")  # type: ignore[operator]
    note = left_out_note([folder], command)
    assert bool(note) is is_needed
    where = f"{path or folder.source} is not shown to commands"
    assert not note or note.startswith(f"{where}: others can write in /a.")
