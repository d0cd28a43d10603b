"""`patch` on real files: what it does to a tree, and that it does it wholly or not at all."""

import hashlib
import os
from pathlib import Path

import pytest

from bot.contracts.tools import Answer
from tests.toolhost.conftest import Bench
from tests.toolhost.patch_scenarios import SCENARIOS, Tree


def snapshot(root: Path) -> dict[str, tuple[bytes, int]]:
    """Every file with its bytes and mode, and every folder."""
    found: dict[str, tuple[bytes, int]] = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            content = b"" if path.is_dir() else path.read_bytes()
            found[str(path.relative_to(root))] = (content, path.lstat().st_mode)
    return found


def files(root: Path) -> Tree:
    return {name: content for name, (content, mode) in snapshot(root).items() if mode & 0o100000}


def fill(bench: Bench, tree: dict[str, str | bytes], *, view: bool = True) -> None:
    for name, content in tree.items():
        bench.write(name, content)
        if view:
            bench.call("view", path=name)


def wrapped(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"]) + "\n"


def apply(bench: Bench, *lines: str) -> str:
    return bench.text("patch", patch=wrapped(*lines))


def refuse(bench: Bench, *lines: str) -> str:
    """The message of a patch that must fail and leave everything as it was, modes too."""
    before = snapshot(bench.root)
    message = bench.refusal("patch", patch=wrapped(*lines))
    assert snapshot(bench.root) == before
    return message


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(bench: Bench, name: str):
    before, patch, after = SCENARIOS[name]
    fill(bench, dict(before))
    if isinstance(after, str):
        kept = snapshot(bench.root)
        assert after in bench.refusal("patch", patch=patch)
        assert snapshot(bench.root) == kept
    else:
        bench.call("patch", patch=patch)
        assert files(bench.root) == after


def test_everything_that_is_wrong_is_told_at_once(bench: Bench):
    fill(bench, {"a.txt": "one\ntwo\nthree\n", "b.txt": "one\n"})
    bench.write("unseen.txt", "x\n")
    message = refuse(
        bench,
        "*** Update File: a.txt", "@@", "-ome", "+1", "@@", "-two", "+2", "@@", "-tree", "+3",
        "*** Update File: unseen.txt", "@@", "-x", "+y",
        "*** Delete File: gone.txt",
        "*** Add File: b.txt", "+1",
    )  # fmt: skip
    assert message.startswith(
        "Nothing was written: the patch has 5 problems (lines are those of the patch).\n"
    )
    places = [line.split(":")[0] for line in message.splitlines() if line.startswith("- line")]
    assert places == [
        "- line 3, a.txt", "- line 9, a.txt", "- line 12, unseen.txt", "- line 16, gone.txt", "- line 17, b.txt",
    ]  # fmt: skip
    assert "First difference, line 1 of the file (· space, → tab):\nfile: one\nsent: ome" in message
    assert 'Call view {"path": "unseen.txt"}' in message
    assert message.endswith("Send the whole patch again, corrected.")


def test_the_result_names_the_files_and_lines(bench: Bench):
    fill(bench, {"a.txt": "".join(f"line {n}\n" for n in range(1, 21)), "b.txt": "b\n", "c.txt": "c\n"})
    said = apply(
        bench,
        "*** Update File: a.txt", "@@", "-line 2", "+two", "@@", "-line 19", "+nineteen",
        "*** Update File: b.txt", "*** Move to: d/b.txt", "@@", "-b", "+B",
        "*** Delete File: c.txt", "*** Add File: e.txt", "+e",
    )  # fmt: skip
    assert said == (
        "Patched 4 files (+4 -4).\nM a.txt (+2 -2)\nR b.txt -> d/b.txt (+1 -1)\n"
        "D c.txt (+0 -1)\nA e.txt (+1 -0)"
    )


def test_the_metadata_has_for_each_file_what_an_edit_has(bench: Bench):
    fill(bench, {"a.txt": "one\n", "b.txt": "b\n", "c.txt": "c\n"})
    for name, mode in (("a.txt", 0o640), ("b.txt", 0o755), ("c.txt", 0o700)):
        (bench.root / name).chmod(mode)
    outcome = bench.call(
        "patch",
        patch=wrapped(
            "*** Update File: a.txt", "@@", "-one", "+1", "*** Update File: b.txt", "*** Move to: d.txt",
            "*** Delete File: c.txt",
        ),
    )  # fmt: skip
    assert (bench.root / "d.txt").stat().st_mode & 0o7777 == 0o755
    one, two, b, c = (hashlib.sha256(text).hexdigest() for text in (b"one\n", b"1\n", b"b\n", b"c\n"))
    assert outcome.metadata == {
        "additions": 1,
        "removals": 2,
        "files": [
            {
                "path": "a.txt", "diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-one\n+1\n", "additions": 1,
                "removals": 1, "before_hash": one, "after_hash": two, "created": False,
                "mode": 0o640, "content": "1\n",
            },
            {
                "path": "d.txt", "diff": "rename from b.txt\nrename to d.txt\n", "additions": 0, "removals": 0,
                "before_hash": None, "after_hash": b, "created": True, "moved_from": "b.txt",
                "mode": 0o755, "content": "b\n",
            },
            {
                "path": "b.txt", "diff": "", "additions": 0, "removals": 0, "before_hash": b, "after_hash": None,
                "created": False, "moved_to": "d.txt", "mode": 0o755,
            },
            {
                "path": "c.txt", "diff": "--- a/c.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-c\n", "additions": 0,
                "removals": 1, "before_hash": c, "after_hash": None, "created": False,
                "mode": 0o700,
            },
        ],
    }  # fmt: skip


def test_of_too_long_diffs_those_are_cut_that_nothing_is_worked_out_from(bench: Bench):
    """A version of a file is its diff over the one before; of a file that goes there is none to be had."""
    fill(bench, {"a.txt": "x" * 2_000_000 + "\n", "b.txt": "one\n", "c.txt": "y" * 2_000_000 + "\n"})
    outcome = bench.call(
        "patch",
        patch=wrapped(
            "*** Delete File: a.txt", "*** Update File: c.txt", "@@", "+end",
            "*** Update File: b.txt", "@@", "-one", "+1",
        ),
    )  # fmt: skip
    diffs = {file["path"]: file["diff"] for file in outcome.metadata["files"]}
    assert diffs["b.txt"] == "--- a/b.txt\n+++ b/b.txt\n@@ -1,1 +1,1 @@\n-one\n+1\n"
    assert "more characters]" in diffs["c.txt"]
    assert "more characters]" in diffs["a.txt"]
    assert sum(map(len, diffs.values())) < 1_100_000
    assert [file["path"] for file in outcome.metadata["files"]] == ["a.txt", "c.txt", "b.txt"]


# What must be known of a file before it may change.


def test_a_file_that_was_not_viewed_is_not_patched(bench: Bench):
    fill(bench, {"a.txt": "one\n"}, view=False)
    assert 'Call view {"path": "a.txt"}' in refuse(bench, "*** Update File: a.txt", "@@", "-one", "+1")
    assert 'Call view {"path": "a.txt"}' in refuse(bench, "*** Delete File: a.txt")


def test_a_file_that_changed_since_is_patched_where_the_lines_are_there_once(bench: Bench):
    fill(bench, {"a.txt": "one\ntwo\n"})
    (bench.root / "a.txt").write_text("one\n2\nx\nx\n")
    assert "changed since it was viewed" in refuse(bench, "*** Delete File: a.txt")
    for section in (("@@ 2", "-x", "+y"), ("@@", "-one ", "+1"), ("@@ one", "+new"), ("@@", "+end")):
        message = refuse(bench, "*** Update File: a.txt", *section)
        assert "a.txt changed since it was viewed, and this section does not fit exactly once" in message
    said = apply(bench, "*** Update File: a.txt", "@@", "-one", "+1")
    assert "a.txt changed since it was viewed." in said
    assert (bench.root / "a.txt").read_text() == "1\n2\nx\nx\n"


def test_a_file_that_a_search_showed_is_patched_where_the_lines_are_there_once(bench: Bench):
    bench.write("a.txt", "".join(f"line {n}\n" for n in range(1, 51)))
    section = ("*** Update File: a.txt", "@@", " line 39", "-line 40", "+forty", " line 41")
    assert "not viewed yet" in refuse(bench, *section)
    bench.call("grep", pattern="line 40", context=1)
    apply(bench, *section)


# Unified diffs.


UNIFIED = """\
diff --git a/a.txt b/a.txt
index 1234567..89abcde 100644
--- a/a.txt
+++ b/a.txt
@@ -2,3 +2,3 @@ what is cut
 x
-y
+Y
 x
@@ -6 +6 @@
--- a
+++ b
\\ No newline at end of file
diff --git a/old.txt b/sub/new.txt
similarity index 100%
rename from old.txt
rename to sub/new.txt
diff --git a/made.txt b/made.txt
new file mode 100644
--- /dev/null
+++ b/made.txt
@@ -0,0 +1,2 @@
+made
+twice
--- a/gone.txt\t2026-11-28
+++ /dev/null
@@ -1 +0,0 @@
-gone
"""


@pytest.mark.parametrize("patch", [UNIFIED, wrapped(UNIFIED.rstrip()), f"```diff\n{UNIFIED}```"])
def test_a_unified_diff_that_fits_is_applied(bench: Bench, patch: str):
    """By the number of its lines where they fit several times."""
    fill(bench, {"a.txt": "x\nx\ny\nx\ny\n-- a\nx\ny\nx\n", "old.txt": "old\n", "gone.txt": "gone\n"})
    bench.call("patch", patch=patch)
    assert files(bench.root) == {
        "a.txt": b"x\nx\nY\nx\ny\n++ b\nx\ny\nx\n",
        "sub/new.txt": b"old\n",
        "made.txt": b"made\ntwice\n",
    }


# The result repeats little of what was sent.


def test_the_result_of_a_patch_that_fits_does_not_repeat_it(bench: Bench):
    fill(bench, {"a.txt": "one\ntwo\nthree\nfour\n"})
    said = apply(bench, "*** Update File: a.txt", "@@", " two", *(f"+line {n}" for n in range(75)), " three")
    assert said == "Patched: M a.txt (+75 -0)"


def test_a_file_that_was_moved_is_known_under_its_new_name(bench: Bench):
    fill(bench, {"a.txt": "one\ntwo\n"})
    apply(bench, "*** Update File: a.txt", "*** Move to: b.txt", "@@", "-one", "+1")
    bench.call("edit", path="b.txt", old="two", new="2")
    assert (bench.root / "b.txt").read_text() == "1\n2\n"


def test_a_link_is_patched_through_and_never_deleted_or_moved(bench: Bench):
    fill(bench, {"real.txt": "one\n"})
    (bench.root / "link.txt").symlink_to("real.txt")
    for operation in (("*** Delete File: link.txt",), ("*** Update File: link.txt", "*** Move to: x.txt")):
        assert "it is a link. Name the file it leads to, real.txt" in refuse(bench, *operation)


# One question, and nothing before its answer.

OPERATIONS = (
    "*** Update File: a.txt", "@@", "-one", "+1", "*** Add File: new/b.txt", "+b", "*** Delete File: c.txt",
    "*** Update File: d.txt", "*** Move to: moved/d.txt",
)  # fmt: skip
TREE: dict[str, str | bytes] = {"a.txt": "one\n", "c.txt": "c\n", "d.txt": "d\n"}


def test_one_question_covers_the_whole_plan_in_its_order(bench: Bench):
    fill(bench, TREE)
    apply(bench, *OPERATIONS)
    assert len(bench.questions) == 1
    tool, asked, diff = bench.questions[0]
    assert tool == "patch"
    assert asked == [
        ("a.txt", "change"), ("new/b.txt", "create"), ("c.txt", "delete"), ("moved/d.txt", "create"),
        ("d.txt", "delete"),
    ]  # fmt: skip
    for piece in ("--- a/a.txt", "+++ b/new/b.txt", "+++ /dev/null", "rename to moved/d.txt"):
        assert piece in diff


def test_a_change_during_the_question_is_overwritten_in_no_file(bench: Bench):
    fill(bench, TREE)

    def meanwhile() -> Answer:
        (bench.root / "d.txt").write_text("by somebody else\n")
        return Answer(True)

    bench.answer = meanwhile
    assert "d.txt changed meanwhile; nothing was written" in bench.refusal(
        "patch", patch=wrapped(*OPERATIONS)
    )
    assert files(bench.root) == {"a.txt": b"one\n", "c.txt": b"c\n", "d.txt": b"by somebody else\n"}
