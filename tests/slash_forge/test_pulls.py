"""Pull requests: opened from real branches, read from real commits, refused where GitHub refuses."""

from collections.abc import Callable

import pytest
from github.PullRequest import PullRequest
from github.Repository import Repository

from slash_forge import Forge
from tests.slash_forge.conftest import REPO, Wire, refusal

FIXED = "def add(a, b):\n    return a + b\n"


@pytest.fixture
def branch(forge: Forge) -> str:
    forge.commit(REPO, {"calc.py": FIXED}, branch="agent/issue-1-fix", message="Add, do not subtract")
    return "agent/issue-1-fix"


@pytest.fixture
def pull(repo: Repository, branch: str) -> PullRequest:
    return repo.create_pull(base="main", head=branch, title="Add", body="Fixes #1", draft=True)


def test_every_kind_of_change_has_its_status(forge: Forge, repo: Repository) -> None:
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


def test_a_second_one_for_the_same_branch_is_refused(repo: Repository, pull: PullRequest) -> None:
    with refusal(422, "A pull request already exists for acme:agent/issue-1-fix."):
        repo.create_pull(base="main", head=pull.head.ref, title="Again", body="")


def test_a_branch_without_commits_of_its_own_is_refused(repo: Repository, forge: Forge) -> None:
    repo.create_git_ref("refs/heads/same", str(forge.branch_sha(REPO)))
    with refusal(422, "No commits between main and same"):
        repo.create_pull(base="main", head="same", title="Nothing", body="")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"base": "nowhere"}, "'field': 'base'"),
        ({"head": "nowhere"}, "'field': 'head'"),
        ({"head": "stranger:agent/issue-1-fix"}, "'field': 'head'"),
        ({"title": "  "}, "missing_field"),
        ({"title": "x" * 257}, "too long"),
        ({"body": "x" * 65_537}, "65536"),
        ({"draft": "yes"}, "not a boolean"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_fields_are_named(
    wire: Callable[[str], Wire], bot_token: str, branch: str, fields: dict[str, object], words: str
) -> None:
    body = {"base": "main", "head": branch, "title": "Add", **fields}
    answer = wire(bot_token).api("POST", f"/repos/{REPO}/pulls", body)
    assert answer.status == 422
    assert words in str(answer.json)


def test_a_setting_keeps_actions_from_opening_any(forge: Forge, repo: Repository, branch: str) -> None:
    forge.allow_actions_pull_requests(REPO, False)
    with refusal(403, "GitHub Actions is not permitted to create or approve pull requests."):
        repo.create_pull(base="main", head=branch, title="Add", body="")
