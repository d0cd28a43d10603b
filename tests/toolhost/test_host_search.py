"""`ls`, `glob` and `grep` as the model sees them."""

import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.files import write_file
from tests.toolhost.conftest import Bench

GREP: dict[str, tuple[dict[str, str | bytes], dict[str, Any], str]] = {
    "matches are grouped by file": ({"b.py": "one\ntwo\none\n", "a/a.py": "one\n"}, {"pattern": "one"},
                                    "a/a.py\n1:one\nb.py\n1:one\n3:one"),
    "none": ({"a.py": "one\n"}, {"pattern": "zzz", "glob": "*.py"}, "No line matches zzz in files like *.py."),
    "a dash and a colon": ({"a:1:b.txt": "--version\n", "-e": "--version\n"}, {"pattern": "--version"},
                           "-e\n1:--version\na:1:b.txt\n1:--version"),
    "literal": ({"a.py": "foo(*)\nfoo\n"}, {"pattern": "foo(*)", "literal": True}, "a.py\n1:foo(*)"),
    "words": ({"a.py": "def foo1\n"}, {"pattern": r"\bdef\s+\w+\d$"}, "a.py\n1:def foo1"),
    "looking ahead": ({"a.py": "def foo1\n"}, {"pattern": "(?i)^DEF f(?=oo)"}, "a.py\n1:def foo1"),
    "letters of any alphabet": ({"a.txt": "größe\nGRÖSSE Ö\n"}, {"pattern": r"^\w{5}$"}, "a.txt\n1:größe"),
    "their case": ({"a.txt": "größe\nGRÖSSE Ö\n"}, {"pattern": "(?i)gr.+ö|größe"}, "a.txt\n1:größe\n2:GRÖSSE Ö"),
    "the end of a CRLF line": ({"a.txt": b"foo\r\nbar\r\n"}, {"pattern": "foo$"}, "a.txt\n1:foo"),
    "context": ({"a.txt": "".join(f"{n}\n" for n in range(1, 21))}, {"pattern": "^(3|5|15)$", "context": 1},
                "a.txt\n2-2\n3:3\n4-4\n5:5\n6-6\n--\n14-14\n15:15\n16-16"),
    "context at the ends": ({"a.txt": "1\n2\n"}, {"pattern": "2", "context": 50}, "a.txt\n1-1\n2:2"),
    "files": ({"a.txt": "x\nx\n", "b.txt": "x\n"}, {"pattern": "x", "mode": "files"}, "a.txt\nb.txt"),
    "count": ({"a.txt": "x\nx\n", "b.txt": "x\n"}, {"pattern": "x", "mode": "count"}, "a.txt: 2\nb.txt: 1"),
    "a folder and a glob": ({"src/a.py": "x\n", "src/a.ts": "x\n", "src/deep/b.py": "x\n", "lib/a.py": "x\n"},
                            {"pattern": "x", "path": "src", "glob": "*.py", "mode": "files"},
                            "src/a.py\nsrc/deep/b.py"),
    "braces": ({"src/a.ts": "x\n", "src/c.tsx": "x\n", "lib/a.ts": "x\n"},
               {"pattern": "x", "glob": "src/*.{ts,tsx}", "mode": "files"}, "src/a.ts\nsrc/c.tsx"),
    "a file": ({"a.py": "x\n", "b.py": "x\n"}, {"pattern": "x", "path": "b.py"}, "b.py\n1:x"),
    "ignored and binary files are left out": (
        {".gitignore": "*.log\n", "a.log": "needle\n", "a.bin": b"needle\n\0", "a.txt": "needle\n"},
        {"pattern": "needle"}, "a.txt\n1:needle",
    ),
    "an ignored folder that is named": ({".gitignore": "node_modules/\n", "node_modules/x/index.js": "needle\n"},
                                        {"pattern": "needle", "path": "node_modules"},
                                        "node_modules/x/index.js\n1:needle"),
    "an ignored file that is named": ({".gitignore": "*.log\n", "a.log": "needle\n"},
                                      {"pattern": "needle", "path": "a.log"}, "a.log\n1:needle"),
    "attributes hide nothing": ({".gitattributes": "*.lock -diff binary\n", "a.lock": "needle\n"},
                                {"pattern": "needle"}, "a.lock\n1:needle"),
    "bytes that are no text": ({"a.txt": b"caf\xe9 needle\n"}, {"pattern": "needle"}, "a.txt\n1:caf\ufffd needle"),
    "an empty match": ({"a.txt": "a\n\nb"}, {"pattern": "x*"}, "a.txt\n1:a\n2:\n3:b"),
}  # fmt: skip


@pytest.mark.parametrize("name", GREP)
def test_grep(bench: Bench, name: str):
    tree, arguments, text = GREP[name]
    for path, content in tree.items():
        bench.write(path, content)
    assert bench.text("grep", **arguments) == text
    bench.commit_all()  # now with an index
    assert bench.text("grep", **arguments) == text


def test_a_file_without_end_hides_nothing_else(bench: Bench):
    bench.write("a.py", "one\n")
    os.truncate(bench.write("sparse", ""), 1 << 43)
    assert bench.text("grep", pattern="one") == "a.py\n1:one"


def test_the_first_hundred_of_all_are_shown(bench: Bench):
    bench.write("a.txt", "x\n" * 60)
    bench.write("b.txt", "x\n" * 60)
    text = bench.text("grep", pattern="x")
    assert text.count("\n") == 102
    assert "[over 100 lines match; narrow with path or glob" in text
    bench.write("b.txt", "y\n" + "x\ny\ny\n" * 60)
    *_, last, near, _ = bench.text("grep", pattern="x", context=1).splitlines()
    assert (last, near) == ("119:x", "120-y"), "no line around the match that is not shown"


def test_a_long_line_is_cut_around_the_match(bench: Bench):
    bench.write("a.txt", "ö" * 3000 + "needle" + "b" * 3000 + "\n")
    line = bench.text("grep", pattern="needle").splitlines()[1]
    assert re.fullmatch("1:…ö+needleb+…", line)
    assert len(line) <= 510


def test_links_are_not_followed_and_spilled_output_can_be_searched(bench: Bench, tmp_path: Path):
    write_file(tmp_path / "outside" / "a.txt", "needle\n")
    (bench.root / "file").symlink_to(tmp_path / "outside" / "a.txt")
    (bench.root / "folder").symlink_to(tmp_path / "outside")
    assert bench.text("grep", pattern="needle") == "No line matches needle."
    spill = bench.context.spill / "3.txt"
    spill.write_text("a\nneedle\n")
    assert bench.text("grep", pattern="needle", path=str(spill)).startswith("$TMPDIR/out/3.txt\n2:needle")


def test_a_changed_file_is_searched_as_it_is_now(bench: Bench):
    bench.write("a.txt", "old\n")
    bench.commit_all()
    bench.write("a.txt", "needle\n")
    bench.write("new.txt", "needle\n")
    assert bench.text("grep", pattern="needle|old", mode="count").splitlines() == ["a.txt: 1", "new.txt: 1"]


def test_another_repository_is_searched_when_it_is_named(bench: Bench):
    bench.write("other/a.txt", "needle\n")
    bench.git("init", "-q", cwd=bench.root / "other")
    assert bench.text("grep", pattern="needle") == "No line matches needle."
    assert "other/a.txt\n1:needle" in bench.text("grep", pattern="needle", path="other")


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("grep", {"pattern": ""}, "is empty"),
        ("grep", {"pattern": "a\nb"}, "line by line"),
        ("grep", {"pattern": "a\0b"}, "line by line"),
        ("grep", {"pattern": "x", "path": "sorce"}, "Did you mean source?"),
        ("grep", {"pattern": "foo("}, "The pattern foo( does not work as a regular expression: missing "),
        ("grep", {"pattern": "foo("}, '"literal" to true'),
        ("glob", {"pattern": ""}, "is empty"),
        ("glob", {"pattern": "../*.py"}, "cannot go up"),
        ("ls", {"path": "source/a.py"}, "source/a.py is not a folder. Show it with view."),
        ("ls", {"path": "sorce"}, "sorce does not exist. Did you mean source?"),
    ],
)
def test_what_cannot_be_searched_is_refused(bench: Bench, tool: str, arguments: dict[str, str], words: str):
    bench.write("source/a.py", "x\n")
    assert words in bench.refusal(tool, **arguments)


def test_glob_newest_first_then_by_name(bench: Bench):
    for name, age in (("c.py", 30), ("a.py", 10), ("b.py", 10), ("src/d.py", 20)):
        os.utime(bench.write(name), (1000 - age, 1000 - age))
    assert bench.text("glob", pattern="*.py").splitlines() == ["a.py", "b.py", "src/d.py", "c.py"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", {"a.py", "src/b.py", "src/deep/c.py"}),
        ("/*.py", {"a.py"}),
        ("./*.py", {"a.py"}),
        ("src/*.py", {"src/b.py"}),
        ("src/**/*.py", {"src/b.py", "src/deep/c.py"}),
        ("**/deep/**", {"src/deep/c.py"}),
        ("src/", {"src/b.py", "src/deep/c.py", "src/[id].tsx"}),
        ("*.{md,tsx}", {"src/[id].tsx", "README.md"}),
        ("src/[id].tsx", {"src/[id].tsx"}),
        ("?.py", {"a.py", "src/b.py", "src/deep/c.py"}),
        ("src?b.py", set()),
        ("nothing*", set()),
    ],
)
def test_glob_patterns(bench: Bench, pattern: str, expected: set[str]):
    for name in ("a.py", "src/b.py", "src/deep/c.py", "src/[id].tsx", "README.md"):
        bench.write(name)
    found = bench.text("glob", pattern=pattern)
    assert (set(found.splitlines()) if expected else found.startswith("No file matches")) == (
        expected or True
    )


def test_glob_in_a_folder_counts_from_there(bench: Bench):
    for name in ("a.py", "src/b.py", "src/deep/c.py"):
        bench.write(name)
    assert bench.text("glob", pattern="/*.py", path="src") == "src/b.py"
    assert bench.text("glob", pattern=f"{bench.root}/src/*.py") == "src/b.py"


def test_glob_leaves_out_ignored_files_but_not_folders_named_like_build(bench: Bench):
    names = {"build/a.py", "vendor/b.py", "tmp/c.py", "bin/d.py", "logs/e.py", ".hidden/f.py", "dist/g.py"}
    for name in names:
        bench.write(name)
    bench.write("x.pyc")
    bench.write(".gitignore", "*.pyc\n")
    assert set(bench.text("glob", pattern="*.py*").splitlines()) == names


def test_glob_shows_a_hundred_and_counts_all(bench: Bench):
    for n in range(130):
        bench.write(f"{n}.txt")
    lines = bench.text("glob", pattern="*.txt").splitlines()
    assert len(lines) == 101
    assert lines[-1].startswith("[the newest 100 of 130 files")


def test_ls_is_a_tree_with_counts_that_names_what_it_skips(bench: Bench):
    for name in (
        "README.md",
        "src/a.py",
        "src/deep/b.py",
        ".github/workflows/ci.yml",
        "node_modules/x/index.js",
    ):
        bench.write(name)
    bench.write(".gitignore", "node_modules/\n")
    (bench.root / "empty").mkdir()
    assert bench.text("ls") == (
        "./ (5 files)\n  .github/ (1 file)\n    workflows/ (1 file)\n      ci.yml\n  .gitignore\n  README.md\n"
        "  src/ (2 files)\n    a.py\n    deep/ (1 file)\n      b.py\n"
        "[2 skipped here, ignored or empty: empty/, node_modules/]"
    )
    assert bench.text("ls", path=".github") == ".github/ (1 file)\n  workflows/ (1 file)\n    ci.yml"
    assert bench.text("ls", path="node_modules") == "node_modules/ (1 file)\n  x/ (1 file)\n    index.js"


def test_the_name_of_a_folder_above_the_repository_hides_nothing(bench: Bench, tmp_path: Path):
    bench.context.root = tmp_path / ".hidden" / "node_modules" / "tree"
    bench.context.real_root = str(bench.context.root)
    bench.write("src/a.py", "needle\n")
    assert "a.py" in bench.text("ls")
    assert bench.text("glob", pattern="*.py") == "src/a.py"
    assert bench.text("grep", pattern="needle").startswith("src/a.py\n1:needle")


def test_paths_count_from_the_root_whatever_folder_the_shell_is_in(bench: Bench):
    bench.write("src/a.py", "needle\n")
    bench.context.cwd = bench.root / "src"
    assert bench.text("grep", pattern="needle", path="src/a.py").startswith("src/a.py\n")
    assert bench.text("glob", pattern="/src/*") == "src/a.py"
    assert bench.text("ls", path="src") == "src/ (1 file)\n  a.py"
    assert bench.text("view", path="src/a.py").startswith("src/a.py: 1 line")


def test_ls_fills_the_upper_levels_first(bench: Bench):
    for n in range(900):
        bench.write(f"aaa/deep/{n}.txt")
    for n in range(300):
        bench.write(f"zzz/{n}.txt")
    text = bench.text("ls")
    assert text.count("\n") == 1001
    assert "zzz/ (300 files)\n    0.txt" in text
    assert "      0.txt" in text
    assert "[203 entries are not shown" in text


def test_a_name_with_a_line_break_stays_on_one_line(bench: Bench):
    bench.write("two\nlines.txt", "needle\n")
    assert "two\\nlines.txt" in bench.text("ls")
    assert bench.text("glob", pattern="*.txt") == "two\\nlines.txt"
    assert bench.text("grep", pattern="needle").splitlines()[0] == "two\\nlines.txt"


def test_a_folder_that_may_be_read_is_listed_and_no_other_outside(bench: Bench, tmp_path: Path):
    skill = tmp_path / "skills" / "greet"
    (skill / "scripts").mkdir(parents=True)
    (skill / "scripts" / "greet.sh").touch()
    assert "is outside the repository" in bench.refusal("ls", path=str(skill))
    bench.context.readable = (tmp_path / "skills",)
    listed = bench.text("ls", path=str(skill))
    assert listed == f"{skill}/ (1 file)\n  scripts/ (1 file)\n    greet.sh"
    assert "is outside the repository" in bench.refusal("ls", path=str(tmp_path))


def test_a77_a_pattern_of_names_that_would_backtrack_gives_an_answer(bench: Bench):
    bench.write("a" * 250)
    began = time.monotonic()
    assert bench.text("glob", pattern="*a" * 20 + "b").startswith("No file matches")
    assert bench.text("glob", pattern="**/a*/" * 20 + "**").startswith("No file matches")
    assert time.monotonic() - began < 5


def test_a77_a_search_can_be_cancelled(bench: Bench):
    bench.write("a.txt", "a" * 200_000 + "b\n")
    bench.context.cancelled.set()
    assert bench.refusal("grep", pattern="a").startswith("The search was cancelled.")


def test_a77_git_names_a_pattern_that_takes_too_many_steps(bench: Bench):
    bench.write("a.txt", "a" * 200_000 + "b\n")
    assert "takes too many steps on one line" in bench.refusal("grep", pattern="(a+)+$")
