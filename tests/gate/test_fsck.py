"""git's own word on what is to leave: new objects alone, whatever a repository's past holds."""

import pytest

from bot.contracts.errors import GateError
from bot.gate.objects import refuse_unsound, scratch
from tests.support.repositories import Repository
from tests.support.trees import Bench, bench

MODULES = '[submodule "a"]\n\tpath = a\n\turl = https://github.com/o/a\n'


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("pristine")
    repository = Repository(folder / "source")
    repository.commit("Base", **{"a.txt": "one\n", ".gitmodules": MODULES})
    return bench(folder, repository)


def verdict(desk: Bench, *entries: str) -> None:
    """Entries of a tree as git's own `mktree` takes them, which asks no questions."""
    git = desk.checkout.git
    blob = git.run("hash-object", "-w", "--stdin", input=b"new\n").decode().strip()
    listed = "".join(f"{entry.replace('BLOB', blob)}\n" for entry in entries)
    tree = git.run("mktree", "--missing", input=listed.encode()).decode().strip()
    with scratch(git, desk.checkout.base_sha) as room:
        refuse_unsound(room, tree)


@pytest.mark.parametrize("name", [".git", ".GIT", ".g\u200cit", "GIT~1", ".git.", "..", "."])
def test_a52_names_that_git_would_not_check_out_are_refused_by_git_as_well(desk: Bench, name: str):
    with pytest.raises(GateError, match="git refuses what would be published"):
        verdict(desk, f"100644 blob BLOB\t{name}")


def test_links_in_place_of_gits_own_files_are_refused(desk: Bench):
    with pytest.raises(GateError, match="git refuses"):
        verdict(desk, "120000 blob BLOB\t.gitmodules")


def test_what_is_sound_and_what_was_there_before_passes(desk: Bench):
    desk.write("b.txt", "two\n")
    assert [file.path for file in desk.judge().files] == ["b.txt"]
    verdict(desk, "100644 blob BLOB\tgit.txt", "100755 blob BLOB\trun")
