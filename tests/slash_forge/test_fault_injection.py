"""The trouble GitHub makes: limits, tokens that die half-way, refs that lag behind a push."""

from collections.abc import Callable
from pathlib import Path

import pytest
from github.Repository import Repository

from slash_forge import Forge
from tests.slash_forge.conftest import REPO, Run, Wire, refusal, with_token

WireTo = Callable[..., Wire]


@pytest.mark.parametrize(
    ("kind", "status", "header", "words"),
    [
        ("secondary", 403, "retry-after", "secondary rate limit"),
        ("429", 429, "retry-after", "secondary rate limit"),
        ("abuse", 403, "retry-after", "abuse detection"),
        ("primary", 403, "x-ratelimit-reset", "rate limit exceeded"),
    ],
)
def test_somebody_too_fast_is_told_so(
    forge: Forge, wire: WireTo, bot_token: str, kind: str, status: int, header: str, words: str
) -> None:
    forge.limit_next("POST", kind=kind, retry_after=7)  # type: ignore[arg-type]  # parametrised
    ask = wire(bot_token)
    answer = ask.api("POST", f"/repos/{REPO}/issues", {"title": "x"})
    assert (answer.status, words in answer.json["message"]) == (status, True)
    assert int(answer.headers[header]) >= 7
    assert (answer.headers["x-ratelimit-remaining"] == "0") == (kind == "primary")
    assert ask.api("POST", f"/repos/{REPO}/issues", {"title": "x"}).json["number"] == 1


@pytest.fixture
def work(forge: Forge, git: Run, bot_token: str, tmp_path: Path) -> Path:
    git("clone", "-q", with_token(forge.clone_url(REPO), bot_token), "work")
    return tmp_path / "work"


def push(git: Run, work: Path, branch: str) -> str:
    git("commit", "-q", "--allow-empty", "-m", "More", cwd=work)
    git("push", "-q", "origin", f"HEAD:refs/heads/{branch}", cwd=work)
    return git("rev-parse", "HEAD", cwd=work).stdout.strip()


def test_a_new_branch_is_not_seen_at_once(forge: Forge, repo: Repository, git: Run, work: Path) -> None:
    forge.lag_behind(REPO, 3)
    sha = push(git, work, "topic")
    with refusal(404):
        repo.get_branch("topic")
    with refusal(422, "'head'"):
        repo.create_pull(base="main", head="topic", title="x", body="")
    with refusal(404):
        repo.get_git_ref("heads/topic")
    assert repo.create_pull(base="main", head="topic", title="x", body="").head.sha == sha
