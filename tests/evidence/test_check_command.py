"""What is added to a check's command so that its tests are named, and to which commands nothing is."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bot.evidence.check import report_command, rerun_command

ADDED = ' --junitxml="$TMPDIR/r.xml" --continue-on-collection-errors'


@pytest.mark.parametrize(
    "command",
    [
        "pytest", "python3 -m pytest -q", ".venv/bin/pytest tests -k 'a or b'", "uv run pytest -x",
        "uv run python -m pytest", "coverage run -m pytest",
        "python -m coverage run --branch -m pytest tests", "CI=1 poetry run pytest",
    ],
)  # fmt: skip
def test_one_plain_command_of_pytest_is_asked_for_a_report(command: str):
    command_run = report_command(command, "r.xml")
    assert command_run.command == command + ADDED
    assert (command_run.report, command_run.complete) == ("r.xml", True)


@pytest.mark.parametrize(
    "command",
    [
        "make test", "cd api && pytest", "tox -e py", "pytest -- tests", "pytest | tee log",
        "grep -m pytest x", "set -e\npytest\nmypy", "pytest 'unfinished", "pytest $ARGS",
        "echo pytest; true",
    ],
)  # fmt: skip
def test_any_other_is_asked_by_the_environment(command: str):
    command_run = report_command(command, "r.xml")
    assert command_run.command.startswith("export PYTEST_ADDOPTS=")
    assert command_run.command.endswith(f"; {command}")
    assert (command_run.report, command_run.complete) == ("r.xml", False)


@pytest.mark.parametrize(
    "command",
    ["go test -json ./...", "npm test --silent", "cargo test", "node --test", "npm run pytest", "yarn test"],
)
def test_a_runner_that_is_not_pytest_is_left_alone(command: str):
    assert report_command(command, "r.xml").command == command


def test_go_is_asked_to_name_its_tests():
    assert report_command("go test -race ./...", "r.xml").command == "go test -v -race ./..."
    assert report_command("CGO_ENABLED=0 go test .", "r.xml").command == "CGO_ENABLED=0 go test -v ."


def test_unittest_is_asked_to_name_its_tests():
    assert (
        report_command("python3 -m unittest discover -s tests", "r").command
        == "python3 -m unittest discover -s tests -v"
    )
    assert report_command("python3 -m unittest -q", "r").command == "python3 -m unittest -q"


def test_a_report_that_the_command_names_gives_way_to_ours():
    assert report_command("pytest --junitxml=out/j.xml", "r.xml").command.endswith(f"=out/j.xml{ADDED}")


def test_the_environment_keeps_a_folder_with_a_space_together(tmp_path: Path):
    script = report_command(
        "python3 -c 'import os; print(os.environ[\"PYTEST_ADDOPTS\"])'; true", "r.xml"
    ).command
    done = subprocess.run(
        ["bash", "-c", script],
        env={"PATH": os.environ["PATH"], "TMPDIR": "/a b", "PYTEST_ADDOPTS": "-x"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "-x --junitxml='/a b/r.xml'\n"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="go is not here")
def test_go_names_its_tests_behind_make_too(tmp_path: Path):
    (tmp_path / "go.mod").write_text("module m\n")
    (tmp_path / "a_test.go").write_text('package m\nimport "testing"\nfunc TestA(t *testing.T) {}\n')
    (tmp_path / "Makefile").write_text("test:\n\t@go vet ./...\n\t@go test ./...\n")
    script = report_command("make test", "r.xml").command
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env={**os.environ, "GOFLAGS": "-count=1"}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert "--- PASS: TestA" in done.stdout


@pytest.mark.parametrize(
    ("command", "failed", "run"),
    [
        ("pytest -q", ["a::b"], f"pytest -q --lf --lfnf=none{ADDED}"),
        ("python3 -m unittest", ["a.B.c", "a.B.b"], "python3 -m unittest -k a.B.b -k a.B.c -v"),
        ("go test ./...", ["ex.com/app.TestA/x_y", "ex.com/app.TestB"], "go test ./... -run '^(TestA|TestB)$'"),
    ],
)  # fmt: skip
def test_the_failing_tests_alone(command: str, failed: list[str], run: str):
    command_run = rerun_command(command, failed, "r.xml")
    assert command_run is not None
    assert command_run.command == run


@pytest.mark.parametrize(
    ("command", "failed"),
    [
        ("pytest -q", []), ("pytest -q", [f"t{n}" for n in range(26)]),
        ("pytest -p no:cacheprovider", ["a"]), ("pytest --lf", ["a"]), ("make test", ["a"]),
        ("cargo test", ["a"]), ("python3 -m unittest", ["a.B.c; rm -rf /"]),
        ("python3 -m unittest", ["-x"]), ("go test ./...", ["ex.com/app.TestA'; rm -rf /"]),
        ("go test ./...", ["ex.com/app"]), ("go test ./... -run TestX", ["ex.com/app.TestX"]),
    ],
)  # fmt: skip
def test_where_a_runner_cannot_be_told_nothing_is_run_alone(command: str, failed: list[str]):
    assert rerun_command(command, failed, "r.xml") is None
