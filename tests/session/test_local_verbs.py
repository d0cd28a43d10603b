"""`slash-agent explain`, `plan` and `fix --plan`: whole runs on a local checkout, with a scripted model."""

import json
from pathlib import Path

import pytest

from tests.session.conftest import Cli
from tests.support.files import write_file
from tests.support.fix_script import VIEW, fix_steps
from tests.support.model_script import Call, Say
from tests.support.repositories import commit_all, git

pytestmark = pytest.mark.bubblewrap

MODEL = "anthropic/claude-sonnet-5-5"
SUBMIT = Call(
    "submit_plan",
    {
        "title": "Round durations first",
        "steps": [{"text": "Round before splitting.", "paths": ["tidytime/format.py"]}],
        "risks": "None that a test shows.",
        "estimate_turns": 6,
    },
)
READING = {"view", "ls", "glob", "grep"}


def test_explain_answers_and_changes_nothing(cli: Cli, repo: Path):
    before = git(repo, "for-each-ref")
    ran = cli.on(
        repo, "explain", "--json", "what of 59.7?", model=[VIEW, Say("It carries the seconds over.")]
    )
    tools = {tool["name"] for tool in ran.requests[0].json["tools"]}
    asked = json.dumps(ran.requests[0].json["messages"])
    assert ran.code == 0, ran.err
    assert ran.json["outcome"]["status"] == "answered"
    assert ran.json["outcome"]["answer"] == "It carries the seconds over."
    assert set(ran.json) == {"outcome", "bundle", "unseen"}
    assert tools - {"skill"} == READING
    assert "what of 59.7?" in asked
    assert git(repo, "for-each-ref") == before
    assert git(repo, "status", "--porcelain") == ""


def test_explain_runs_a_command_that_the_policy_allows(cli: Cli, repo: Path):
    write_file(repo / ".github" / "agent.yml", "rules: [{effect: allow, commands: [[git, log]]}]\n")
    commit_all(repo, "Allow a command")
    log = Call("bash", {"command": "git log --oneline"})
    ran = cli.on(repo, "explain", "how many commits?", model=[log, Say("One commit.")])
    result = json.dumps(ran.requests[1].json["messages"][-1])
    assert ran.code == 0, ran.err
    assert "Allow a command" in result
    assert ran.out.startswith("✔ Answered")
    assert "One commit." in ran.out


def test_a_plan_is_printed_kept_and_carried_out(cli: Cli, repo: Path, tmp_path: Path):
    planned, done = tmp_path / "planned", tmp_path / "done"
    ran = cli.on(repo, "plan", "--out", planned, "round it", model=[VIEW, SUBMIT, Say("Planned.")])
    assert ran.code == 0, ran.err
    assert "Round durations first" in ran.out
    assert "1. Round before splitting. (tidytime/format.py)" in ran.out
    command = f"slash-agent fix --repo {repo} --model {MODEL} --plan {planned / 'plan.json'}"
    assert command in ran.out
    assert git(repo, "branch", "--list", "agent/*") == ""
    fixed = cli(*command.split()[1:], "--out", done, "--json", model=fix_steps())
    asked = json.dumps(fixed.requests[0].json["messages"])
    assert fixed.code == 0, fixed.err
    request = fixed.json["outcome"]["request"]
    assert (request["verb"], request["plan"]["title"]) == ("approve", "Round durations first")
    assert "Carry out the approved plan below, exactly." in asked
    assert "Round before splitting." in asked
    assert git(repo, "branch", "--list", "agent/*").strip() == fixed.json["branch"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["explain"], "Say what to do, as in: slash-agent explain"),
        (["plan"], "Say what to do, as in: slash-agent plan"),
        (["fix", "--plan", "missing.json"], "The plan missing.json cannot be read: No such file"),
        (["fix", "--plan", "bad.json"], "bad.json is not a valid plan"),
        (["fix", "--plan", "bad.json", "and more"], "leave it out"),
        (["fix", "--plan", "x", "--continue", "y"], "not allowed with argument"),
        (["explain", "--patch", "x", "why?"], "unrecognized arguments"),
    ],
)
def test_a_mistake_is_named_before_anything_is_run(
    cli: Cli, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], why: str
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text('{"title": "x"}')
    ran = cli(*words, "--repo", repo)
    assert ran.code == 2
    assert why in ran.err
