"""`slash-agent review --post`: a local review on the pull request of its branch, over a forge."""

from pathlib import Path
from typing import Any

import pytest

from tests.session.conftest import Cli, CommandResult
from tests.support.fix_script import VIEW
from tests.support.model_script import Call, Say
from tests.support.repositories import commit_all, git
from tests.support.stage import MODEL, Stage

pytestmark = pytest.mark.bubblewrap

MIRA = "mira-okafor"
CODE = "def mean(values):\n    return sum(values) / len(values)\n"
FOUND = {
    "path": "stats.py",
    "line": 2,
    "severity": "major",
    "kind": "crash",
    "title": "Fails on nothing",
    "body": "B.",
}


@pytest.fixture
def number(stage: Stage) -> int:
    stage.forge.commit(stage.repo, {"stats.py": CODE}, branch="topic", author=MIRA)
    return stage.forge.open_pull(stage.repo, MIRA, "topic")


@pytest.fixture
def clone(stage: Stage, tmp_path: Path) -> Path:
    folder = stage.clone(tmp_path / "clone")
    git(folder, "switch", "-q", "topic")
    return folder


def posted(cli: Cli, stage: Stage, clone: Path, *steps: Any) -> tuple[CommandResult, int]:
    ran = cli(
        "review", "--repo", clone, "--base", "origin/main", "--model", MODEL, "--post",
        model=[VIEW, *steps, Say("Adds a mean.")], GH_HOST=stage.forge.url.partition("://")[2],
        GH_ENTERPRISE_TOKEN=stage.sample.maintainer_token,
    )  # fmt: skip
    return ran, len(ran.requests)


@pytest.mark.slow
@pytest.mark.usefixtures("number")
def test_the_review_is_on_the_pull_request_and_a_second_one_asks_no_model(
    cli: Cli, stage: Stage, clone: Path, number: int
):
    (clone / ".github" / "agent.yml").write_text("version: 1\nsetup: ['true']\n")
    ran, _ = posted(cli, stage, clone, Call("report_finding", FOUND))
    assert ran.code == 0, ran.output
    assert "setup: true" in ran.err
    [comment] = stage.get(f"pulls/{number}/comments")
    assert (comment["path"], comment["line"], comment["user"]["login"]) == ("stats.py", 2, MIRA)
    ran, requests = posted(cli, stage, clone)
    assert (ran.code, requests) == (0, 0)
    assert "Nothing of the diff is new since" in ran.out
    assert "setup: true" not in ran.err


@pytest.mark.usefixtures("number")
def test_a_head_that_is_not_pushed_and_a_branch_without_a_pull_request_are_said(
    cli: Cli, stage: Stage, clone: Path
):
    (clone / "more.py").write_text("x = 1\n")
    commit_all(clone, "More")
    ran, requests = posted(cli, stage, clone)
    assert (ran.code, requests) == (2, 0)
    assert "push or pull first" in ran.err
    git(clone, "switch", "-q", "-c", "other")
    ran, _ = posted(cli, stage, clone)
    assert ran.code == 2
    assert "The branch other has no open pull request in riverbend/tidytime" in ran.err
    assert stage.writes() == []


@pytest.mark.usefixtures("number")
def test_a134_a_token_does_not_go_to_a_repository_that_is_on_another_server(
    cli: Cli, stage: Stage, clone: Path
):
    git(clone, "remote", "set-url", "origin", f"https://elsewhere.example/{stage.repo}")
    ran, requests = posted(cli, stage, clone)
    assert (ran.code, requests) == (2, 0)
    assert "There is no token for elsewhere.example" in ran.err
