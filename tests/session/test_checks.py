"""Rounds of checks: each command by itself, in its own tree, also where that is not shown at the repository's own path;
and which checks run, as a request says."""

import json
import os
import shlex
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.checkout.clone import Source, check_out
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.outcome import CheckRun, CheckState
from bot.contracts.tools import ToolOutcome
from bot.environment.detection_result import Detection
from bot.evidence.check import Check, denied_path
from bot.evidence.tests import SuiteResult
from bot.policy.load import load_policy
from bot.session.checks.runner import CheckRunner
from bot.session.context.base import checks_of, chosen_checks, detected_at
from bot.workspace.client import Workspace
from bot.workspace.sandbox.backends import landlock
from bot.workspace.sandbox.landlock import OLDEST, version
from tests.session.conftest import Cli
from tests.support.environment_runs import fixed
from tests.support.files import write_file
from tests.support.fix_script import DONE, shell
from tests.support.model_script import ScriptRequest, Step
from tests.support.repositories import make_repository
from tests.support.rounds import Begin, run_checks
from tests.support.workspaces import Bench, eventually, running


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    bench = Bench(tmp_path, make_repository(tmp_path / "tree", {"sub/a.txt": "one\n"}))
    yield bench.start()
    bench.close()


def test_a_workspace_that_does_not_start_at_once_is_started_again(begin: Begin):
    """A machine with other work took longer than the limit, and the check had no result."""
    trial = begin({"a.txt": "one\n"}, "test -f a.txt")
    trial.failing_starts += ["checks-before", "checks-after-1"]
    [result] = trial.results({"a.txt": "two\n"})
    assert (result.before.state, result.after.state) == (CheckState.PASSED, CheckState.PASSED)


def test_each_command_is_a_check_of_its_own(workspace: Workspace):
    """In the top folder, a script of several lines too; one that is not there is no failure."""
    script = "set -e\ncat <<'END' | grep -q two\ntwo\nEND\ntrue # done"
    commands = (
        "cd sub",
        "test -d sub",
        "test -f a.txt",
        script,
        "set -e\nfalse\ntrue",
        "no-such-program --test",
    )
    executions = run_checks(workspace, [Check(command, command, 60) for command in commands])
    assert [one.run.state.value for one in executions] == [
        *("passed", "passed", "failed", "passed", "failed", "not_runnable")
    ]


@pytest.mark.parametrize(
    ("first", "has_result", "second", "lack"),
    [
        ("def test_a(): pass", True, "import no_such_module", "a tool or dependency is missing here"),
        pytest.param(
            "", False, "def test_b(): raise OSError('Temporary failure in name resolution')",
            "the sandbox has no network", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_suite_whose_tests_pass_in_part_has_a_result(
    workspace: Workspace, first: str, has_result: bool, second: str, lack: str
):
    """As of encode/httpx: four of its 1,417 tests need a network."""
    tests = (
        f"printf '%s\\n' {shlex.quote(first)} > test_1.py; printf '%s\\n' {shlex.quote(second)} > test_2.py"
    )
    command = "python3 -m pytest -q --continue-on-collection-errors"
    [ran] = run_checks(workspace, [Check("t", f"{tests}\n{command}", 60)], CancelToken())
    assert (ran.run.state is CheckState.FAILED) is has_result
    assert ran.run.note.startswith(lack)


@pytest.mark.slow
def test_the_report_of_one_check_is_never_that_of_the_next(workspace: Workspace):
    """As of pallets/click, where `init` counted the tests of pytest as those of tox, which had run none."""
    write = "echo 'def test_a(): pass' > test_a.py"
    first, second = (
        CheckRunner(workspace, CancelToken()).run(Check("t", command, 60))
        for command in (f"{write}\npython3 -m pytest -q", "python3 -m pytest --unknown-option")
    )
    assert (first.counts_tests, second.counts_tests) == (True, False)


def test_why_reports_could_not_be_read_is_a_note(workspace: Workspace, monkeypatch: pytest.MonkeyPatch):
    broken = ToolOutcome("no memory is left", is_error=True)
    call = workspace.call
    monkeypatch.setattr(Workspace, "call", lambda self, tool, arguments, *rest, **more: (
        broken if "spill" in arguments else call(tool, arguments, *rest, **more)
    ))  # fmt: skip
    ran = CheckRunner(workspace, CancelToken()).run(Check("t", "true", 9))
    assert ran.run.state is CheckState.PASSED
    assert ran.suite == SuiteResult("", whole=False, note="its tests could not be read: no memory is left")


def test_a_cancelled_round_runs_nothing_more(workspace: Workspace):
    cancel = CancelToken()
    cancel.fire("signal")
    [ran] = run_checks(workspace, [Check("t", "touch made", 9)], cancel)
    assert ran.run.state is CheckState.NOT_RUN
    assert not (workspace.call("bash", {"command": "ls"}, CancelToken())).content.startswith("made")


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_the_model_hears_once_of_a_check_that_cannot_run(cli: Cli, tmp_path: Path):
    policy = "version: 1\nchecks: [no-such-linter .]\n"
    repo = make_repository(tmp_path / "app", {".github/agent.yml": policy, "a": "1\n"})

    def until_ended(request: ScriptRequest) -> Step:
        told = "cannot run here, so" in json.dumps(request.body["messages"][-1])
        return DONE if told or request.number > 50 else shell(f"sleep 0.2; echo {request.number}")

    ran = cli.on(repo, "fix", "x", model=until_ended)
    last = ran.requests[-1].body.decode()
    assert last.count("cannot run here, so it will not verify your change") == 1
    assert "no-such-linter: command not found" in last


@pytest.mark.bubblewrap
@pytest.mark.skipif(os.nice(0) > 0, reason="these tests give way themselves")
@pytest.mark.slow
def test_the_check_before_the_change_gives_way_to_the_agents_commands(cli: Cli, tmp_path: Path):
    nice = "test $(cut -d' ' -f19 /proc/self/stat) = 10"
    policy = f'version: 1\nchecks: [{{name: nice, command: "{nice}"}}]\n'
    repo = make_repository(tmp_path / "app", {".github/agent.yml": policy, "a": "1\n"})
    ran = cli.on(repo, "fix", "--json", "x", model=[shell("echo 2 > a"), DONE])
    [check] = ran.json["outcome"]["checks"]
    assert (check["before"]["state"], check["after"]["state"]) == ("passed", "failed"), check


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_a81_a_check_whose_sandbox_was_killed_is_run_again(cli: Cli, tmp_path: Path):
    policy = 'version: 1\nchecks: [{name: long, command: "grep -q 1 a || { touch mark; sleep 4; }"}]\n'
    repo = make_repository(tmp_path / "app", {".github/agent.yml": policy, "a": "1\n"})

    def kill() -> None:
        runs = cli.home / ".local/state/slash-agent/runs"
        if eventually(lambda: any(runs.glob("*/tree-checks-after-1/mark"))):
            [folder] = runs.iterdir()  # never those of other runs on this machine
            for pid in running(f"{folder}/workspace-checks-after-1/spill\0"):
                os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    ran = cli.on(repo, "fix", "--json", "x", model=[shell("echo 2 > a"), DONE])
    killer.join()
    [check] = ran.json["outcome"]["checks"]
    assert (check["before"]["state"], check["after"]["state"]) == ("passed", "passed"), check
    assert "running again, since its tool host ended" in ran.err


OLD, NEW = "print('the old code')\n", "print('the new code')\n"
needs_landlock = pytest.mark.skipif(version() < OLDEST, reason="this kernel has no Landlock")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """`origin` is what an editable install in the tree's own virtual environment leads to."""
    for name, text in (("origin", OLD), ("tree", NEW)):
        make_repository(tmp_path / name, {"src/app.py": text, "package.json": "{}"})
    packages = tmp_path / "tree/.venv/lib/python3.11/site-packages"
    write_file(packages / "__editable__.app-1.pth", f"{tmp_path}/origin/src\n")
    files = Bench(tmp_path, tmp_path / "tree")
    yield files
    files.close()


def run(bench: Bench, back_end: object, origin: str, *commands: str) -> tuple[CheckRun, ...]:
    assert callable(back_end)
    workspace = bench.start(back_end(), mount=str(bench.folder / "origin"))
    rans = run_checks(workspace, [Check(one, one, 60) for one in commands], origin=origin)
    return tuple(ran.run for ran in rans)


LOAD = "python3 -c \"import site; site.addsitedir('.venv/lib/python3.11/site-packages'); import app\""


@needs_landlock
def test_under_landlock_a_module_that_cannot_be_shown_fails_no_check_and_is_explained(bench: Bench):
    origin = str(bench.folder / "origin")
    first, second = run(bench, landlock, origin, LOAD, "test -f package.json")
    assert (first.state, second.state) == (CheckState.NOT_RUNNABLE, CheckState.PASSED)
    assert (
        f"No module named 'app'. If it is installed as a link to {origin}, this sandbox cannot show"
        in first.note
    )


@needs_landlock
def test_a_program_of_an_environment_that_was_made_there_fails_no_check(bench: Bench):
    home = bench.folder / "origin/.venv"
    (home / "bin").mkdir(parents=True)
    (home / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (home / "bin/python").symlink_to("/usr/bin/python3")
    (bench.tree / ".venv/bin").mkdir()
    program = bench.tree / ".venv/bin/tests"
    write_file(program, f"#!{home}/bin/python\nprint(1)\n", 0o755)
    runs = run(bench, landlock, str(bench.folder / "origin"), ".venv/bin/tests", "test -f nothing")
    assert [one.state for one in runs] == [CheckState.NOT_RUNNABLE, CheckState.FAILED]
    assert runs[0].note.startswith(f"it needs {home}/pyvenv.cfg, in the repository's own folder")
    assert "`.venv/bin/python -m pytest`" in runs[0].note


@needs_landlock
def test_words_on_that_folder_hide_no_limit_that_was_met(bench: Bench):
    origin = str(bench.folder / "origin")
    workspace = bench.start(landlock(), limits={"processes": 10})
    command = f"echo {origin}/a: Permission denied; for i in $(seq 30); do sleep 60 & done; wait"
    [ran] = run_checks(workspace, [Check("x", command, 60)], origin=origin)
    assert ran.run.state is CheckState.FAILED
    assert ran.run.note.startswith("it met a limit of the sandbox: ")


@pytest.mark.parametrize(
    ("printed", "path"),
    [
        ("PermissionError: [Errno 13] Permission denied: '/srv/app/.venv/pyvenv.cfg'", "/srv/app/.venv/pyvenv.cfg"),
        ("Error: EACCES: permission denied, open '/srv/app/lib/index.js'", "/srv/app/lib/index.js"),
        ("sh: 1: /srv/app/run: Permission denied", "/srv/app/run"),
        ("ls: cannot open directory '/srv/app': Permission denied", "/srv/app"),
        ("open /srv/application/x: permission denied", ""),
        ("open /mnt/srv/app/x: permission denied", ""),
        ("open /srv/app.old/x: permission denied", ""),
        ("/srv/app/x.py:3: AssertionError", ""),
    ],
)  # fmt: skip
def test_a_path_that_was_refused_is_found(printed: str, path: str):
    assert denied_path(f"one\n{printed}\ntwo", "/srv/app") == path


CHECKS = (
    Check("Unit tests", "pytest"),
    Check("lint", "ruff check ."),
    Check("pytest", "pytest", fallback=True),
)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["Unit tests", "lint", "pytest"]),
        ({"no-checks": "true"}, []),
        ({"check": "Unit tests"}, ["Unit tests"]),
        ({"check": "unit-tests"}, ["Unit tests"]),
        ({"check": "LINT"}, ["lint"]),
    ],
)
def test_a_request_chooses_checks_by_name(options: dict[str, str], names: list[str]):
    assert [check.name for check in chosen_checks(CHECKS, options)] == names


def test_a_fallback_of_the_policy_is_one_of_the_run():
    policy = load_policy("version: 1\nchecks: [make test, {command: pytest, fallback: true}]")
    assert [one.fallback for one in checks_of(policy, None, Detection())] == [False, True]


def test_a_fallback_that_is_chosen_runs():
    assert not chosen_checks(CHECKS, {"check": "pytest"})[0].fallback


def test_a_name_that_no_check_has_is_an_error_with_those_there_are():
    with pytest.raises(
        UsageError, match=r"no check `tests` here\. There are: `Unit tests`, `lint`, `pytest`"
    ):
        chosen_checks(CHECKS, {"check": "tests"})


@pytest.mark.slow
@pytest.mark.checkers
@pytest.mark.parametrize(("options", "are_compared"), [((), True), (("--no-checks",), False)])
def test_no_checks_are_no_checkers_either(
    cli: Cli, tmp_path: Path, options: tuple[str, ...], are_compared: bool
):
    repo = make_repository(tmp_path / "app", {"a.py": "one = 1\n", "ruff.toml": ""})
    outcome = fixed(cli, repo, "auto", shell("echo 'two = 2' >> a.py"), options=options)
    assert bool(outcome["diagnostics"]) is are_compared


def test_the_options_are_those_of_the_users_own_build_and_no_link_is_followed(tmp_path: Path):
    """As of catchorg/Catch2, which builds its tests with an option only."""
    files = {"CMakeLists.txt": 'enable_testing()\noption(DEV "Tests" OFF)\n', ".gitignore": "build\n"}
    repo = make_repository(tmp_path / "app", files)
    cache = repo / "build/CMakeCache.txt"
    write_file(cache, "DEV:BOOL=ON\n")
    (tmp_path / "run").mkdir()
    checkout = check_out(Source(str(repo / ".git"), "HEAD"), tmp_path / "run")
    assert ["-DDEV=ON" in check.command for check in detected_at(checkout, repo).checks] == [True]
    assert ["-DDEV=ON" in check.command for check in detected_at(checkout).checks] == [False]
    cache.symlink_to(cache.rename(tmp_path / "elsewhere"))
    assert ["-DDEV=ON" in check.command for check in detected_at(checkout, repo).checks] == [False]
