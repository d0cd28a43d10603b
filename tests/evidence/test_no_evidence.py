"""Tests that pass are evidence only if they opened what changed; and the command for the tests related to a change."""

import json
import shlex

import pytest

from bot.contracts.evidence import TestCounts
from bot.contracts.outcome import CheckRun, CheckState
from bot.ecosystems.test_command import is_plain
from bot.evidence.check import Check, related_command
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


PATHS = {
    "tests/test_a.py", "tests/x/test_b.py", "src/a.py", "web/a.ts", "go/x.go", "main.go", "crates/foo/src/lib.rs",
}  # fmt: skip
TESTS = ["tests/test_a.py", "tests/x/test_b.py", "gone.py"]


@pytest.mark.parametrize(
    ("command", "script", "related"),
    [
        ("python3 -m pytest -q", "", "python3 -m pytest -q tests/test_a.py tests/x/test_b.py"),
        ("A='b c' uv run pytest -m 'not slow' tests/", "",
         "A='b c' uv run pytest -m 'not slow' tests/test_a.py tests/x/test_b.py"),
        ("pytest tests/x -k tests", "", "pytest -k tests tests/x/test_b.py"),
        ("coverage run -m pytest", "", "coverage run -m pytest tests/test_a.py tests/x/test_b.py"),
        ("python3 -m unittest -v", "", "python3 -m unittest -v tests.test_a tests.x.test_b"),
        ("python3 -m unittest discover -s tests", "", ""),
        ("npm test -s", "jest --ci", "npx --no-install jest --passWithNoTests --findRelatedTests ./web/a.ts"),
        ("npm test", "NODE_OPTIONS='--no-warnings -r x' A=b jest",
         "NODE_OPTIONS='--no-warnings -r x' npx --no-install jest --passWithNoTests --findRelatedTests ./web/a.ts"),
        ("NODE_OPTIONS=-x npx jest", "", "NODE_OPTIONS=-x npx jest --passWithNoTests --findRelatedTests ./web/a.ts"),
        ("npx vitest run", "", "npx vitest related --run --passWithNoTests ./web/a.ts"),
        ("go test -race ./...", "", "go test -race . ./go/..."),
        ("cargo test --workspace --locked", "", "cargo test --locked -p foo"),
        ("npm test", "npm run lint && vitest run",
         "npx --no-install vitest related --run --passWithNoTests ./web/a.ts"),
        ("npm test", "make && tsc", ""),
        ("make test", "", ""),
        ("tox -e py", "", ""),
        ("cd app && pytest", "", ""),
        ("pytest -q; curl x", "", ""),
    ],
)  # fmt: skip
def test_the_command_of_a_check_is_narrowed_to_the_related_tests(command: str, script: str, related: str):
    read = {"package.json": json.dumps({"scripts": {"test": script}})}.get
    tests = ["foo"] if command.startswith("cargo") else TESTS
    changed = ["src/a.py", "web/a.ts", "go/x.go", "main.go", "gone.go"]
    assert related_command(command, changed, tests, PATHS, read) == related


HOSTILE = (
    "--pwned.py", "tests/--pwned.py", "tests/$(touch pwned)/test_a.py", "tests/`id`.py", "tests/a;b/test_a.py",
    "tests/a\ntouch pwned\n/test_a.py", "tests/'/test_a.py", '"; touch pwned #.py', "@tests/args.py",
    "../out/test_a.py", "/etc/test_a.py", "tests/test_a.py::test_x[$(id)]",
    "tests/a\u202eb.py", "tests/\x1b[2J.py", "a/../../test_a.py",
    "*/test_a.py", "~/test_a.py", "tests/{a,b}.py", "tests/a|b.py", "-k", "~root/test_a.py",
)  # fmt: skip


@pytest.mark.parametrize(
    "command", ["python3 -m pytest -q", "python3 -m unittest", "npx jest", "go test ./..."]
)
def test_a54_no_file_name_becomes_an_option_a_path_elsewhere_or_code(command: str):
    """As many as are left have one plain word each, which is the path."""
    names = [
        *HOSTILE,
        *(f"{name}.ts" for name in HOSTILE),
        *(f"{name}/x.go" for name in HOSTILE),
        "tests/a b/test_c.py",
    ]
    narrowed = related_command(
        command, [*names, "web/a b.ts", "a b/x.go"], names, {*names, "web/a b.ts", "a b/x.go"}, {}.get
    )
    words = shlex.split(narrowed)[len(shlex.split(command.replace(" ./...", ""))) :]
    assert set(words) <= {
        "tests/a b/test_c.py", "--passWithNoTests", "--findRelatedTests", "./web/a b.ts", "./a b/...",
    }  # fmt: skip
    assert not any(is_plain(name) for name in HOSTILE)


@pytest.mark.parametrize("name", ["$(id)", "--config", "a b", "a;b", "../x", ""])
def test_a54_no_name_of_a_crate_becomes_more_than_its_name(name: str):
    assert related_command("cargo test", [], [name], set(), {}.get) == ""


JEST = "npx --no-install jest --passWithNoTests --findRelatedTests ./web/a.ts"
VITEST = "npx --no-install vitest related --run --passWithNoTests ./web/a.ts"


@pytest.mark.parametrize(
    ("scripts", "command", "narrowed"),
    [
        ({"test": "jest"}, "npm test", JEST),
        ({"test": "npm run lint && vitest run", "lint": "eslint ."}, "npm test", VITEST),
        ({"test": "tsc; NODE_OPTIONS=-x npx jest"}, "npm test", f"NODE_OPTIONS=-x {JEST}"),
        ({"test": "xo && ava"}, "npm test", ""),
        ({"test": "npm run unit", "unit": "jest"}, "npm test", ""),
        ({"test": "vitest watch && jest | tee x"}, "npm test", ""),
        ({"test": 7}, "npm test", ""),
        ({}, "npm ci", ""),
        ({"test": "jest", "test:spec": "tsc && vitest run"}, "pnpm run test:spec", VITEST),
        ({"test": "run-p 'test:*'"}, "npm t", ""),
        ({"lint": "eslint ."}, "yarn lint", ""),
    ],
)
def test_of_the_script_that_a_command_names_the_part_with_the_runner_is_narrowed(
    scripts: dict[str, object], command: str, narrowed: str
):
    read = {"package.json": json.dumps({"scripts": scripts})}.get
    assert related_command(command, ["web/a.ts"], [], PATHS, read) == narrowed


def test_packages_of_a_nested_go_module_are_not_named():
    paths = {"go.mod", "a/a.go", "tools/go.mod", "tools/x/x.go", "toolset/y.go"}
    command = related_command("go test ./...", ["a/a.go", "tools/x/x.go", "toolset/y.go"], [], paths, {}.get)
    assert command == "go test ./a/... ./toolset/..."
