"""`prepare: auto`: what is installed is for the base branch to say. The head of a pull request decides neither which
commands run with a network nor on which files."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.checkout.clone import Checkout, Source, check_out
from bot.policy.check_settings import SetupStep
from bot.policy.load import load_policy
from bot.session.context.base import detected_at, detected_setup
from bot.session.workspaces.prepared_trees import Trees
from bot.session.workspaces.start_workspaces import Network
from bot.workspace.client import Answer, Workspace
from bot.workspace.sandbox.backends import Off
from bot.workspace.start import StartOptions
from slash_forge.bundled import MAINTAINER
from tests.session.test_event import READING
from tests.support.fix_script import DONE, fix_steps, shell
from tests.support.repositories import commit_all, git, make_repository
from tests.support.runs import make_run
from tests.support.stage import CommandResult, Stage
from tests.support.verb_runs import fork_pull

CI = """on: push
jobs:
  test:
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v4
      - run: pip install -r requirements.txt
      - run: python -m unittest
"""
BASE = {
    ".github/agent.yml": "version: 1\n",
    ".github/workflows/ci.yml": CI,
    "requirements.txt": "# nothing yet\n",
}
EVIL = {
    ".github/workflows/ci.yml": CI.replace("requirements.txt", "evil.txt"),
    "requirements.txt": "evil-package-of-the-head==1\n",
    "evil.txt": "evil-package-of-the-head==1\n",
}


def of_pull(folder: Path) -> Checkout:
    """A checkout of a head whose base branch is the commit before it."""
    repo = make_repository(folder / "repo", BASE)
    base = git(repo, "rev-parse", "HEAD")
    for name, text in EVIL.items():
        (repo / name).write_text(text)
    commit_all(repo)
    checkout = check_out(Source(str(repo), "HEAD"), folder / "checkout", history="full")
    return checkout._replace(policy_sha=base)


def preparation(checkout: Checkout, policy: str) -> tuple[SetupStep, ...]:
    return detected_setup(load_policy(policy), detected_at(checkout))


def test_a06_the_head_of_a_pull_request_names_no_command_of_the_preparation(tmp_path: Path):
    checkout = of_pull(tmp_path)
    [step] = preparation(checkout, "version: 1\n")
    assert "-r requirements.txt" in step.command
    assert "evil" not in step.command


@pytest.mark.parametrize("text", ["setup: [make]", "bring: [.venv]"])
def test_a_policy_that_says_how_is_left_alone(tmp_path: Path, text: str):
    assert preparation(of_pull(tmp_path), f"version: 1\n{text}\n") == ()


def test_a06_files_of_the_head_are_not_there_while_its_environment_is_prepared(tmp_path: Path):
    run = make_run(tmp_path / "run", of_pull(tmp_path))

    def open_workspace(name: str, tree: Path, environment: object, *, checks: bool) -> Workspace:
        return Workspace.start(
            Off(),
            StartOptions(tree, run.folder.workspace(name), run.environment),
            lambda question: Answer(False),
        )

    keep_what_it_sees = SetupStep("cat *.txt .github/workflows/ci.yml > seen", 60)
    workspaces: Any = SimpleNamespace(start=open_workspace, network=Network(run, ()))
    trees = Trees(run, workspaces, [keep_what_it_sees], prepared_from=run.checkout.policy_sha)
    trees.begin()
    trees.environment()
    assert not run.kept
    assert (run.folder.setup_output / "seen").read_text() == BASE["requirements.txt"] + CI


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_a06_nor_in_a_whole_run(stage: Stage):
    """With a real environment of Python, which takes seconds to make."""
    evil = {name: text for name, text in EVIL.items() if name != "requirements.txt"}
    result = _fixed_on_head(stage, evil)
    assert "setup: [ -d .venv ]" in result.output
    [check] = [one for one in stage.outcome()["checks"] if one["name"] == "python -m unittest"]
    assert (check["command"], check["after"]["state"]) == ("python -m unittest", "passed")


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_a06_for_a_head_with_other_lock_files_nothing_is_installed_and_that_is_said(stage: Stage):
    result = _fixed_on_head(stage, EVIL)
    assert "setup:" not in result.output
    [note] = [one for one in stage.outcome()["notes"] if "lock files" in one]
    assert "Nothing was installed" in note


def _fixed_on_head(stage: Stage, head: dict[str, str]) -> CommandResult:
    """A maintainer's fix on a pull request whose head has these files."""
    stage.forge.commit(stage.repo, BASE)
    stage.forge.commit(stage.repo, head, branch="topic", author=MAINTAINER)
    number = stage.forge.open_pull(stage.repo, MAINTAINER, "topic")
    token = stage.forge.token(permissions=READING, repo=stage.repo)
    event = stage.ask("/agent fix the rounding", number=number)
    result = stage.run(model=fix_steps(), event=event, token=token, SLASH_AGENT_PREPARE="auto")
    assert result.code == 0, result.output
    return result


@pytest.mark.bubblewrap
def test_a32_nothing_is_prepared_for_the_head_of_a_fork(stage: Stage):
    stage.forge.commit(stage.repo, BASE)
    number = fork_pull(stage, EVIL)
    token = stage.forge.token(permissions=READING, repo=stage.repo)
    event = stage.ask("/agent fix the rounding", number=number)
    result = stage.run(
        model=[shell("ls -a"), DONE, DONE], event=event, token=token, SLASH_AGENT_PREPARE="auto"
    )
    assert "setup:" not in result.output
    assert "pip install" not in result.output
