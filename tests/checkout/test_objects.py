"""Many files of a commit at once, whatever they are called."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.checkout.git import Git
from bot.checkout.objects import blobs_at
from tests.support.repositories import git, make_repository

FILES = {
    "a.txt": b"one\n",
    "with space": b"x missing\n",
    "new\nline": b"two",
    "deep/er": b"",
    "binary": bytes(range(256)),
    "colon:^{}": b"three",
}


def test_contents_are_those_of_the_commit(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r", FILES)
    (repo / "a.txt").write_text("changed")
    contents = blobs_at(
        Git(repo / ".git"), git(repo, "rev-parse", "HEAD"), [*FILES, "deep", "no/such", "a.txt\nx"]
    )
    assert contents == FILES


@pytest.mark.slow
def test_more_than_fit_into_one_question(tmp_path: Path) -> None:
    files = {f"{number}.txt": f"{number}".encode() for number in range(1201)}
    repo = make_repository(tmp_path / "r", files)
    assert blobs_at(Git(repo / ".git"), git(repo, "rev-parse", "HEAD"), files) == files


def test_no_path_however_odd_upsets_it(tmp_path_factory) -> None:  # type: ignore[no-untyped-def]  # a plain fixture
    repo = make_repository(tmp_path_factory.mktemp("odd") / "r", FILES)
    base, at = Git(repo / ".git"), git(repo, "rev-parse", "HEAD")

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.text(min_size=1, max_size=20) | st.sampled_from(["\ud800", "\udcff", ":0:a", "../a.txt"]))
    )
    def check(paths: list[str]) -> None:
        assert blobs_at(base, at, paths) == {path: FILES[path] for path in paths if path in FILES}

    check()
