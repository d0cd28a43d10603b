"""Properties of the path rules that no list of examples covers."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.gate.links import leads_out
from bot.gate.path_rules import folded, is_git_folder, refusal, withholding

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
