"""Pushes and changed files: what git knows, in GitHub's words."""

from github.Repository import Repository

from bot.github.client import connect as connect_client
from slash_forge import Forge
from tests.slash_forge.conftest import REPO


def test_pushes_are_listed_newest_first(forge: Forge, bot_token: str):
    zero, first = "0" * 40, str(forge.branch_sha(REPO))
    one = forge.commit(REPO, {"a": "1"}, branch="fix/#1")
    two = forge.commit(REPO, {"a": "2"}, branch="fix/#1")
    forge.delete_branch(REPO, "fix/#1")
    forge.create_repository("eve", "secret", private=True)
    pushes = connect_client(bot_token, forge.api_url, REPO).pushes
    ends = [(push.before, push.after) for push in pushes(REPO, "fix/#1") or ()]
    assert ends == [(two, zero), (one, two), (zero, one)]
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
