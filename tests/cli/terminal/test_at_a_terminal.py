"""Whole runs on a terminal: what is drawn, what a person is asked and says, and how they stop it."""

import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.agent.journal import read_journal
from bot.session.tools.approvals import approved_paths
from tests.support import warm
from tests.support.fix_script import DESCRIBE, DONE, EDITS, VIEW, shell
from tests.support.model_script import Call, Step, Turn
from tests.support.model_server import ModelServer
from tests.support.repositories import LEFT_OUT, commit_all, git, sample_repository
from tests.support.stage import MODEL, command, processes_naming
from tests.support.terminals import Terminal
from tests.support.workspaces import eventually

pytestmark = pytest.mark.bubblewrap

ASKS = f"""version: 1
checks: [{LEFT_OUT!r}]
rules:
  - {{effect: ask, paths: ["tidytime/**"], reason: it is mine, examples: [tidytime/a.py]}}
  - {{effect: ask, commands: [[git, log]], examples: ["git log"]}}
"""
PROMPT = "in your words\n> "
TODO = Call("todo", {"items": [{"text": "Mend\x1b[2J it", "status": "completed"}]})
HOSTILE = shell("printf 'a\\033]0;owned\\007\\033[31mb\\033[2J [bold]c[/bold]'")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = sample_repository(tmp_path / "tidytime")
    (made / ".github" / "agent.yml").write_text(ASKS)
    commit_all(made)
    return made


def environment(repo: Path, server: ModelServer) -> dict[str, str]:
    home = repo.parent / "home"
    home.mkdir(exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **server.environment()}


def fix(repo: Path, server: ModelServer, *more: str, **variables: str) -> Terminal:
    argv = command("fix", "--repo", repo, "--model", MODEL, "--out", repo.parent / "out", *more, "fix it")
    return Terminal(argv, {**environment(repo, server), **variables})


def test_a_person_lets_calls_pass_and_the_change_is_theirs(repo: Path):
    steps: Sequence[Step] = [VIEW, TODO, shell("git log"), Turn(EDITS), HOSTILE, DESCRIBE, DONE]
    with ModelServer(steps) as server, fix(repo, server, "-v") as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("perhaps\n")
        terminal.wait_for("Answer with once, session or no")
        terminal.type("o\n")
        terminal.wait_for(PROMPT, 2)
        terminal.type("session\n")
        code = terminal.end()
    assert code == 0, terminal.text
    screen = terminal.screen
    # One question for both edits, with the rule and the diff; the branch holds what the rule asks about.
    assert sum("may it call edit?" in line for line in screen) == 1
    assert any(line.startswith("  rule     rules[0]") and line.endswith("it is mine") for line in screen)
    assert "  │ +    remaining = round(abs(seconds))" in screen
    assert "\x1b[32m  │ +    remaining".encode() in terminal.raw
    branch = "agent/round-durations-before-splitting-them"
    assert "tidytime/format.py" in git(repo, "diff", "--name-only", f"main...{branch}")
    # The lines of what was done, each once, and nothing of what was drawn.
    assert [line for line in screen if line.startswith("  4  ")] == ["  4  edit tidytime/format.py"] * 2
    assert not [line for line in screen if line.startswith("  [x] Mend") or "⠋" in line]
    assert "       a\\x07b [bold]c[/bold]" in screen or "       ab [bold]c[/bold]" in screen, screen
    journal = repo.parent / "out" / "journal.jsonl"
    assert approved_paths(read_journal(journal)) == {"tidytime/format.py"}


def test_a_sentence_reaches_the_model_and_a_no_ends_the_run(repo: Path):
    """On a terminal that cannot be drawn on."""
    steps: Sequence[Step] = [VIEW, shell("git log"), Turn((*EDITS, shell("touch never"))), DONE]
    with ModelServer(steps) as server, fix(repo, server, TERM="dumb") as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("read the changelog instead\n")
        terminal.wait_for(PROMPT, 2)
        told = json.dumps(server.requests[-1].json["messages"])
        terminal.type("n\n")
        code = terminal.end()
        asked = len(server.requests)
    assert code == 3, terminal.text
    assert "a person said instead: read the changelog instead" in told
    assert asked == 3
    assert "(a call was denied)" in terminal.text
    assert "A person said no to a call of edit." in terminal.text
    assert b"\x1b" not in terminal.raw
    assert "  1  view tidytime/format.py" in terminal.screen


def test_ctrl_c_while_a_question_waits_stops_the_run_and_keeps_what_there_is(repo: Path):
    steps: Sequence[Step] = [shell("echo kept > new.txt"), shell("git log"), DONE]
    with ModelServer(steps) as server, fix(repo, server) as terminal:
        terminal.wait_for(PROMPT)
        terminal.kill(signal.SIGINT)
        code = terminal.end()
    assert code == 130, terminal.text
    assert "SIGINT: stopping; the work so far is kept (Ctrl-C again ends it at once)" in terminal.screen
    assert "+kept" in (repo.parent / "out" / "changes.patch").read_text()
    assert b"\x1b[?25l" not in terminal.raw


def test_the_second_ctrl_c_ends_all_of_it_at_once_and_says_where_what_it_had_lies(repo: Path):
    """What runs in the sandbox ends with the process; `tests/session/test_signals.py` has what does not."""
    seconds = "71234.5"  # by which it is known among all that sleep here
    steps = [shell(f"echo kept > new.txt; setsid sleep {seconds} & sleep {seconds}"), DONE]
    with ModelServer(steps) as server, fix(repo, server) as terminal:
        terminal.wait_for(f"sleep {seconds}")
        assert eventually(lambda: len(processes_naming(f"sleep {seconds}")) >= 2)
        terminal.kill(signal.SIGINT)
        terminal.wait_for("SIGINT: stopping")
        time.sleep(0.05)
        terminal.kill(signal.SIGINT)
        code = terminal.end()
    assert code == 130, terminal.text
    assert not processes_naming(f"sleep {seconds}")
    what, diff, on = [line for line in terminal.text.splitlines() if line.strip()][-3:]
    [folder] = (repo.parent / "home/.local/state/slash-agent/runs").iterdir()
    assert what.startswith("slash-agent fix: cancelled immediately")
    assert what.endswith(f"What it had is in {folder}")
    assert on == f"go on: slash-agent fix --continue {folder}"
    assert diff == f"its diff: slash-agent salvage {folder}"
    assert warm.run(command("salvage", folder), environment(repo, server)).returncode == 0
    assert "+kept" in (folder / "bundle" / "changes.patch").read_text()


@pytest.mark.slow
def test_ctrl_c_while_the_change_is_checked_is_a_cancelled_run(repo: Path):
    (repo / ".github" / "agent.yml").write_text("version: 1\nchecks: ['test ! -e new.txt || sleep 600']\n")
    commit_all(repo)
    with ModelServer([shell("echo kept > new.txt"), DONE]) as server, fix(repo, server) as terminal:
        terminal.wait_for("check with the change")
        terminal.kill(signal.SIGINT)
        code = terminal.end()
    assert code == 130, terminal.text
    assert "! Not finished (cancelled): 1 file changed" in terminal.text
    assert "The run was cancelled while its change was checked." in terminal.text


@pytest.mark.slow
def test_a_program_is_told_events_and_the_result_last(repo: Path):
    steps: Sequence[Step] = [VIEW, TODO, shell("git log"), shell("echo hi > new.txt"), DONE]
    with ModelServer(steps) as server:
        argv = command("fix", "--repo", repo, "--model", MODEL, "--json-events", "fix it")
        ran = warm.run(argv, environment(repo, server))
    assert (ran.returncode, ran.stderr) == (0, "")
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    assert events[0] == {"type": "began", "schema": 2, "version": events[0]["version"], "verb": "fix"}
    written = [line for event, line in zip(events, ran.stdout.splitlines(), strict=True) if "at" in event]
    assert written == (Path(events[-1]["result"]["bundle"]) / "journal.jsonl").read_text().splitlines()
    calls = [event for event in events if event["type"] == "result"]
    assert [(call["name"], call.get("is_error", False)) for call in calls] == [
        ("view", False), ("todo", False), ("bash", True), ("bash", False),
    ]  # fmt: skip
    ended = events[-1]
    assert (ended["type"], ended["exit_code"], ended["error"]) == ("ended", 0, "")
    assert ended["result"]["outcome"]["status"] == "changed"
    assert ended["result"]["branch"].startswith("agent/")


def test_a_program_is_told_why_there_is_no_result(tmp_path: Path):
    ran = warm.run(
        command("fix", "--repo", tmp_path, "--json-events", "x"),
        {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"},
    )
    *_, last = map(json.loads, ran.stdout.splitlines())
    assert (last["type"], last["exit_code"], last["result"]) == ("ended", ran.returncode, None)
    assert last["error"]
    assert last["error"] in ran.stderr


def test_an_error_is_a_headline_on_a_terminal(tmp_path: Path):
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    with Terminal(command("report", tmp_path / "none"), environment, columns=60) as terminal:
        assert terminal.end() == 2
    assert terminal.raw.startswith("\x1b[31;1m✘\x1b[0m \x1b[31;1mslash-agent report: ".encode())
