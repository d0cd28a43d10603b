"""Pushes and changed files: what git knows, in GitHub's words; and the bundled sample: one real bug, one failing test,
a fix of a few lines."""

import os
import resource
import sys
from pathlib import Path

import pytest
from github.Repository import Repository

from bot.github.client import connect as connect_client
from slash_forge import Forge
from slash_forge.bundled import set_up
from tests.slash_forge.conftest import REPO, Run, Wire, with_token
from tests.support.programs import run_program


def test_pushes_are_listed_newest_first(forge: Forge, bot_token: str):
    zero, first = "0" * 40, str(forge.branch_sha(REPO))
    one = forge.commit(REPO, {"a": "1"}, branch="fix/#1")
    two = forge.commit(REPO, {"a": "2"}, branch="fix/#1")
    forge.delete_branch(REPO, "fix/#1")
    forge.create_repository("eve", "secret", private=True)
    pushes = connect_client(bot_token, forge.api_url, REPO).pushes
    assert [push.after for push in pushes(REPO, "fix/#1") or ()] == [zero, two, one]
    assert [push.after for push in pushes(REPO, "main") or ()] == [first]
    assert (pushes(REPO, "nothing"), pushes("eve/secret", "main")) == ([], None)


def test_every_kind_of_change_has_its_status(forge: Forge, repo: Repository):
    text = "".join(f"line {number}\n" for number in range(20))
    forge.commit(REPO, {"old name.txt": text, "gone.txt": "bye\n", "bin": b"\0\1"})
    changes = {
        "old name.txt": None,
        "new näme.txt": text + "more\n",
        "gone.txt": None,
        "added.txt": "hi\n",
        "bin": b"\0\2",
        "empty": "",
    }
    forge.commit(REPO, changes, branch="many")
    pull = repo.create_pull(base="main", head="many", title="Many", body="")
    files = {file.filename: file for file in pull.get_files()}
    assert {name: file.status for name, file in files.items()} == {
        "new näme.txt": "renamed",
        "gone.txt": "removed",
        "added.txt": "added",
        "bin": "modified",
        "empty": "added",
    }
    assert files["new näme.txt"].previous_filename == "old name.txt"
    assert files["new näme.txt"].patch.endswith("+more")
    assert files["bin"].raw_data.get("patch") is None
    assert files["empty"].raw_data.get("patch") is None


# Forks


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


NOT_HERE = "only the head of the pull request"


@pytest.mark.parametrize(
    ("login", "branch", "words"),
    [
        *(("ada", branch, NOT_HERE) for branch in ("main", "fix2", "Fix", "new")),
        ("tom", "fix", "denied to tom"),
        ("github-actions[bot]", "fix", "denied"),
        ("ada after a change of the setting", "fix", "denied to ada"),
        ("ada after it was closed", "fix", "denied to ada"),
    ],
)
def test_a_push_to_it_is_refused(
    forge: Forge, git: Run, number: int, work: Path, login: str, branch: str, words: str
):
    login, _, change = login.partition(" after ")
    if "setting" in change:
        forge.set_pull(REPO, number, maintainer_can_modify=False)
    elif change:
        forge.set_thread(REPO, number, state="closed")
    token = forge.token(login, {"contents": "write"} if "[bot]" in login else None)
    url = forge.clone_url("eve/lib")
    git("fetch", "-q", url, "fix", cwd=work)
    git("checkout", "-q", "FETCH_HEAD", cwd=work)
    git("commit", "-q", "--allow-empty", "-m", "By somebody else", cwd=work)
    pushed = git("push", "-q", with_token(url, token), f"HEAD:refs/heads/{branch}", cwd=work, check=False)
    assert pushed.returncode != 0
    assert words in pushed.stderr


def test_exactly_one_test_fails_and_the_suite_is_quick(git: Run, tmp_path: Path):
    with Forge() as forge:
        git("clone", "-q", forge.clone_url(set_up(forge).repository), "sample")
    environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "unittest"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    completed = run_program(command, cwd=tmp_path / "sample", env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert completed.returncode == 1
    assert "FAILED (failures=1)" in completed.stderr
    assert "test_rounding_carries_into_the_next_unit" in completed.stderr
    assert after.ru_utime - before.ru_utime < 5


def test_it_begins_at_the_same_commit_every_time():
    commits = set()
    for _ in range(2):
        with Forge() as forge:
            commits.add(forge.branch_sha(set_up(forge).repository))
    assert len(commits) == 1


def test_its_two_tokens_may_what_two_jobs_need():
    with Forge() as forge:
        sample = set_up(forge)
        ref = {"ref": "refs/heads/x", "sha": forge.branch_sha(sample.repository)}
        path = f"/repos/{sample.repository}"
        run, publish = Wire(forge, sample.run_token), Wire(forge, sample.publish_token)
        assert run.api("POST", f"{path}/issues/{sample.issue}/comments", {"body": "x"}).status == 201
        assert run.api("POST", f"{path}/git/refs", ref).status == 403
        assert publish.api("POST", f"{path}/git/refs", ref).status == 201
