"""Properties of the path rules that no list of examples covers."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.gate.links import leads_out
from bot.gate.path_rules import collisions, folded, is_git_folder, refusal, withholding
from tests.support.repositories import Repository
from tests.support.trees import Bench, bench

names = st.text(min_size=1, max_size=30).filter(lambda name: "/" not in name)
invisible = st.text(alphabet="\u200b\u200c\u200d\u2060\ufeff\u00ad\ufe0f", max_size=3)


def disguised(name: str) -> st.SearchStrategy[str]:
    """`name` with letters in any case, invisible characters between them, and dots and spaces after it."""
    letters = [
        st.tuples(st.sampled_from([char.lower(), char.upper()]), invisible).map("".join) for char in name
    ]
    return st.tuples(*letters, st.sampled_from(["", ".", " ", ". .", ":stream", "::$DATA"])).map("".join)


@given(disguised(".git"))
def test_no_disguise_of_git_passes(name: str):
    assert is_git_folder(name)
    assert refusal(f"dir/{name}/x") is not None


@given(disguised(".github"), names)
def test_no_disguise_of_a_protected_folder_passes(name: str, rest: str):
    assert withholding(f"{name}/{rest}") is not None


@given(names)
def test_folding_twice_is_folding_once(name: str):
    assert folded(folded(name)) == folded(name)


@given(st.text(max_size=60))
def test_a_path_that_is_accepted_is_harmless(path: str):
    if refusal(path) is None:
        assert path.encode().decode() == path
        assert all(part not in ("", ".", "..") for part in path.split("/"))
        assert all(char.isprintable() or char.isspace() or ord(char) > 0x9F for char in path)


@given(st.lists(st.sampled_from(["..", ".", "a", "b", "d"]), min_size=1, max_size=12))
def test_a_target_leads_out_exactly_when_it_climbs_above_the_root(steps: list[str]):
    depth, climbed = 2, False
    for step in steps:
        depth += {"..": -1, ".": 0}.get(step, 1)
        climbed = climbed or depth < 0
        depth = max(depth, 0)
    assert (leads_out("x/y/link", {"x/y/link": "/".join(steps)}) is not None) == climbed


def test_links_that_multiply_end(tmp_path: object):
    links = {f"l{number}": f"l{number + 1}/l{number + 1}" for number in range(60)} | {"l60": "."}
    started = time.process_time()
    assert leads_out("l0", links) == "goes round in a circle"
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "path", ["a" * 5000, "/".join(["a" * 300]), "a//b", "a/", "/a", "", ".", "a/./b", "..", "a/.."]
)
def test_malformed_paths_are_refused(path: str):
    assert refusal(path) is not None


# Paths that collide


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
