"""git's own word on what is to leave: new objects alone, whatever a repository's past holds; and new paths that a file
system which ignores case, or letter forms, would take for another (A-52)."""

import time
from pathlib import Path

import pytest

from bot.contracts.errors import GateError
from bot.gate.objects import refuse_unsound, scratch
from bot.gate.path_rules import collisions
from tests.support.trees import Bench, bench_of

MODULES = '[submodule "a"]\n\tpath = a\n\turl = https://github.com/o/a\n'


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    names = ("a.txt", "README.md", "src/app.py", "caf\u00e9.txt")
    files = {**dict.fromkeys(names, "one\n"), ".gitmodules": MODULES}
    return bench_of(tmp_path_factory.mktemp("pristine"), files)


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


@pytest.mark.parametrize(
    ("path", "other"),
    [
        ("readme.md", "README.md"), ("Src/x.py", "src"), ("SRC/app.py", "src"), ("src/App.py", "src/app.py"),
        ("cafe\u0301.txt", "caf\u00e9.txt"), ("README.md.", "README.md"), ("README.md::$DATA", "README.md"),
        ("READ\u200bME.md", "README.md"), ("\uff32EADME.md", "README.md"),
    ],
)  # fmt: skip
def test_a_path_that_hides_another_is_withheld(desk: Bench, path: str, other: str):
    desk.write(path)
    desk.write("src/app.py", "changed\n")
    verdict = desk.judge()
    assert [file.path for file in verdict.files] == ["src/app.py"]
    assert [file.path for file in verdict.withheld] == [path]
    assert other in verdict.withheld[0].reason


def test_two_new_paths_of_one_name_are_both_withheld(desk: Bench):
    desk.write("new/a.txt")
    desk.write("new/A.txt")
    assert {file.path for file in desk.judge().withheld} == {"new/a.txt", "new/A.txt"}


def test_a_name_may_change_its_case(desk: Bench):
    (desk.tree / "README.md").rename(desk.tree / "Readme.md")
    verdict = desk.judge()
    assert verdict.withheld == ()
    assert {file.path for file in verdict.files} == {"README.md", "Readme.md"}


def test_names_that_collide_in_the_base_already_are_left_alone(tmp_path: Path):
    desk = bench_of(tmp_path, {"a.txt": "one\n", "A.txt": "one\n", "Dir/x": "x\n", "dir/y": "y\n"})
    desk.write("a.txt", "changed\n")
    assert desk.judge().withheld == ()


def test_a_large_base_is_compared_in_passing():
    base = [f"packages/p{number}/src/module_{number}.py" for number in range(30_000)]
    started = time.process_time()
    assert collisions([*base, "Packages/x"], ["Packages/x"]) == {"Packages/x": "packages"}
    assert time.process_time() - started < 1.5
