"""Attacks on the gate by way of the work tree. Each is withheld and named, or leaves no trace; the rest goes out."""

import errno
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from unittest.mock import ANY

import pytest

from bot.contracts.errors import GateError
from bot.contracts.plain_text import printable_name
from bot.gate.change_limits import ChangeLimits
from bot.gate.confined_folder import open_below
from bot.gate.judge import Verdict
from tests.support.files import write_file
from tests.support.repositories import Repository, git
from tests.support.trees import Bench, bench, bench_of, copy_of_bench


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    files = {"dir/inner.txt": "inner\n", "a.txt": "one\n", "b.txt": "two\n"}
    links = {"inside": "a.txt", "outside": "/etc"}
    return bench_of(tmp_path_factory.mktemp("pristine"), files, links)


def withheld(
    desk: Bench, match: str, *, path: str, limits: ChangeLimits | None = None, besides: Iterable[str] = ()
) -> Verdict:
    """The gate names `path` and lets the rest out: the file `fine`, and the changes `besides`."""
    return all_withheld(desk, {path: match}, limits=limits, besides=besides)


def all_withheld(
    desk: Bench,
    matches: Mapping[str, str],
    *,
    limits: ChangeLimits | None = None,
    besides: Iterable[str] = (),
) -> Verdict:
    """The gate names each path of `matches` with a reason that its expression matches, and lets the rest out."""
    desk.write("fine", "fine\n")
    verdict = desk.judge(limits=limits or ChangeLimits())
    assert {file.path for file in verdict.files} == {"fine", *besides}
    reasons = {row.path: row.reason for row in verdict.unfit}
    unnamed = {
        path
        for path, match in matches.items()
        if not re.search(match, reasons.get(printable_name(path[:200]), ""))
    }
    assert unnamed == set(), reasons
    assert {*verdict.unfit} <= {*verdict.withheld}
    lost = {path for path in matches if desk.repository.path.joinpath(path).is_file()} - {
        *desk.paths(verdict)
    }
    assert lost == set()
    return verdict


def refused(desk: Bench, match: str, *, limits: ChangeLimits | None = None) -> None:
    with pytest.raises(GateError, match=match) as caught:
        desk.judge(limits=limits or ChangeLimits())
    assert caught.value.exit_code == 7
    assert "\n" not in str(caught.value)


# -- nothing of the tree's own git runs


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A program that leaves a mark, and where it leaves it."""
    return program_that_leaves(tmp_path / "mark", tmp_path / "program")


def program_that_leaves(mark: Path, program: Path) -> Path:
    write_file(program, f"#!/bin/sh\ntouch '{mark}'\ncat\n", 0o755)
    return program


def judged_without(desk: Bench, canary: Path) -> None:
    desk.write("a.txt", "changed\n")
    assert "a.txt" in [file.path for file in desk.judge().files]
    assert not (canary.parent / "mark").exists()


def test_no_program_in_the_trees_configuration_runs(desk: Bench, tmp_path: Path):
    (tmp_path / "marks").mkdir()
    for key in (
        "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "diff.external", "gpg.program",
        "core.askPass", "core.alternateRefsCommand", "filter.evil.clean", "filter.evil.process", "diff.evil.textconv",
        "diff.evil.command", "merge.evil.driver",
    ):  # fmt: skip
        program = program_that_leaves(tmp_path / "marks" / key, tmp_path / f"program-{key}")
        git(desk.tree, "config", key, str(program))
    desk.write(".git/info/attributes", "* filter=evil diff=evil merge=evil\n")
    desk.write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
    desk.write("a.txt", "changed\n")
    assert "a.txt" in [file.path for file in desk.judge().files]
    assert os.listdir(tmp_path / "marks") == []


def test_a_bare_repository_in_the_tree_is_only_files(desk: Bench, canary: Path):
    desk.write("HEAD", "ref: refs/heads/main\n")
    desk.write("config", f"[core]\n\tbare = true\n\tfsmonitor = {canary}\n\tworktree = .\n")
    desk.write("objects/x")
    desk.write("refs/x")
    judged_without(desk, canary)


def test_git_variables_of_the_caller_change_nothing(
    desk: Bench, canary: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("GIT_DIR", str(desk.tree / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other-index"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(canary))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(canary))
    judged_without(desk, canary)


def test_attributes_of_the_tree_convert_nothing(desk: Bench):
    desk.write(".gitattributes", "* text eol=crlf ident working-tree-encoding=UTF-16\n")
    desk.write("a.txt", b"$Id$\r\nmixed\n\xff\n")
    verdict = desk.judge()
    assert desk.show(verdict, "a.txt") == b"$Id$\r\nmixed\n\xff\n"


def test_attributes_cannot_hide_a_text_as_binary(tmp_path: Path):
    desk = bench_of(tmp_path, {".gitattributes": "*.py binary -diff\n", "a.py": "x = 1\n"})
    desk.write("a.py", "x = 2\n")
    assert b"-x = 1\n+x = 2\n" in desk.judge().patch


# -- links


def test_links_that_lead_out_are_withheld(desk: Bench):
    targets = {
        "absolute": "/etc/passwd",
        "parent": "../../secret",
        "dir/parent": "../../secret",
        "by-folder": "dir/../../secret",
        "git": ".git/config",
        "git-case": ".GIT/hooks",
        "git-by-folder": "./dir/../.git",
        "by-link": "outside/passwd",
        "itself": "itself",
        "a.txt": "/etc/shadow",
        "inside": "/proc/self/environ",
        "to-link": "dir/../outside",
        "git-short": "git~1/config",
        "git-invisible": ".g\u200cit/config",
        "backslash": "..\\..\\secret",
        "backslash-folder": "dir\\..\\..\\secret",
        "share": "\\\\server\\share",
        "drive": "C:/Windows",
        "by-link-case": "OUTSIDE/passwd",
    }
    for name, target in targets.items():
        desk.link(name, target)
    all_withheld(desk, dict.fromkeys(targets, "the symbolic link (points|leads|goes|has a backslash)"))


def test_of_two_links_that_lead_out_together_one_is_withheld(desk: Bench):
    """`dir/UP` is a folder to git, and a checkout on a file system that ignores case takes the link `dir/up` for it."""
    desk.link("up", "dir/..")
    desk.link("dir/out", "../up/../secret")
    desk.link("dir/deep/up", "../..")
    desk.link("dir/deep/out", "UP/../secret")
    reasons = dict.fromkeys(["dir/out", "dir/deep/out"], "points out of the tree")
    all_withheld(desk, reasons, besides=["up", "dir/deep/up"])


@pytest.fixture(scope="module")
def pristine_links(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    files = {"dir/up/file": "x\n", "a/b/c/file": "x\n"}
    links = {"dir/out": "up/../secret", "dir/deep": "../a/b/c", "dir/far": "deep/../../../secret"}
    return bench_of(tmp_path_factory.mktemp("links"), files, links)


def test_a_link_of_the_base_does_not_come_to_lead_out_by_another_one(pristine_links: Bench, tmp_path: Path):
    desk = copy_of_bench(pristine_links, tmp_path)
    (desk.tree / "dir/up/file").unlink()
    (desk.tree / "dir/up").rmdir()
    desk.link("dir/up", "..")
    verdict = withheld(desk, "with it the symbolic link `dir/out` points out of the tree", path="dir/up")
    assert "dir/up/file" in desk.paths(verdict)


def test_a_link_of_the_base_does_not_come_to_lead_out_by_a_folder_in_the_place_of_another_one(
    pristine_links: Bench, tmp_path: Path
):
    desk = copy_of_bench(pristine_links, tmp_path)
    (desk.tree / "dir/deep").unlink()
    desk.write("dir/deep/file")
    verdict = withheld(desk, "with it the symbolic link `dir/far` points out of the tree", path="dir/deep")
    assert "dir/deep" in desk.paths(verdict)
    assert b"dir/deep/file" not in verdict.patch


def test_a_link_of_the_base_that_goes_nowhere_else_is_left_alone(pristine_links: Bench, tmp_path: Path):
    desk = copy_of_bench(pristine_links, tmp_path)
    (desk.tree / "dir/far").unlink()
    assert [file.path for file in desk.judge().files] == ["dir/far"]


def test_a_link_within_the_tree_is_published_and_marked(desk: Bench):
    desk.link("dir/new", "../a.txt")
    (file,) = desk.judge().files
    assert (file.path, file.mode, file.sensitive) == ("dir/new", "120000", "symbolic link")


def test_what_is_behind_a_link_is_never_read(desk: Bench, tmp_path: Path):
    secret = tmp_path / "secret"
    write_file(secret / "inner.txt", "the secret\n")
    (desk.tree / "dir/inner.txt").unlink()
    (desk.tree / "dir").rmdir()
    (desk.tree / "dir").symlink_to(secret)
    verdict = withheld(desk, "absolute path", path="dir")
    assert "dir/inner.txt" in desk.paths(verdict)
    store = desk.checkout.git.run("cat-file", "--batch-all-objects", "--batch")
    assert b"the secret" not in store


# -- nested repositories and names


def test_folders_that_are_or_look_like_git_are_withheld(desk: Bench):
    names = [
        ".git", ".GIT", ".Git", "git~1", "GIT~2", ".git ", ".git.", ".git...", ".git::$INDEX_ALLOCATION", ".git:x",
        ".g\u200cit", ".gi\u2060t", "\ufeff.git", "\uff0egit",
    ]  # fmt: skip
    # A new folder with one in it is a repository; beside it in a folder of the base are files of the base.
    for number, name in enumerate(names):
        desk.write(f"new{number}/{name}/config", "[core]\n")
        desk.write(f"new{number}/file")
        desk.write(f"dir/{name}/config", "[core]\n")
    desk.write("dir/file")
    paths = [*(f"new{number}" for number in range(len(names))), *(f"dir/{name}" for name in names)]
    all_withheld(desk, dict.fromkeys(paths, "git's own folder"), besides=["dir/file"])


def test_ignoring_does_not_hide_a_nested_repository(tmp_path: Path):
    desk = bench_of(tmp_path, {".gitignore": ".git\n*\n", "a": "1"})
    desk.write("dir.git/x")
    desk.write(".Git/config")
    (row,) = desk.judge().unfit
    assert (row.path, row.reason) == (".Git", "the path is or looks like git's own folder")


def test_names_that_deceive_are_withheld(desk: Bench):
    reasons = {
        "new\nline": "control character",
        "\x1b[2Jx": "control character",
        "x\x7f": "control character",
        "x\x85": "control character",
        "gnp.\u202excod": "hides what it is",
        "a\u2028b": "hides what it is",
        "..\\..\\x": "backslash",
    }
    for name in reasons:
        desk.write(name)
    all_withheld(desk, reasons)


def with_submodule(tmp_path: Path) -> Bench:
    repository = Repository(tmp_path / "source")
    repository.commit(a="1")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{repository.head},sub")
    repository.git("commit", "-q", "-m", "Submodule")
    return bench(tmp_path, repository)


def test_a_submodule_that_was_left_alone_is_no_change(tmp_path: Path):
    desk = with_submodule(tmp_path)
    assert desk.judge().patch == b""
    (desk.tree / "sub").rmdir()
    assert desk.judge().patch == b""


def test_writing_into_a_submodule_is_withheld(tmp_path: Path):
    desk = with_submodule(tmp_path)
    desk.write("sub/.git/config", "[core]\n")
    withheld(desk, "a submodule", path="sub")


# -- limits, each named


@pytest.mark.parametrize(
    ("limits", "match", "path"),
    [
        (ChangeLimits(files=2), "all 4 new files: more than 2 files are changed", "fine"),
        (ChangeLimits(file_bytes=99), "over the limit of 99 bytes a file", "n/e/s/t/2"),
        (ChangeLimits(total_bytes=250), "all 4 new files: the changed files hold more than 250 bytes", "fine"),
        (ChangeLimits(depth=2), "nested deeper than 2 folders", "n/e/s/t"),
    ],
)  # fmt: skip
def test_a_limit_is_named(desk: Bench, limits: ChangeLimits, match: str, path: str):
    """Half of what one command wrote is no change, so of new files all are withheld."""
    desk.write("fine")
    desk.write("a.txt", "edited\n")
    for number in range(3):
        desk.write(f"n/e/s/t/{number}", "x" * 99 + ("y" if number == 2 else ""))
    verdict = desk.judge(limits=limits)
    assert {row.path: row.reason for row in verdict.unfit} == {path: ANY}
    assert match in verdict.unfit[0].reason
    assert b"+edited" in verdict.patch


@pytest.mark.parametrize(
    ("limits", "match"),
    [
        (ChangeLimits(patch_bytes=300), "the patch is .* the limit is 300"),
        (ChangeLimits(entries=4), "more than 4 files"),
    ],
)
def test_a_tree_that_cannot_be_read_or_shown_is_refused(desk: Bench, limits: ChangeLimits, match: str):
    for number in range(3):
        desk.write(f"n/e/s/t/{number}", "x" * 99)
    refused(desk, match, limits=limits)


def test_over_the_limit_of_files_edited_ones_come_first(desk: Bench):
    for number in range(4):
        desk.write(f"junk/{number}")
    desk.write("z.py")
    desk.write("a.txt", "edited\n")
    verdict = desk.judge(limits=ChangeLimits(files=3), edited={"z.py"})
    assert [file.path for file in verdict.files] == ["a.txt", "z.py"]
    assert [(row.path, row.reason) for row in verdict.withheld] == [
        ("junk/0", "all 4 new files: more than 3 files are changed")
    ]
    verdict = desk.judge(limits=ChangeLimits(files=1), edited={"z.py", "junk/2", "junk/3"})
    assert [file.path for file in verdict.files] == ["z.py"]
    assert [(row.path, row.reason) for row in verdict.withheld] == [
        ("a.txt", "all 1 changed files: more than 1 files are changed"),
        ("junk/0", "all 2 new files: more than 1 files are changed"),
        ("junk/2", "2 of 3 edited files: more than 1 files are changed"),
    ]


def test_a_file_that_is_withheld_for_the_limit_keeps_its_place(desk: Bench):
    (desk.tree / "a.txt").unlink()
    desk.write("b.txt", "changed\n")
    desk.write("a.txt/inner")
    verdict = desk.judge(limits=ChangeLimits(files=1), edited={"a.txt/inner"})
    assert desk.show(verdict, "a.txt") == b"one\n"
    assert ("a.txt/inner", "in the way of a path that is kept as it was") in {
        (row.path, row.reason) for row in verdict.withheld
    }


def test_thousands_of_entries_that_are_withheld_are_counted(desk: Bench):
    for number in range(150):
        desk.link(f"l{number:03}", "/etc")
    verdict = withheld(desk, "absolute path", path="l000")
    assert len(verdict.unfit) == 100
    assert (
        verdict.unfit[-1].reason == "the symbolic link points to an absolute path (and 50 more are withheld)"
    )


def test_the_largest_files_that_a_patch_would_spell_out_stay_as_they_were(tmp_path: Path):
    desk = bench_of(tmp_path, {"large": os.urandom(50_000), "small": "1\n"})
    (desk.tree / "large").unlink()
    (desk.tree / "small").unlink()
    limits = ChangeLimits(patch_bytes=40_000)
    withheld(desk, "replaces more than 40000 bytes", path="large", limits=limits, besides=["small"])


def test_an_edit_of_a_tracked_file_over_the_limit_is_withheld(tmp_path: Path):
    desk = bench_of(tmp_path, {"large": os.urandom(70_000)})
    with open(desk.tree / "large", "ab") as file:
        file.write(b"more")
    limits = ChangeLimits(file_bytes=50_000)
    withheld(desk, "over the limit of 50000 bytes a file", path="large", limits=limits)


def test_a_folder_that_cannot_be_opened_is_withheld(desk: Bench, monkeypatch: pytest.MonkeyPatch):
    """As anybody but root meets it."""

    def closed(root: int, name: str) -> int:
        if name in ("dir", "new"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        return open_below(root, name)

    monkeypatch.setattr("bot.gate.walk.open_below", closed)
    desk.write("new/file")
    withheld(desk, "it cannot be read: Permission denied", path="dir")
    verdict = withheld(desk, "it cannot be read: Permission denied", path="new")
    assert [row.path for row in verdict.withheld] == ["dir", "new"]
    assert "dir/inner.txt" in desk.paths(verdict)


def test_a_case_variant_of_a_file_that_is_kept_is_withheld(desk: Bench):
    (desk.tree / "a.txt").unlink()
    os.mkfifo(desk.tree / "a.txt")
    desk.write("A.txt")
    verdict = withheld(desk, "named pipe", path="a.txt")
    assert "A.txt" not in desk.paths(verdict)


def test_a_refused_tree_leaves_no_scratch_folder(desk: Bench):
    desk.write("new")
    refused(desk, "more than 4 files", limits=ChangeLimits(entries=4))
    assert sorted(os.listdir(desk.tree.parent)) == ["tree", "trusted.git"]
