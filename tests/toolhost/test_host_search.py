"""`ls`, `glob` and `grep` as the model sees them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from bot.toolhost.context import Context
from bot.toolhost.records import Records
from tests.toolhost.conftest import Bench


@pytest.fixture(params=["no index", "index"])
def either(request: pytest.FixtureRequest, bench: Bench) -> None:
    """Without an index, and with one that knows nothing."""
    if request.param == "index":
        bench.commit_all()


@pytest.mark.usefixtures("either")
class TestGrep:
    def test_matches_are_grouped_by_file_with_line_numbers(self, bench: Bench) -> None:
        bench.write("b.py", "one\ntwo\none\n")
        bench.write("a/a.py", "one\n")
        assert bench.text("grep", pattern="one") == ("a/a.py\n1:one\nb.py\n1:one\n3:one")

    def test_context_is_limited_and_says_so(self, bench: Bench) -> None:
        bench.write("a.py", "".join(f"line {n:02}\n" for n in range(1, 61)))
        text = bench.text("grep", pattern="line 30", context=20)
        assert text.count("\n") == 41
        assert text.endswith("\n50-line 50"), "all are shown, so nothing is said of their number"
        assert bench.text("grep", pattern="line 30", context=25).endswith(
            "[1 matching line in 1 file; context is 20 lines at most]"
        )

    def test_nothing_found_is_no_error(self, bench: Bench) -> None:
        bench.write("a.py", "one\n")
        outcome = bench.call("grep", pattern="zzz", glob="*.py")
        assert outcome.content == "No line matches zzz in files like *.py."
        assert outcome.metadata["matches"] == 0

    def test_a_pattern_may_begin_with_a_dash_and_a_name_may_hold_a_colon(self, bench: Bench) -> None:
        bench.write("a:1:b.txt", "--version\n")
        bench.write("-e", "--version\n")
        assert bench.text("grep", pattern="--version") == ("-e\n1:--version\na:1:b.txt\n1:--version")

    def test_a_file_without_end_hides_nothing_else(self, bench: Bench) -> None:
        bench.write("a.py", "one\n")
        os.truncate(bench.write("sparse", ""), 1 << 43)
        assert bench.text("grep", pattern="one") == "a.py\n1:one"

    def test_a_broken_expression_is_a_clear_error(self, bench: Bench) -> None:
        bench.write("a.py", "foo(\n")
        message = bench.refusal("grep", pattern="foo(")
        assert message.startswith("The pattern foo( does not work as a regular expression: missing ")
        assert '"literal" to true' in message

    def test_a_literal_pattern(self, bench: Bench) -> None:
        bench.write("a.py", "foo(*)\nfoo\n")
        assert "1:foo(*)" in bench.text("grep", pattern="foo(*)", literal=True)

    @pytest.mark.parametrize(
        "pattern", [r"\bdef\s+\w+", "(?i)DEF", "^def", r"\d$", "f(?=oo)", "größe|def", "."]
    )
    def test_perl_expressions(self, bench: Bench, pattern: str) -> None:
        bench.write("a.py", "def foo1\n")
        assert "1:def foo1" in bench.text("grep", pattern=pattern)

    def test_letters_of_any_alphabet_are_letters(self, bench: Bench) -> None:
        bench.write("a.txt", "größe\nGRÖSSE Ö\n")
        assert "1:größe" in bench.text("grep", pattern=r"^\w{5}$")
        assert bench.text("grep", pattern="(?i)gr.+ö|größe").endswith("\n1:größe\n2:GRÖSSE Ö")

    def test_the_end_of_a_crlf_line_is_its_end(self, bench: Bench) -> None:
        bench.write("a.txt", b"foo\r\nbar\r\n")
        assert bench.text("grep", pattern="foo$") == "a.txt\n1:foo"

    def test_context_lines(self, bench: Bench) -> None:
        bench.write("a.txt", "".join(f"{n}\n" for n in range(1, 21)))
        assert bench.text("grep", pattern="^(3|5|15)$", context=1) == (
            "a.txt\n2-2\n3:3\n4-4\n5:5\n6-6\n--\n14-14\n15:15\n16-16"
        )

    def test_context_stops_at_both_ends_of_the_file(self, bench: Bench) -> None:
        bench.write("a.txt", "1\n2\n")
        assert bench.text("grep", pattern="2", context=5) == "a.txt\n1-1\n2:2"

    def test_modes(self, bench: Bench) -> None:
        bench.write("a.txt", "x\nx\n")
        bench.write("b.txt", "x\n")
        assert bench.text("grep", pattern="x", mode="files") == "a.txt\nb.txt"
        assert bench.text("grep", pattern="x", mode="count") == "a.txt: 2\nb.txt: 1"

    def test_the_first_hundred_of_all_are_shown_and_all_are_counted(self, bench: Bench) -> None:
        bench.write("a.txt", "x\n" * 60)
        bench.write("b.txt", "x\n" * 60)
        text = bench.text("grep", pattern="x")
        assert text.count("\n") == 102
        assert "120 matching lines in 2 files; the first 100 are shown" in text

    def test_a_long_line_is_cut_around_the_match(self, bench: Bench) -> None:
        bench.write("a.txt", "ö" * 3000 + "needle" + "b" * 3000 + "\n")
        line = bench.text("grep", pattern="needle").splitlines()[1]
        assert "needle" in line
        assert len(line) <= 510
        assert line.startswith("1:…")
        assert line.endswith("…")

    def test_path_and_glob_narrow_the_search(self, bench: Bench) -> None:
        for name in ("src/a.py", "src/a.ts", "src/deep/b.py", "lib/a.py", "src/c.tsx"):
            bench.write(name, "x\n")
        assert bench.text("grep", pattern="x", path="src", glob="*.py", mode="files").splitlines() == [
            "src/a.py", "src/deep/b.py"
        ]  # fmt: skip
        assert bench.text("grep", pattern="x", glob="src/*.{ts,tsx}", mode="files").splitlines() == [
            "src/a.ts", "src/c.tsx"
        ]  # fmt: skip
        assert bench.text("grep", pattern="x", path="lib/a.py", mode="files").splitlines() == ["lib/a.py"]

    def test_ignored_and_binary_files_are_left_out(self, bench: Bench) -> None:
        bench.write(".gitignore", "*.log\n")
        bench.write("a.log", "needle\n")
        bench.write("a.bin", b"needle\n\0")
        bench.write("a.txt", "needle\n")
        assert bench.text("grep", pattern="needle", mode="files").splitlines() == ["a.txt"]

    def test_an_ignored_place_is_searched_when_it_is_named(self, bench: Bench) -> None:
        bench.write(".gitignore", "node_modules/\n*.log\n")
        bench.write("node_modules/x/index.js", "needle\n")
        bench.write("a.log", "needle\n")
        assert "node_modules/x/index.js\n1:needle" in bench.text(
            "grep", pattern="needle", path="node_modules"
        )
        assert "a.log\n1:needle" in bench.text("grep", pattern="needle", path="a.log")

    def test_attributes_of_the_tree_hide_nothing(self, bench: Bench) -> None:
        bench.write(".gitattributes", "*.lock -diff binary\n")
        bench.write("a.lock", "needle\n")
        assert "1:needle" in bench.text("grep", pattern="needle")

    def test_links_are_not_followed(self, bench: Bench, tmp_path: Path) -> None:
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "a.txt").write_text("needle\n")
        (bench.root / "file").symlink_to(tmp_path / "outside" / "a.txt")
        (bench.root / "folder").symlink_to(tmp_path / "outside")
        assert bench.text("grep", pattern="needle") == "No line matches needle."

    def test_bytes_that_are_no_text_do_not_hide_a_match(self, bench: Bench) -> None:
        bench.write("a.txt", b"caf\xe9 needle\n")
        assert "1:caf\ufffd needle" in bench.text("grep", pattern="needle")

    def test_an_empty_match_counts_once_a_line(self, bench: Bench) -> None:
        bench.write("a.txt", "a\n\nb")
        assert bench.text("grep", pattern="x*") == "a.txt\n1:a\n2:\n3:b"

    def test_spilled_output_can_be_searched(self, bench: Bench) -> None:
        spill = bench.context.spill / "3.txt"
        spill.write_text("a\nneedle\n")
        assert bench.text("grep", pattern="needle", path=str(spill)).startswith("$TMPDIR/out/3.txt\n2:needle")


def test_a_changed_file_is_searched_as_it_is_now(bench: Bench) -> None:
    bench.write("a.txt", "old\n")
    bench.commit_all()
    bench.write("a.txt", "needle\n")
    bench.write("new.txt", "needle\n")
    assert bench.text("grep", pattern="needle|old", mode="count").splitlines() == [
        "a.txt: 1",
        "new.txt: 1",
    ]


def test_a_tracked_file_is_searched_though_a_rule_ignores_it(bench: Bench) -> None:
    bench.write("a.log", "needle\n")
    bench.commit_all()
    bench.write(".gitignore", "*.log\n")
    assert "a.log\n1:needle" in bench.text("grep", pattern="needle")


def test_a_tracked_folder_that_became_a_link_out_is_not_searched(bench: Bench, tmp_path: Path) -> None:
    bench.write("src/a.txt", "needle\n")
    bench.commit_all()
    (bench.root / "src").rename(tmp_path / "outside")
    (bench.root / "src").symlink_to(tmp_path / "outside")
    assert bench.text("grep", pattern="needle") == "No line matches needle."


def test_another_repository_is_searched_when_it_is_named(bench: Bench) -> None:
    bench.write("other/a.txt", "needle\n")
    bench.git("init", "-q", cwd=bench.root / "other")
    assert bench.text("grep", pattern="needle") == "No line matches needle."
    assert "other/a.txt\n1:needle" in bench.text("grep", pattern="needle", path="other")


@pytest.mark.parametrize("pattern", ["", "a\nb", "a\0b"])
def test_a_pattern_that_no_line_can_match_is_refused(bench: Bench, pattern: str) -> None:
    bench.refusal("grep", pattern=pattern)


def test_grep_names_what_is_missing(bench: Bench) -> None:
    bench.write("source/a.py", "x\n")
    assert "Did you mean source?" in bench.refusal("grep", pattern="x", path="sorce")


def test_a_pattern_that_backtracks_without_end_gives_an_answer(bench: Bench) -> None:
    bench.write("a.txt", "a" * 5000 + "b\n")
    began = time.monotonic()
    bench.refusal("grep", pattern="(a+)+(a+)+(a+)+$")
    assert time.monotonic() - began < 40


def test_glob_newest_first_then_by_name(bench: Bench) -> None:
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
        ("nothing*", set()),
    ],
)
def test_glob_patterns(bench: Bench, pattern: str, expected: set[str]) -> None:
    for name in ("a.py", "src/b.py", "src/deep/c.py", "src/[id].tsx", "README.md"):
        bench.write(name)
    found = bench.text("glob", pattern=pattern)
    assert (set(found.splitlines()) if expected else found.startswith("No file matches")) == (
        expected or True
    )


def test_glob_in_a_folder_counts_from_there(bench: Bench) -> None:
    for name in ("a.py", "src/b.py", "src/deep/c.py"):
        bench.write(name)
    assert bench.text("glob", pattern="/*.py", path="src") == "src/b.py"
    assert bench.text("glob", pattern=f"{bench.root}/src/*.py") == "src/b.py"


def test_glob_leaves_out_ignored_files_but_not_folders_named_like_build(bench: Bench) -> None:
    names = {"build/a.py", "vendor/b.py", "tmp/c.py", "bin/d.py", "logs/e.py", ".hidden/f.py", "dist/g.py"}
    for name in names:
        bench.write(name)
    bench.write("x.pyc")
    bench.write(".gitignore", "*.pyc\n")
    assert set(bench.text("glob", pattern="*.py*").splitlines()) == names


def test_glob_shows_a_hundred_and_counts_all(bench: Bench) -> None:
    for n in range(130):
        bench.write(f"{n}.txt")
    lines = bench.text("glob", pattern="*.txt").splitlines()
    assert len(lines) == 101
    assert lines[-1].startswith("[the newest 100 of 130 files")


@pytest.mark.parametrize("pattern", ["", "../*.py"])
def test_glob_refuses_a_pattern_that_leaves_the_folder(bench: Bench, pattern: str) -> None:
    bench.refusal("glob", pattern=pattern)


def test_ls_is_a_tree_with_counts(bench: Bench) -> None:
    for name in ("README.md", "src/a.py", "src/deep/b.py", "src/deep/c.py"):
        bench.write(name)
    assert bench.text("ls") == (
        "./ (4 files)\n  README.md\n  src/ (3 files)\n    a.py\n    deep/ (2 files)\n      b.py\n      c.py"
    )


def test_ls_names_what_it_skips(bench: Bench) -> None:
    bench.write(".gitignore", "node_modules/\n")
    bench.write("node_modules/x/index.js")
    (bench.root / "empty").mkdir()
    assert "[2 skipped here, ignored or empty: empty/, node_modules/]" in bench.text("ls")


def test_ls_shows_an_ignored_folder_that_is_named(bench: Bench) -> None:
    bench.write(".gitignore", "node_modules/\n")
    bench.write("node_modules/x/index.js")
    assert bench.text("ls", path="node_modules") == "node_modules/ (1 file)\n  x/ (1 file)\n    index.js"


def test_ls_shows_hidden_files_and_folders(bench: Bench) -> None:
    bench.write(".editorconfig")
    bench.write(".github/workflows/ci.yml")
    bench.write("build/out.txt")
    assert bench.text("ls") == (
        "./ (3 files)\n  .editorconfig\n  .github/ (1 file)\n    workflows/ (1 file)\n      ci.yml\n"
        "  build/ (1 file)\n    out.txt"
    )
    assert bench.text("ls", path=".github") == ".github/ (1 file)\n  workflows/ (1 file)\n    ci.yml"


@pytest.mark.parametrize("place", [".hidden", "tmp", "build", "node_modules"])
def test_the_name_of_a_folder_above_the_repository_hides_nothing(
    bench: Bench, tmp_path: Path, place: str
) -> None:
    root = tmp_path / place / "tree"
    root.mkdir(parents=True)
    there = Bench(
        Context(
            root=root,
            tmp=bench.context.tmp,
            spill=bench.context.spill,
            environment={},
            ask=bench.context.ask,
            records=Records(),
        )
    )
    there.write("src/a.py", "needle\n")
    assert "a.py" in there.text("ls")
    assert there.text("glob", pattern="*.py") == "src/a.py"
    assert there.text("grep", pattern="needle").startswith("src/a.py\n1:needle")


def test_paths_count_from_the_root_whatever_folder_the_shell_is_in(bench: Bench) -> None:
    bench.write("src/a.py", "needle\n")
    bench.context.cwd = bench.root / "src"
    assert bench.text("grep", pattern="needle", path="src/a.py").startswith("src/a.py\n")
    assert bench.text("glob", pattern="/src/*") == "src/a.py"
    assert bench.text("ls", path="src") == "src/ (1 file)\n  a.py"
    assert bench.text("view", path="src/a.py").startswith("src/a.py: 1 line")


def test_ls_fills_the_upper_levels_first(bench: Bench) -> None:
    for n in range(900):
        bench.write(f"aaa/deep/{n}.txt")
    for n in range(300):
        bench.write(f"zzz/{n}.txt")
    text = bench.text("ls")
    assert text.count("\n") == 1001
    assert "zzz/ (300 files)\n    0.txt" in text
    assert "      0.txt" in text
    assert "[203 entries are not shown" in text


def test_ls_of_a_file_is_refused(bench: Bench) -> None:
    bench.write("a.py")
    assert bench.refusal("ls", path="a.py") == "a.py is not a folder. Show it with view."


def test_ls_offers_close_names(bench: Bench) -> None:
    bench.write("source/a.py")
    assert bench.refusal("ls", path="sorce") == "sorce does not exist. Did you mean source?"


def test_a_name_with_a_line_break_stays_on_one_line(bench: Bench) -> None:
    bench.write("two\nlines.txt", "needle\n")
    assert "two\\nlines.txt" in bench.text("ls")
    assert bench.text("glob", pattern="*.txt") == "two\\nlines.txt"
    assert bench.text("grep", pattern="needle").splitlines()[0] == "two\\nlines.txt"


def test_a_folder_that_may_be_read_is_listed_and_no_other_outside(bench: Bench, tmp_path: Path) -> None:
    skill = tmp_path / "skills" / "greet"
    (skill / "scripts").mkdir(parents=True)
    (skill / "scripts" / "greet.sh").touch()
    assert "is outside the repository" in bench.refusal("ls", path=str(skill))
    bench.context.readable = (tmp_path / "skills",)
    listed = bench.text("ls", path=str(skill))
    assert listed == f"{skill}/ (1 file)\n  scripts/ (1 file)\n    greet.sh"
    assert "is outside the repository" in bench.refusal("ls", path=str(tmp_path))


def test_a77_a_pattern_of_names_that_would_backtrack_gives_an_answer(bench: Bench) -> None:
    bench.write("a" * 250)
    began = time.monotonic()
    assert bench.text("glob", pattern="*a" * 20 + "b").startswith("No file matches")
    assert bench.text("glob", pattern="**/a*/" * 20 + "**").startswith("No file matches")
    assert time.monotonic() - began < 5


def test_a77_a_search_can_be_cancelled(bench: Bench) -> None:
    bench.write("a.txt", "a" * 200_000 + "b\n")
    bench.context.cancelled.set()
    assert bench.refusal("grep", pattern="a").startswith("The search was cancelled.")


def test_a77_git_names_a_pattern_that_takes_too_many_steps(bench: Bench) -> None:
    bench.write("a.txt", "a" * 200_000 + "b\n")
    assert "takes too many steps on one line" in bench.refusal("grep", pattern="(a+)+$")
