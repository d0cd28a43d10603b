"""Pull requests from forks: their heads in the base repository, and whose pushes they take."""

from pathlib import Path

import pytest

from slash_forge import Forge
from tests.slash_forge.conftest import REPO, Run, with_token


@pytest.fixture
def number(forge: Forge) -> int:
    fork = forge.fork(REPO, "eve")
    forge.commit(fork, {"calc.py": "def add(a, b):\n    return a + b\n"}, branch="fix", author="eve")
    return forge.open_pull(REPO, "eve", "eve:fix", title="From outside")


@pytest.fixture
def work(forge: Forge, git: Run, number: int, tmp_path: Path) -> Path:
    git("clone", "-q", forge.clone_url(REPO), "work")
    return tmp_path / "work"


def head_of(git: Run, work: Path, number: int, kind: str = "head") -> str:
    git("fetch", "-q", "origin", f"+refs/pull/{number}/{kind}:refs/private/{kind}", cwd=work)
    return git("rev-parse", f"refs/private/{kind}", cwd=work).stdout.strip()


def test_its_head_and_merge_are_fetched_from_the_base_repository(
    forge: Forge, git: Run, number: int, work: Path
):
    assert head_of(git, work, number) == forge.branch_sha("eve/lib", "fix")
    head_of(git, work, number, "merge")
    assert "a + b" in git("show", "refs/private/merge:calc.py", cwd=work).stdout


def push(git: Run, forge: Forge, login: str, work: Path, branch: str, permissions: object = None) -> str:
    token = forge.token(login, permissions)  # type: ignore[arg-type]  # a mapping or None
    git("fetch", "-q", forge.clone_url("eve/lib"), "fix", cwd=work)
    git("checkout", "-q", "FETCH_HEAD", cwd=work)
    git("commit", "-q", "--allow-empty", "-m", "By somebody else", cwd=work)
    completed = git(
        "push", "-q", with_token(forge.clone_url("eve/lib"), token), f"HEAD:refs/heads/{branch}",
        cwd=work, check=False,
    )  # fmt: skip
    return "" if completed.returncode == 0 else completed.stderr


@pytest.mark.parametrize("branch", ["main", "fix2", "Fix", "new"])
def test_and_to_no_other_branch(forge: Forge, git: Run, number: int, work: Path, branch: str):
    assert "only the head of the pull request" in push(git, forge, "ada", work, branch)


def test_nobody_else_does(forge: Forge, git: Run, number: int, work: Path):
    assert "denied to tom" in push(git, forge, "tom", work, "fix")
    assert "denied" in push(git, forge, "github-actions[bot]", work, "fix", {"contents": "write"})


@pytest.mark.parametrize("change", ["setting", "closed"])
def test_nor_do_maintainers_afterwards(forge: Forge, git: Run, number: int, work: Path, change: str):
    if change == "setting":
        forge.set_pull(REPO, number, maintainer_can_modify=False)
    else:
        forge.set_thread(REPO, number, state="closed")
    assert "denied to ada" in push(git, forge, "ada", work, "fix")
