"""Lines of diffs, against what is known without them: the two texts themselves."""

import difflib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slash_forge.diffs import FileDiff, changed_files, moved_line
from slash_forge.git import BareRepository, Signature

WHO = Signature("Ada", "ada@example.org", 1_700_000_000)
# Few different lines, so that equal ones meet; some look like parts of a diff themselves.
texts = st.lists(st.sampled_from(["a", "b", "", "+c", "-d", "@@ -1 +1 @@", "\\ e", " f"]), max_size=30)


def patch(before: list[str], after: list[str]) -> str:
    return "\n".join(list(difflib.unified_diff(before, after, lineterm=""))[2:])


@settings(deadline=None)
@given(texts, texts)
def test_every_row_names_the_line_it_shows(before: list[str], after: list[str]) -> None:
    if before == after:
        return
    text = patch(before, after)
    diff = FileDiff(text)
    lines = text.split("\n")
    for row in diff.rows:
        line = lines[row.position]
        if row.new is not None:
            assert line[1:] == after[row.new - 1]
            assert diff.find("RIGHT", row.new) is row
        if row.old is not None:
            assert line[1:] == before[row.old - 1]
        assert diff.at(row.position) is row
        assert diff.quote(row).startswith("@@ ")
        assert diff.quote(row).endswith(line)
    assert {row.old for row in diff.rows if row.new is None} == {
        line for line in range(1, len(before) + 1) if diff.find("LEFT", line)
    }


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> BareRepository:
    return BareRepository.create(Path(tmp_path_factory.mktemp("anchors")) / "a.git", "main")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=texts, after=texts)
def test_a_line_that_moved_still_says_the_same(
    git: BareRepository, before: list[str], after: list[str]
) -> None:
    old, new = (
        git.write_files(None, {"a.txt": "".join(f"{line}\n" for line in text).encode()}, "x\n", WHO)
        for text in (before, after)
    )
    for number, line in enumerate(before, start=1):
        now = moved_line(git, old, new, "a.txt", number)
        if now is not None:
            assert after[now - 1] == line
    if before == after:
        assert all(moved_line(git, old, new, "a.txt", line) == line for line in range(1, len(before) + 1))


@pytest.mark.parametrize(
    "name",
    ["a\tb", "a\nb", 'a"b', "a\\b", "-a", "\u00e4\u6f22", " a ", "a\t\tb\t", "diff --git a", "\nd/\t0"],
)
def test_a_file_may_have_any_name(git: BareRepository, name: str) -> None:
    def commit(files: dict[str, bytes]) -> str:
        blobs = {path: git.run("hash-object", "-w", "--stdin", stdin=data) for path, data in files.items()}
        entries = [f"100644 blob {sha.decode().strip()}\t{path}\0" for path, sha in blobs.items()]
        return git.run("mktree", "-z", stdin="".join(entries).encode()).decode().strip()

    plain = name.replace("/", "_")
    before = commit({plain: b"one\n", "z": b"same\nsame\nsame\n"})
    after = commit({plain: b"two\n", f"{plain}.moved": b"same\nsame\nsame\n"})
    changed, moved = changed_files(git, before, after)
    assert (changed.path, changed.additions, changed.deletions) == (plain, 1, 1)
    assert changed.patch == "@@ -1 +1 @@\n-one\n+two"
    assert (moved.path, moved.previous, moved.status) == (f"{plain}.moved", "z", "renamed")
