"""What one run of a check means. The outputs are what the tools really print."""

import os
import shutil
from pathlib import Path

import pytest

from bot.contracts.outcome import CheckState
from bot.evidence.check import TAIL_LIMIT, classify_run, relative_paths, report_command, rerun_command
from tests.support.programs import run_program


def state(exit_code: int | None, output: str) -> CheckState:
    return classify_run(exit_code, output, 1.0).state


@pytest.mark.parametrize(
    ("exit_code", "output", "timed_out", "state", "note"),
    [
        (0, "OK\n", False, CheckState.PASSED, ""),
        (0, "No module named 'x' (expected)\nNetwork is unreachable\n", False, CheckState.PASSED, ""),
        (0, "Ran 0 tests in 0.000s\nOK\nRan 12 tests in 0.1s\nOK\n", False, CheckState.PASSED, ""),
        (1, "AssertionError: 1 != 2\n", False, CheckState.FAILED, ""),
        (-9, "No module named pytest", True, CheckState.TIMED_OUT, "stopped after 60 s"),
        (None, "The command: Argument list too long.\n", False, CheckState.NOT_RUN, "Argument list too long"),
    ],
)
def test_what_a_run_came_to(
    exit_code: int | None, output: str, timed_out: bool, state: CheckState, note: str
):
    run = classify_run(exit_code, output, 60.2, timed_out=timed_out)
    assert (run.state, run.exit_code, run.duration) == (state, exit_code, 60.2)
    assert note in run.note if note else not run.note


@pytest.mark.parametrize(
    ("exit_code", "output"),
    [
        (127, "bash: line 2: cargo: command not found\n[exit code 127]"),
        (127, "sh: 1: jest: not found\n[exit code 127]"),
        (126, "bash: line 2: ./run-tests: Permission denied\n[exit code 126]"),
        (2, "make: pytest: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n"),
        (2, "sh: 1: .venv/bin/pytest: Permission denied\nmake: *** [Makefile:2: test] Error 126\n"),
        (1, "/usr/bin/python3: No module named pytest\n"),
        (1, "/opt/venv/bin/python3.12: No module named absent_tool\n[exit code 1]"),
        (1, "ModuleNotFoundError: No module named 'requests'\n"),
        (1, "Error: Cannot find module 'express'\nRequire stack:\n"),
        (1, "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'vitest' imported from /x\n"),
        (1, "npm ERR! missing script: test\n"),
        (1, 'npm error Missing script: "test"\n'),
        (101, "error: no matching package named `serde` found\n"),
        (1, "main.go:3:8: no required module provides package github.com/x/y; to add it:\n"),
        (101, "error: no such command: `tarpaulin`\n\nhelp: view all installed commands with `cargo --list`\n"),
        (1, "error: toolchain 'nightly-x86_64-unknown-linux-gnu' is not installed\n"),
        (1, "error: 'cargo-fmt' is not installed for the toolchain 'stable-x86_64-unknown-linux-gnu'.\n"),
        (2, "error: Failed to spawn: `pytest`\n  Caused by: No such file or directory (os error 2)\n"),
        (1, "Command not found: mypy\n"),
        (127, "bundler: command not found: rspec\nInstall missing gem executables with `bundle install`\n"),
        (7, "Could not find gem 'rake' in locally installed gems.\n"),
        (1, "Could not open input file: vendor/bin/phpunit\n"),
        (2, "bash: line 3: source: filename argument required\nsource: usage: source filename [arguments]\n"),
        (1, 'ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL  Command "vitest" not found\n'),
    ],
)  # fmt: skip
def test_a_missing_tool_or_dependency_makes_it_not_runnable(exit_code: int, output: str):
    run = classify_run(exit_code, output, 1.0)
    assert run.state is CheckState.NOT_RUNNABLE
    assert run.note.startswith("a tool or dependency is missing here: ")
    assert "exit code" not in run.note


@pytest.mark.parametrize(
    "output",
    [
        "Error: Cannot find module './parse'\n",
        "FAIL: expected '/bin/foo: command not found' but got ''\n",
        "expected 404 not found\n",
    ],
)
def test_a_failure_that_is_the_repositorys_own_is_a_failure(output: str):
    assert state(1, output) is CheckState.FAILED


@pytest.mark.parametrize(
    "output",
    [
        "OSError: [Errno 101] Network is unreachable\n",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution\n",
        "Error: getaddrinfo EAI_AGAIN registry.example\n",
        "[WARN] GET https://registry.example/serve error (EAI_AGAIN). Will retry in 10 seconds.\n",
        "curl: (6) Could not resolve host: example.invalid\n",
        "dial tcp: lookup proxy.example: no such host\n",
        "OSError: [Errno 97] Address family not supported by protocol\n",
        'Exception in thread "main" java.net.UnknownHostException: services.example\n',
        "NameResolutionError: Failed to resolve 'pypi.example'\n",
        "  Caused by: dns error: failed to lookup address information\n",
    ],
)
def test_a_failure_for_want_of_a_network_is_marked_so(output: str):
    run = classify_run(1, f"setting up\n{output}more\n", 1.0)
    assert run.state is CheckState.NO_SOCKETS
    assert output.strip() in run.note


@pytest.mark.parametrize(
    ("exit_code", "output"),
    [
        (0, "\nRan 0 tests in 0.000s\n\nOK\n"),
        (5, "\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n"),
        (5, "\nno tests ran in 0.01s\n"),
    ],
)
def test_a_suite_without_a_test_is_no_evidence(exit_code: int, output: str):
    run = classify_run(exit_code, output, 1.0)
    assert (run.state, run.note) == (CheckState.NOT_RUNNABLE, "it found no tests")


def test_the_end_of_the_output_is_kept():
    run = classify_run(1, "x" * TAIL_LIMIT + "the end", 1.0)
    assert len(run.tail) == TAIL_LIMIT
    assert run.tail.endswith("the end")


ROOT = "/tmp/slash-agent/20261122-x.y/tree"


@pytest.mark.parametrize(
    ("printed", "relative"),
    [
        (f'File "{ROOT}/tests/test_a.py", line 3', 'File "tests/test_a.py", line 3'),
        (f"at run (file://{ROOT}/src/a.mjs:3:1)", "at run (src/a.mjs:3:1)"),
        (f"{ROOT}/.venv/bin/python", ".venv/bin/python"),
        (f"{ROOT}/@scope/a", "@scope/a"),
        (f"rootdir: {ROOT}\nplugins: x", "rootdir: .\nplugins: x"),
        (f"PATH={ROOT}/bin:{ROOT}/:{ROOT}", "PATH=bin:.:."),
        (f"It is in {ROOT}.", "It is in .."),
        (f"{ROOT}-2/a {ROOT}2/a {ROOT}.d/a", f"{ROOT}-2/a {ROOT}2/a {ROOT}.d/a"),
        (f"/mnt{ROOT}/a https://x.test{ROOT}/a", f"/mnt{ROOT}/a https://x.test{ROOT}/a"),
        ("/tmp/slash-agent/20261122-xzy/tree/a", "/tmp/slash-agent/20261122-xzy/tree/a"),
    ],
)
def test_only_what_lies_in_the_tree_is_told_from_there(printed: str, relative: str):
    assert relative_paths(printed, ROOT) == relative
    assert relative_paths(printed, f"{ROOT}/") == relative


@pytest.mark.parametrize("root", ["", "/"])
def test_a_tree_that_is_everything_has_no_paths_of_its_own(root: str):
    assert relative_paths("/usr/bin/x and /", root) == "/usr/bin/x and /"


# Its command


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
    command = "python3 -m unittest discover -s tests"
    assert report_command(command, "r").command == f"{command} -v"
    assert report_command("python3 -m unittest -q", "r").command == "python3 -m unittest -q"


def test_a_report_that_the_command_names_gives_way_to_ours():
    assert report_command("pytest --junitxml=out/j.xml", "r.xml").command.endswith(f"=out/j.xml{ADDED}")


def test_the_environment_keeps_a_folder_with_a_space_together(tmp_path: Path):
    script = report_command(
        "python3 -c 'import os; print(os.environ[\"PYTEST_ADDOPTS\"])'; true", "r.xml"
    ).command
    done = run_program(
        ["bash", "-c", script],
        env={"PATH": os.environ["PATH"], "TMPDIR": "/a b", "PYTEST_ADDOPTS": "-x"},
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
    done = run_program(
        ["bash", "-c", script], cwd=tmp_path, env={**os.environ, "GOFLAGS": "-count=1"}, check=True
    )
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
