"""What counts as a file of the repository, and which files of the tree commands open."""

import os
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

from bot.contracts.tools import ToolFailure
from bot.toolhost.listing import expand_braces, matcher, scratch_repository
from bot.toolhost.open_watch import OpenWatch
from bot.toolhost.scan import Scanner
from tests.toolhost.conftest import Bench


def listed(bench: Bench, below: str = "") -> list[str]:
    return bench.context.files(below)


NAMES = ["-n", "a b.txt", "größe.txt", "new\nline", 'quote".txt', os.fsdecode(b"caf\xe9.txt")]
LISTED: dict[str, tuple[dict[str, str], str, list[str]]] = {
    "ignored files, at every level": (
        {
            **dict.fromkeys(("a.py", "a.pyc", "build/x", "src/b.log", "src/keep.log", "src/build/x"), ""),
            ".gitignore": "*.pyc\n/build\n", "src/.gitignore": "*.log\n!keep.log\n",
        },
        "", [".gitignore", "a.py", "src/.gitignore", "src/build/x", "src/keep.log"],
    ),
    "bytecode, unless the repository wants it": (
        {"a.py": "", "a.pyc": "", "src/__pycache__/b.pyc": "", "src/kept.pyc": "", "src/.gitignore": "!kept.pyc\n"},
        "", ["a.py", "src/.gitignore", "src/kept.pyc"],
    ),
    "a folder alone": ({"a.py": "", "src/b.py": "", "src/c.log": "", "src2/d.py": "", ".gitignore": "*.log\n"}, "src",
                       ["src/b.py"]),
    "names of any kind": (dict.fromkeys(NAMES, ""), "", sorted(NAMES)),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTED)
def test_what_is_listed(bench: Bench, name: str):
    tree, below, expected = LISTED[name]
    for path, content in tree.items():
        bench.write(path, content)
    assert listed(bench, below) == expected


def test_git_itself_links_and_other_repositories_are_not_entered(bench: Bench):
    bench.write("src/a.py")
    bench.commit_all()
    bench.write("other/b.py")
    bench.git("init", "-q", cwd=bench.root / "other")
    (bench.root / "link").symlink_to("src")
    assert listed(bench) == ["link", "src/a.py"]


def test_a_tracked_file_is_never_ignored(bench: Bench):
    bench.write("build/out.js")
    bench.write("a.py")
    bench.commit_all()
    bench.write(".gitignore", "build/\n")
    bench.write("build/other.js")
    assert listed(bench) == [".gitignore", "a.py", "build/out.js"]


def test_a_tracked_file_that_was_deleted_is_not_listed(bench: Bench):
    bench.write("a.py")
    bench.write("b.py")
    bench.commit_all()
    (bench.root / "a.py").unlink()
    assert listed(bench) == ["b.py"]


def test_a_tracked_file_behind_a_folder_that_became_a_link_is_not_listed(bench: Bench, tmp_path: Path):
    bench.write("src/a.py")
    bench.commit_all()
    shutil.move(bench.root / "src", tmp_path / "outside")
    (bench.root / "src").symlink_to(tmp_path / "outside")
    assert listed(bench) == ["src"]


@pytest.mark.parametrize("damage", ["config", "HEAD", "index", "objects"])
def test_a_broken_git_folder_does_not_matter(bench: Bench, damage: str):
    bench.write("a.py")
    bench.commit_all()
    broken = bench.root / ".git" / damage
    shutil.rmtree(broken) if broken.is_dir() else broken.write_bytes(b"\0broken\n")
    assert listed(bench) == ["a.py"]


def test_a_hostile_git_folder_runs_nothing(bench: Bench, tmp_path: Path):
    bench.write("a.py", "hello\n")
    bench.write(".gitattributes", "* diff=evil filter=evil\n")
    bench.commit_all()
    trap = f"touch '{tmp_path}/ran'"
    for key in ("core.fsmonitor", "core.pager", "diff.evil.textconv", "filter.evil.clean", "core.hooksPath"):
        bench.git("config", key, trap)
    bench.write("a.py", "hello again\n")
    listed(bench)
    assert "1:hello again" in bench.text("grep", pattern="hello")
    assert not (tmp_path / "ran").exists()


def test_a_repository_around_the_root_is_not_found(bench: Bench):
    bench.write(".gitignore", "*.log\n")
    bench.write("sub/a.log")
    bench.commit_all()
    bench.context.root = bench.root / "sub"
    assert listed(bench) == ["a.log"]


def test_the_scratch_repository_is_gone_afterwards(bench: Bench):
    bench.write("a.py", "x\n")
    listed(bench)
    bench.call("grep", pattern="x")
    with scratch_repository(bench.root, bench.context.tmp, bench.context.cancelled) as git:
        assert os.listdir(bench.context.tmp) == [git.folder.name]
    assert os.listdir(bench.context.tmp) == []


def test_git_that_fails_says_why(bench: Bench, without_git: None):
    with pytest.raises(OSError, match="git"):
        listed(bench)


def test_a_scan_without_a_base_reports_no_file_as_new(bench: Bench, without_git: None):
    bench.write("a.py")
    scanner = Scanner(bench.context)
    scanner.take_base()
    with pytest.raises(OSError, match="git"):
        list(scanner.changes())


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.{ts,tsx}", ["*.ts", "*.tsx"]),
        ("{a,b}/{c,d}", ["a/c", "a/d", "b/c", "b/d"]),
        ("a{b,{c,d}}", ["ab", "ac", "ad"]),
        ("{a}", ["{a}"]),
        ("{a,b", ["{a,b"]),
        ("a{,b}", ["a", "ab"]),
        ("\\{a,b}", ["\\{a,b}"]),
        ("${a}{b,c}", ["${a}b", "${a}c"]),
    ],
)
def test_braces(pattern: str, expected: list[str]):
    assert expand_braces(pattern) == expected


def test_braces_cannot_grow_without_bound():
    with pytest.raises(ToolFailure):
        matcher("{a,b}" * 30)


def opened(tree: Path, command: str, *paths: str) -> list[str]:
    watch = OpenWatch(tree, paths)
    subprocess.run(["sh", "-ec", command], cwd=tree, check=True, capture_output=True)
    return watch.end()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a.txt", "b.txt", "run.sh"):
        (tmp_path / name).write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "link").symlink_to("b.txt")
    return tmp_path


def test_reading_and_executing_count_and_once_is_enough(tree: Path):
    assert opened(tree, "cat a.txt a.txt; ./run.sh", "a.txt", "b.txt", "run.sh") == ["a.txt", "run.sh"]


@pytest.mark.parametrize("command", ["ls -l; test -s a.txt", "rm a.txt", "mv a.txt c.txt", "chmod +x a.txt"])
def test_what_opens_no_file_does_not_nor_a_link_to_one(tree: Path, command: str):
    assert opened(tree, command, "a.txt") == []
    assert opened(tree, "cat link", "link", "gone/x", "b.txt") == ["b.txt"]


def test_a_kernel_that_grants_no_watch_is_an_error(tree: Path):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, limits[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            OpenWatch(tree, ["a.txt"])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
