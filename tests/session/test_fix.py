"""`slash-agent fix` from the command line to the branch: real git, real sandbox, real HTTP, a scripted model; and going
on from a run: its change is in the tree, and the model gets a summary, the list and the transcript."""

import hashlib
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

from bot.publish.bundle import read_bundle
from tests.session.conftest import Cli
from tests.support.fix_script import DESCRIBE, DONE, EDITS, VIEW, fix_steps, shell
from tests.support.model_script import Call, Say, ScriptRequest, Step, Turn
from tests.support.model_server import ModelServer
from tests.support.repositories import commit_all, git, make_repository, sample_repository
from tests.support.stage import MODEL, CommandResult, command

pytestmark = pytest.mark.bubblewrap

MODELS = ("anthropic/claude-sonnet-5-5", "openai/gpt-4.1")


@pytest.mark.parametrize("model", MODELS)
def test_a_fix_ends_as_a_new_branch_with_one_commit_and_a_bundle(
    cli: Cli, repo: Path, tmp_path: Path, model: str
):
    before, out = git(repo, "rev-parse", "HEAD"), tmp_path / "bundle"
    (repo / "README.md").write_text("mine\n")
    (repo / "staged.txt").write_text("staged\n")
    git(repo, "add", "staged.txt")
    ran = cli.on(repo, "fix", "--model", model, "--out", out, "--json", "fix the rounding", model=fix_steps())
    assert ran.code == 0, ran.err
    branch = ran.json["branch"]
    assert branch == "agent/round-durations-before-splitting-them"
    assert git(repo, "rev-parse", f"{branch}~1") == before
    assert git(repo, "diff", "--stat", f"main...{branch}").startswith("tidytime/format.py")
    assert git(repo, "rev-parse", "HEAD") == before
    # Dirty files and the index stay as they are.
    assert (repo / "README.md").read_text() == "mine\n"
    assert git(repo, "status", "--porcelain=v1").splitlines() == ["M README.md", "A  staged.txt"]
    assert ran.json["unseen"] == 2
    assert {path.name for path in out.iterdir()} == {
        "outcome.json", "changes.patch", "message.md", "journal.jsonl", "report.html"
    }  # fmt: skip
    outcome = json.loads((out / "outcome.json").read_text())
    assert outcome["patch_sha256"] == hashlib.sha256((out / "changes.patch").read_bytes()).hexdigest()


@pytest.mark.slow
@pytest.mark.checks
def test_a_patch_file_takes_the_place_of_the_branch_and_each_call_is_told(
    cli: Cli, repo: Path, tmp_path: Path
):
    base, patch = git(repo, "rev-parse", "HEAD")[:12], tmp_path / "change.patch"
    ran = cli.on(repo, "fix", "--patch", patch, "fix it", model=fix_steps())
    assert ran.code == 0
    assert git(repo, "branch", "--list", "agent/*") == ""
    git(repo, "apply", "--check", str(patch))
    first, *rest = ran.err.splitlines()
    assert first.startswith(f"     at commit {base}, with claude-sonnet-5-5, sandbox bubblewrap")
    assert rest[0] == "  1  view tidytime/format.py"
    assert "     check with the change: python3 -m unittest (limit 60 s)" in rest


@pytest.mark.slow
def test_a_failing_check_is_told_once_and_the_run_goes_on(cli: Cli, repo: Path):
    make_pass = shell("python3 -m unittest tests.test_parse")
    breaking = Call("write", {"path": "tests/test_parse.py", "content": "raise SystemExit(1)\n"})
    (repo / ".github" / "agent.yml").write_text(
        "version: 1\nchecks:\n  - name: parse\n    command: python3 -m unittest tests.test_parse\n"
    )
    commit_all(repo)
    steps: list[Step] = [
        Call("view", {"path": "tests/test_parse.py"}),
        breaking,
        make_pass,
        DONE,
        Say("I leave it."),
    ]
    ran = cli.on(repo, "fix", "--json", "break it", model=steps)
    told = json.dumps(ran.requests[-1].json["messages"][-1])
    assert "these checks fail with your change" in told
    outcome = ran.json["outcome"]
    assert (outcome["status"], outcome["stop_reason"]) == ("changed", "checks_failing")
    assert ran.code == 0


@pytest.mark.parametrize("model", MODELS)
def test_no_change_says_why_after_a_first_request_of_nine_kilobytes_and_six_of_tools(
    cli: Cli, repo: Path, model: str
):
    """In a repository without instructions and skills of its own."""
    ran = cli.on(
        repo, "fix", "--model", model, "--json", "fix the rounding", model=[Say("There is nothing to do.")]
    )
    [first] = ran.requests
    assert len(first.body) <= 9_000
    assert len(json.dumps(first.json["tools"], separators=(",", ":"), ensure_ascii=False).encode()) <= 6_000
    outcome = ran.json["outcome"]
    assert (ran.code, outcome["status"]) == (0, "no_change")
    assert "without changing a file" in outcome["reason"]
    assert outcome["answer"] == "There is nothing to do."


def test_protected_paths_are_withheld_and_the_rest_is_kept(cli: Cli, repo: Path, tmp_path: Path):
    out = tmp_path / "bundle"
    steps: list[Step] = [
        shell("mkdir -p .github/workflows; echo a > .github/workflows/x.yml; echo b > new.txt"),
        DONE,
    ]
    ran = cli.on(repo, "fix", "--out", out, "--json", "x", model=steps)
    outcome = ran.json["outcome"]
    assert [file["path"] for file in outcome["files"]] == ["new.txt"]
    assert [file["path"] for file in outcome["withheld"]] == [".github/workflows/x.yml"]
    assert b"x.yml" in (out / "withheld.patch").read_bytes()


def test_a_spent_budget_keeps_the_partial_change(cli: Cli, repo: Path):
    (repo / ".github" / "agent.yml").write_text("version: 1\nbudget:\n  turns: 3\n")
    commit_all(repo)
    ran = cli.on(
        repo, "fix", "--json", "x", model=[VIEW, Turn(EDITS), *[shell(f"echo {n}") for n in range(9)]]
    )
    outcome = ran.json["outcome"]
    assert (ran.code, outcome["status"], outcome["stop_reason"]) == (4, "partial", "turns")
    assert ran.json["branch"]


def test_a_secret_in_the_diff_refuses_it_by_name(cli: Cli, repo: Path, tmp_path: Path):
    out, secret = tmp_path / "bundle", "canary-91aa3f20b7d4"
    with ModelServer([shell(f"echo {secret} > notes.txt"), DONE]) as server:
        ran = cli.on(
            repo, "fix", "--out", out, "x",
            ANTHROPIC_API_KEY="key-of-the-model", ANTHROPIC_BASE_URL=server.url, DEPLOY_TOKEN=secret,
        )  # fmt: skip
    assert ran.code == 7
    assert "DEPLOY_TOKEN" in ran.out
    assert all(secret.encode() not in path.read_bytes() for path in out.iterdir())


def test_a_setup_that_fails_ends_the_run_with_a_bundle_that_says_so(cli: Cli, tmp_path: Path):
    """The request was paid: its cost is in the outcome."""
    policy = {".github/agent.yml": "version: 1\nsetup: ['echo no index; exit 3']\n"}
    repo, out = make_repository(tmp_path / "app", policy), tmp_path / "bundle"
    ran = cli.on(repo, "fix", "--out", out, "do it", model=[shell("ls"), DONE])
    assert ran.code == 75, ran.output
    outcome = json.loads((out / "outcome.json").read_text())
    assert (outcome["stop_reason"], outcome["turns"]) == ("error", 1)
    assert "no index" in outcome["reason"]
    assert outcome["cost"] > 0


@pytest.mark.slow
def test_a_signal_during_setup_cancels_the_run(cli: Cli, tmp_path: Path):
    policy = {".github/agent.yml": "version: 1\nsetup: ['sleep 60']\n"}
    repo, out = make_repository(tmp_path / "app", policy), tmp_path / "bundle"
    with ModelServer([shell("ls"), DONE]) as server:
        argv = command("fix", "--repo", repo, "--model", MODEL, "--out", out, "do it")
        with subprocess.Popen(argv, env=cli.environment(**server.environment())) as process:
            while not server.requests:
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 130
    assert json.loads((out / "outcome.json").read_text())["stop_reason"] == "canceled"


# With uncommitted changes


def test_the_run_begins_with_the_changes_and_the_branch_has_only_its_own(cli: Cli, repo: Path):
    file = repo / "tidytime" / "units.py"
    file.write_text(f"{file.read_text()}MINE = 1\n")
    for name in ("named.py", "left.py"):
        (repo / name).write_text("NAMED = 1\n")
    look = Call("bash", {"command": "tail -n 1 tidytime/units.py; cat named.py; ls; git status --short"})
    ran = cli.on(
        repo, "fix", "--json", "--dirty", "--include", repo / "named.py", "round it",
        model=[look, *fix_steps()],
    )  # fmt: skip
    result = json.dumps(ran.requests[1].json["messages"][-1])
    assert ran.code == 0, ran.err
    assert "MINE = 1" in result
    assert "NAMED = 1" in result
    assert "left.py" not in result
    assert git(repo, "diff", "--name-only", f"main...{ran.json['branch']}") == "tidytime/format.py"
    [note] = [one for one in ran.json["outcome"]["notes"] if "uncommitted changes" in one]
    assert "named.py" in note
    assert "tidytime/units.py" in note
    assert ran.json["unseen"] == 1


@pytest.mark.slow
def test_a_change_of_changed_lines_is_a_patch_and_no_commit(cli: Cli, repo: Path):
    file = repo / "tidytime" / "format.py"
    file.write_text(file.read_text().replace("abs(seconds)", "abs(float(seconds))"))
    edit = Call("edit", {"path": "tidytime/format.py", "old": "abs(float(", "new": "round(float("})
    ran = cli.on(repo, "fix", "--dirty", "round it", model=[VIEW, edit, DESCRIBE, DONE])
    assert ran.code == 0, ran.err
    assert "so it is a patch and no commit" in ran.out
    assert git(repo, "branch", "--list", "agent/*") == ""
    [apply] = [
        line.split("apply", 1)[1] for line in ran.out.splitlines() if " apply " in line and "git" in line
    ]
    git(repo, *apply.split()[3:])
    assert "round(float(seconds))" in file.read_text()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--dirty", "--pr"], "so it cannot open a pull request"),
        (["--include", "x"], "--include names untracked files for --dirty"),
    ],
)
def test_options_that_do_not_go_together(cli: Cli, repo: Path, words: list[str], why: str):
    ran = cli("fix", "--repo", repo, *words, "round it")
    assert ran.code == 2
    assert why in ran.err


# From places with odd names, and with a policy that is not committed


LATIN = os.fsdecode(b"caf\xe9")


@pytest.mark.parametrize(
    "where",
    [
        "instruction",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("repository", "home", "branch", "--out")),
    ],
)
def test_bytes_that_are_not_utf8_lose_no_run(cli: Cli, repo: Path, tmp_path: Path, where: str):
    options: list[object] = []
    if where == "repository":
        repo = repo.rename(tmp_path / LATIN)
    elif where == "home":
        cli = Cli(tmp_path / LATIN)
        cli.home.mkdir()
    elif where == "branch":
        git(repo, "switch", "-q", "-c", LATIN)
    elif where == "--out":
        options = ["--out", tmp_path / LATIN / "bundle"]
        (tmp_path / LATIN).mkdir()
    instruction = f"order {LATIN}" if where == "instruction" else "x"
    ran = cli.on(repo, "fix", "--json", *options, instruction, model=fix_steps())
    assert ran.code == 0, ran.err
    bundle = read_bundle(Path(ran.json["bundle"]))
    assert bundle.outcome.request.instruction == instruction.replace("\udce9", "\ufffd")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("is_new", "note"),
    [
        (True, "Your policy .github/agent.yml is not committed and held for this run all the same."),
        (False, "Your changes to .github/agent.yml are not committed and held for this run all the same."),
    ],
)
def test_a_policy_that_is_not_committed_is_named(cli: Cli, repo: Path, is_new: bool, note: str):
    if is_new:
        git(repo, "rm", "-q", "--cached", ".github/agent.yml")
        git(repo, "commit", "-q", "-m", "No policy")
    else:
        with (repo / ".github" / "agent.yml").open("a") as policy:
            policy.write("bring: [nowhere]\n")
    ran = cli.on(repo, "fix", "x", model=fix_steps())
    assert note in ran.err
    if is_new:
        assert note in ran.out
    else:
        assert "brings nowhere, but there is no folder" in " ".join(ran.out.split())


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
