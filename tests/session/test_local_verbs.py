"""`slash-agent explain`, `plan` and `fix --plan`: whole runs on a local checkout, with a scripted model."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.errors import UsageError
from bot.review.diff_text import pieces_of
from bot.review.known_findings import NO_MEMORY
from bot.session.local.review import range_to_review
from tests.session.conftest import Cli, CommandResult
from tests.support.files import write_file
from tests.support.fix_script import VIEW, fix_steps
from tests.support.model_script import Call, Say, Step
from tests.support.repositories import commit_all, git
from tests.support.stage import MODEL

pytestmark = pytest.mark.bubblewrap

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


# review


CODE = "def mean(values):\n    total = sum(values)\n    return total / len(values)\n"
DONE = Say("The mean of nothing is not thought of.")


@pytest.fixture
def topic(repo: Path) -> Path:
    """A branch with one commit on main: stats.py is new, README.md has a line more."""
    git(repo, "switch", "-q", "-c", "topic")
    (repo / "stats.py").write_text(CODE)
    (repo / "README.md").write_text((repo / "README.md").read_text() + "One line more.\n")
    commit_all(repo, "Add mean")
    return repo


def report(**given: Any) -> Call:
    arguments = {
        "path": "stats.py",
        "line": 3,
        "severity": "major",
        "kind": "crash",
        "title": "Fails on nothing",
        "body": "B.",
    }
    return Call("report_finding", {**arguments, **given})


def reviewed(
    cli: Cli, repo: Path, *steps: Step, options: tuple[object, ...] = ()
) -> tuple[CommandResult, list[str]]:
    """The run, and what the model was told after each turn but its first look and the last."""
    script = [VIEW, *steps, DONE, DONE]
    ran = cli("review", "--repo", repo, "--base", "main", "--model", MODEL, *options, model=script)
    told = [json.dumps(one.json["messages"][-1]) for one in ran.requests]
    return ran, [*told[:1], *told[2:]]


def test_findings_are_printed_with_their_suggestions(cli: Cli, topic: Path):
    better = "    return total / len(values) if values else 0.0"
    ran, told = reviewed(cli, topic, report(suggestion=better), report(line=0, title="No test"))
    assert ran.code == 0, ran.err
    assert "Noted, stats.py line 3." in told[1]
    assert "Noted, stats.py as a whole." in told[2]
    assert (
        "major: Fails on nothing\n  stats.py:3\n  B.\n"
        f"  -     return total / len(values)\n  + {better}\n" in ran.out
    )
    assert "\nThe mean of nothing is not thought of.\n" in ran.out
    assert ran.out.startswith("! 2 findings (2 major)")


def test_a_folder_that_is_not_there_is_found_before_the_model_is_paid(cli: Cli, topic: Path, tmp_path: Path):
    ran, told = reviewed(cli, topic, options=("--sarif", tmp_path / "none" / "a.sarif"))
    assert (ran.code, told) == (2, [])
    assert "there is no folder" in ran.err


# What is looked at


def paths(repo: Path, base: str = "", since: str = "") -> tuple[str, list[str]]:
    name, review_range = range_to_review(repo, base, since, NO_MEMORY)
    return name, [piece.name for piece in pieces_of(review_range.diff, review_range.since)]


@pytest.mark.slow
def test_the_remotes_default_branch_is_the_base(topic: Path):
    git(topic, "update-ref", "refs/remotes/origin/trunk", "main")
    git(topic, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    git(topic, "branch", "-D", "main")
    assert paths(topic) == ("origin", ["README.md", "stats.py"])


def test_without_a_remote_it_is_main(topic: Path):
    assert paths(topic) == ("main", ["README.md", "stats.py"])


def test_what_main_got_meanwhile_is_no_part_of_it(topic: Path):
    git(topic, "switch", "-q", "main")
    (topic / "other.py").write_text("x = 1\n")
    commit_all(topic, "Meanwhile")
    git(topic, "switch", "-q", "topic")
    assert paths(topic, "main") == ("main", ["README.md", "stats.py"])


def test_only_what_is_new_since_a_commit(topic: Path):
    before = git(topic, "rev-parse", "HEAD")
    (topic / "stats.py").write_text(CODE + "\n\nprint(mean([]))\n")
    commit_all(topic, "More")
    assert paths(topic, "main", before) == ("main", ["stats.py"])


def test_on_main_itself_there_is_nothing_to_compare_with(topic: Path):
    git(topic, "switch", "-q", "main")
    with pytest.raises(UsageError, match="--base BRANCH"):
        paths(topic)


def test_a_branch_without_a_change_is_no_error_and_needs_no_model(cli: Cli, topic: Path, tmp_path: Path):
    git(topic, "switch", "-q", "main")
    file = tmp_path / "review.sarif"
    ran = cli("review", "--repo", topic, "--base", "main", "--fail-on", "note", "--sarif", file)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "HEAD changes nothing since it left main, so there is nothing to review.\n"
    assert json.loads(file.read_text())["runs"][0]["results"] == []
    ran = cli("review", "--repo", topic, "--base", "main", "--json")
    assert (ran.json["outcome"], ran.json["review"]["findings"]) == (None, [])


@pytest.mark.parametrize(("limit", "code"), [("major", 8), ("minor", 8), ("critical", 0)])
def test_fail_on_has_an_exit_code_of_its_own(cli: Cli, topic: Path, limit: str, code: int):
    ran, _ = reviewed(cli, topic, report(), options=("--fail-on", limit))
    assert ran.code == code
    assert ran.out.startswith("! 1 finding (1 major)")


def test_branches_without_a_common_commit_are_refused(topic: Path):
    git(topic, "switch", "-q", "--orphan", "island")
    commit_all(topic, "Alone")
    with pytest.raises(UsageError, match="HEAD and main have no commit in common"):
        paths(topic, "main")


@pytest.mark.parametrize("kind", ["tag", "remote branch", "tag of the remote branch"])
def test_a_branch_comes_before_what_else_has_its_name(topic: Path, kind: str):
    ref = {"tag": "refs/tags/main", "remote branch": "refs/remotes/main/HEAD"}.get(
        kind, "refs/tags/origin/main"
    )
    git(topic, "update-ref", "refs/remotes/origin/main", "main")
    git(topic, "update-ref", ref, "topic")
    for base in ("", "main", "origin/main", "refs/heads/main"):
        assert paths(topic, base)[1] == ["README.md", "stats.py"]
