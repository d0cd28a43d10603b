"""What one run of a check means. The outputs are what the tools really print."""

import pytest

from bot.contracts.outcome import CheckState
from bot.evidence.check import TAIL_LIMIT, classify_run, relative_paths


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
