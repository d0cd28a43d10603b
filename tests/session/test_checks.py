"""Rounds of checks: each command by itself, in a tree of its own, over before and after."""

from __future__ import annotations

import json
import os
import shlex
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.outcome import CheckState
from bot.evidence.check import Check
from bot.workspace.client import Workspace
from tests.session.conftest import Cli
from tests.support.fix_script import DONE, shell
from tests.support.model_script import ScriptRequest, Step
from tests.support.model_server import ModelServer
from tests.support.repositories import make_repository
from tests.support.rounds import Begin, run_checks
from tests.support.stage import MODEL
from tests.support.workspaces import Bench, eventually, make_tree, running


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    bench = Bench(tmp_path, make_tree(tmp_path / "tree", {"sub/a.txt": "one\n"}))
    yield bench.start()
    bench.close()


def test_a_workspace_that_does_not_start_at_once_is_started_again(begin: Begin) -> None:
    """A machine with other work took longer than the limit, and the check had no result."""
    trial = begin({"a.txt": "one\n"}, "test -f a.txt")
    trial.failing_starts += ["checks-before", "checks-after-1"]
    [result] = trial.results({"a.txt": "two\n"})
    assert (result.before.state, result.after.state) == (CheckState.PASSED, CheckState.PASSED)


def test_each_command_is_a_check_of_its_own(workspace: Workspace) -> None:
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
        *("passed", "passed", "failed", "passed", "failed", "not_runnable"),
    ]


@pytest.mark.parametrize(
    ("second", "lack"),
    [
        ("import no_such_module", "a tool or dependency is missing here"),
        ("def test_b(): raise OSError('Temporary failure in name resolution')", "the sandbox has no network"),
    ],
)
@pytest.mark.parametrize(
    ("first", "has_result"), [("def test_a(): pass", True), ("", False)], ids=["one passes", "none"]
)
def test_a_suite_whose_tests_pass_in_part_has_a_result(
    workspace: Workspace, first: str, has_result: bool, second: str, lack: str
) -> None:
    """As of encode/httpx: four of its 1,417 tests need a network."""
    tests = (
        f"printf '%s\\n' {shlex.quote(first)} > test_1.py; printf '%s\\n' {shlex.quote(second)} > test_2.py"
    )
    command = "python3 -m pytest -q --continue-on-collection-errors"
    [ran] = run_checks(workspace, [Check("t", f"{tests}\n{command}", 60)], CancelToken())
    assert (ran.run.state is CheckState.FAILED) is has_result
    assert ran.run.note.startswith(lack)


def test_a_cancelled_round_runs_nothing_more(workspace: Workspace) -> None:
    cancel = CancelToken()
    cancel.fire("signal")
    [ran] = run_checks(workspace, [Check("t", "touch made", 9)], cancel)
    assert ran.run.state is CheckState.NOT_RUN
    assert not (workspace.call("bash", {"command": "ls"}, CancelToken())).content.startswith("made")


@pytest.mark.bubblewrap
def test_the_model_hears_once_of_a_check_that_cannot_run(cli: Cli, tmp_path: Path) -> None:
    policy = "version: 1\nchecks: [no-such-linter .]\n"
    repo = make_repository(tmp_path / "app", {".github/agent.yml": policy, "a": "1\n"})

    def until_ended(request: ScriptRequest) -> Step:
        told = "cannot run here, so" in json.dumps(request.body["messages"][-1])
        return DONE if told or request.number > 50 else shell(f"sleep 0.2; echo {request.number}")

    with ModelServer(until_ended) as server:
        cli("fix", "--repo", repo, "--model", MODEL, "x", model=server)
    last = server.requests[-1].body.decode()
    assert last.count("cannot run here, so it will not verify your change") == 1
    assert "no-such-linter: command not found" in last


@pytest.mark.bubblewrap
@pytest.mark.skipif(os.nice(0) > 0, reason="these tests give way themselves")
@pytest.mark.slow
def test_the_check_before_the_change_gives_way_to_the_agents_commands(cli: Cli, tmp_path: Path) -> None:
    nice = "test $(cut -d' ' -f19 /proc/self/stat) = 10"
    policy = f'version: 1\nchecks: [{{name: nice, command: "{nice}"}}]\n'
    repo = make_repository(tmp_path / "app", {".github/agent.yml": policy, "a": "1\n"})
    with ModelServer([shell("echo 2 > a"), DONE]) as server:
        ran = cli("fix", "--repo", repo, "--model", MODEL, "--json", "x", model=server)
    [check] = ran.json["outcome"]["checks"]
    assert (check["before"]["state"], check["after"]["state"]) == ("passed", "failed"), check


@pytest.mark.bubblewrap
def test_a81_a_check_whose_sandbox_was_killed_is_run_again(cli: Cli, tmp_path: Path) -> None:
    policy = 'version: 1\nchecks: [{name: long, command: "grep -q 1 a || { touch mark; sleep 4; }"}]\n'
    repo = make_repository(tmp_path / "app", {".github/agent.yml": policy, "a": "1\n"})

    def kill() -> None:
        runs = cli.home / ".local/state/slash-agent/runs"
        if eventually(lambda: any(runs.glob("*/tree-checks-after-1/mark"))):
            [folder] = runs.iterdir()  # never those of other runs on this machine
            for pid in running(f"{folder}/workspace-checks-after-1/spill\0"):
                os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    with ModelServer([shell("echo 2 > a"), DONE]) as server:
        killer.start()
        ran = cli("fix", "--repo", repo, "--model", MODEL, "--json", "x", model=server)
        killer.join()
    [check] = ran.json["outcome"]["checks"]
    assert (check["before"]["state"], check["after"]["state"]) == ("passed", "passed"), check
    assert "running again, since its tool host ended" in ran.err
