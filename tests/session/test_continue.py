"""Going on from a run: its change is in the tree, and the model gets a summary, the list and the transcript."""

import json
import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.session.conftest import Cli, command
from tests.support.fix_script import DESCRIBE, DONE, EDITS, VIEW, fix_steps
from tests.support.model_script import Call, Say, ScriptRequest, Step, Turn
from tests.support.model_server import ModelServer
from tests.support.repositories import git, sample_repository
from tests.support.stage import CommandResult

pytestmark = pytest.mark.bubblewrap

MODELS = ("anthropic/claude-sonnet-5-5", "openai/gpt-4.1")


def first_run(cli: Cli, repo: Path, steps: list[Step] | None = None) -> Path:
    """A run that looked and changed one of two places; its folder."""
    script = steps or [VIEW, Turn((EDITS[0],)), Say("Half of it.")]
    ran = cli.on(repo, "fix", "--json", "fix the rounding", model=script)
    assert ran.code == 0, ran.err
    return Path(ran.json["bundle"]).parent


def go_on(
    cli: Cli, repo: Path, run: Path, *words: str, model: str = MODELS[0], steps: list[Step] | None = None
) -> tuple[CommandResult, list[dict[str, Any]]]:
    script = steps or [VIEW, Turn((EDITS[1],)), DESCRIBE, DONE]
    ran = cli.on(repo, "fix", "--model", model, "--json", "--continue", run, *words, model=script)
    return ran, [request.json for request in ran.requests]


def test_a_question_that_nobody_is_there_to_answer_ends_the_run_and_the_answer_goes_on(cli: Cli, repo: Path):
    ask = Call("ask_user", {"question": "Round or truncate?"})
    ran = cli.on(repo, "fix", "fix the rounding", model=[VIEW, ask, Say("not reached")])
    assert ran.code == 0, ran.output
    assert "Round or truncate?" in ran.out
    [answer] = [line.strip() for line in ran.out.splitlines() if "--continue" in line]
    *options, given, _ = shlex.split(answer.removeprefix("answer"))
    assert options == ["slash-agent", "fix", "--repo", str(repo), "--model", MODELS[0], "--continue"]
    steps, asked = iter(fix_steps()), list[str]()

    def step(request: ScriptRequest) -> Step:
        asked.append(json.dumps(request.body["messages"]))
        found = re.search(r"to be searched or viewed: ([\w./-]+\w)", asked[0])
        assert found, asked[0]
        if request.number == 0:
            return Call("grep", {"pattern": "agent calls ask_user", "path": found[1]})
        return next(steps)

    ran = cli.on(repo, "fix", "--continue", given, "Round it.", model=step)
    assert ran.code == 0, ran.err
    assert "Round or truncate?" in asked[0]
    assert "Round it." in asked[0]
    assert "[agent calls ask_user]" in asked[1]


@pytest.mark.slow
def test_continue_goes_on_from_the_last_run_in_this_repository(cli: Cli, repo: Path, tmp_path: Path):
    other = sample_repository(tmp_path / "other", checks=False)
    first = first_run(cli, repo)
    first_run(cli, other)
    for number, words in enumerate((["and the other half"], [first, "and the other half"])):
        ran = cli.on(repo, "continue", "--json", *words, model=[VIEW, Turn((EDITS[1],)), DESCRIBE, DONE])
        asked = json.dumps(ran.requests[0].json)
        assert ran.code == 0, ran.err
        assert "and the other half" in asked
        assert "It was asked: " in asked
        assert ran.json["outcome"]["request"]["verb"] == "continue"
        diff = git(repo, "diff", f"main...{ran.json['branch']}")
        assert ("round(abs(seconds))" in diff, "if unit.seconds == 1" in diff) == (True, True), number


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "There is no run to continue in"),
        (["/missing", "and more"], "There is no run folder /missing to continue"),
    ],
)
def test_continue_without_a_run_names_what_is_missing(cli: Cli, repo: Path, words: list[str], why: str):
    ran = cli.on(repo, "continue", *words)
    assert ran.code == 2
    assert why in ran.err


@pytest.mark.slow
def test_the_list_goes_on_too_and_its_open_items_are_recalled(cli: Cli, repo: Path):
    items = [{"text": "Mend it", "status": "completed"}, {"text": "Say so", "status": "pending"}]
    run = first_run(cli, repo, steps=[VIEW, Call("todo", {"items": items}), Say("Half."), Say("Half of it.")])
    for model in MODELS:
        steps: list[Step] = [Say("Done."), Say("Not needed.")]
        _, asked = go_on(cli, repo, run, "x", model=model, steps=steps)
        assert "2. [ ] Say so" in json.dumps(asked[0])
        assert "Its list, which is yours now" in json.dumps(asked[0])
        recalled = json.dumps(asked[1]["messages"][-1])
        assert "2. [ ] Say so" in recalled
        assert "your list has open items" in recalled


@pytest.mark.slow
def test_a_run_that_was_killed_in_a_call_is_gone_on_with_and_told(cli: Cli, repo: Path):
    slow = Call("bash", {"command": "sleep 600", "timeout": 600})
    with ModelServer([VIEW, Turn((EDITS[0],)), slow]) as server:
        process = subprocess.Popen(
            command("fix", "--repo", repo, "--model", MODELS[0], "fix the rounding"),
            env=cli.environment(**server.environment()), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            run = _in_the_call(cli.home)
            busy, _ = go_on(cli, repo, run)
            assert (busy.code, "busy: another run uses" in busy.err) == (75, True), busy.err
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.wait(timeout=60)
    again, asked = go_on(cli, repo, run)
    assert again.code == 0, again.err
    assert "The run died before it ended" in json.dumps(asked[0]["messages"])
    assert "round(abs(seconds))" in git(repo, "diff", f"main...{again.json['branch']}")


def _in_the_call(home: Path) -> Path:
    until = time.monotonic() + 240
    while time.monotonic() < until:
        for path in home.glob(".local/state/slash-agent/runs/*/journal.jsonl"):
            # A whole line each, and of a call: the header names every tool there is.
            lines = path.read_text("utf-8", "replace").split("\n")[:-1]
            if any(line.startswith('{"type":"call"') and '"name":"bash"' in line for line in lines):
                return path.parent
        time.sleep(0.1)
    raise AssertionError("the run did not come to its command")
