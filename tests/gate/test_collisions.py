"""New paths that a file system which ignores case, or letter forms, would take for another (A-52)."""

import time
from pathlib import Path

import pytest

from bot.gate.path_rules import collisions
from tests.support.repositories import Repository
from tests.support.trees import Bench, bench


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("pristine")
    repository = Repository(folder / "source")
    repository.commit(**{"README.md": "one\n", "src/app.py": "one\n", "caf\u00e9.txt": "one\n"})
    return bench(folder, repository)


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
    repository = Repository(tmp_path / "source")
    repository.commit(**{"a.txt": "one\n", "A.txt": "one\n", "Dir/x": "x\n", "dir/y": "y\n"})
    desk = bench(tmp_path, repository)
    desk.write("a.txt", "changed\n")
    assert desk.judge().withheld == ()


def test_a_large_base_is_compared_in_passing():
    base = [f"packages/p{number}/src/module_{number}.py" for number in range(30_000)]
    started = time.process_time()
    assert collisions([*base, "Packages/x"], ["Packages/x"]) == {"Packages/x": "packages"}
    assert time.process_time() - started < 1.5
