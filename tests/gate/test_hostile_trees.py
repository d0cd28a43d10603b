"""Attacks on the gate by way of the work tree. Each must end in a refusal, or leave no trace."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from bot.gate.errors import GateLimits, HostileTree
from tests.support.source_repository import Repository, git
from tests.support.trees import Bench, bench


@pytest.fixture
def desk(tmp_path: Path) -> Bench:
    repository = Repository(tmp_path / "source")
    repository.write("dir/inner.txt", "inner\n")
    (repository.path / "inside").symlink_to("a.txt")
    (repository.path / "outside").symlink_to("/etc")
    repository.commit(**{"a.txt": "one\n", "b.txt": "two\n"})
    return bench(tmp_path, repository)


def refused(desk: Bench, match: str, *, path: str | None = None, limits: GateLimits | None = None) -> None:
    with pytest.raises(HostileTree, match=match) as caught:
        desk.judge(limits=limits or GateLimits())
    if path is not None:
        assert caught.value.path == path
    assert caught.value.exit_code == 7
    assert "\n" not in str(caught.value)


# -- nothing of the tree's own git runs


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A program that leaves a mark, and where it leaves it."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/mark\ncat\n")
    program.chmod(0o755)
    return program


def judged_without(desk: Bench, canary: Path) -> None:
    desk.write("a.txt", "changed\n")
    assert "a.txt" in [file.path for file in desk.judge().files]
    assert not (canary.parent / "mark").exists()


@pytest.mark.parametrize(
    "key",
    ["core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "diff.external", "gpg.program",
     "core.askPass", "core.alternateRefsCommand", "filter.evil.clean", "filter.evil.process", "diff.evil.textconv",
     "diff.evil.command", "merge.evil.driver"],
)  # fmt: skip
def test_a_program_in_the_trees_configuration_does_not_run(desk: Bench, canary: Path, key: str) -> None:
    git(desk.tree, "config", key, str(canary))
    desk.write(".git/info/attributes", "* filter=evil diff=evil merge=evil\n")
    desk.write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
    judged_without(desk, canary)


@pytest.mark.parametrize(
    "name", ["pre-commit", "post-index-change", "reference-transaction", "post-checkout"]
)
def test_a_hook_of_the_tree_does_not_run(desk: Bench, canary: Path, name: str) -> None:
    desk.write(f".git/hooks/{name}", canary.read_text(), mode=0o755)
    git(desk.tree, "config", "core.hooksPath", str(desk.tree / ".git/hooks"))
    judged_without(desk, canary)


def test_a_git_file_that_leads_elsewhere_is_not_followed(desk: Bench, canary: Path, tmp_path: Path) -> None:
    evil = Repository(tmp_path / "evil")
    evil.git("config", "core.fsmonitor", str(canary))
    (desk.tree / ".git").rename(tmp_path / "moved")
    desk.write(".git", f"gitdir: {evil.path}/.git\n")
    judged_without(desk, canary)


def test_a_bare_repository_in_the_tree_is_only_files(desk: Bench, canary: Path) -> None:
    desk.write("HEAD", "ref: refs/heads/main\n")
    desk.write("config", f"[core]\n\tbare = true\n\tfsmonitor = {canary}\n\tworktree = .\n")
    desk.write("objects/x")
    desk.write("refs/x")
    judged_without(desk, canary)


def test_git_variables_of_the_caller_change_nothing(
    desk: Bench, canary: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GIT_DIR", str(desk.tree / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other-index"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(canary))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(canary))
    judged_without(desk, canary)


def test_attributes_of_the_tree_convert_nothing(desk: Bench) -> None:
    desk.write(".gitattributes", "* text eol=crlf ident working-tree-encoding=UTF-16\n")
    desk.write("a.txt", b"$Id$\r\nmixed\n\xff\n")
    verdict = desk.judge()
    assert desk.show(verdict, "a.txt") == b"$Id$\r\nmixed\n\xff\n"


def test_attributes_cannot_hide_a_text_as_binary(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "source")
    repository.commit(**{".gitattributes": "*.py binary -diff\n", "a.py": "x = 1\n"})
    desk = bench(tmp_path, repository)
    desk.write("a.py", "x = 2\n")
    assert b"-x = 1\n+x = 2\n" in desk.judge().patch


# -- links


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("new", "/etc/passwd"),
        ("new", "../../secret"),
        ("dir/new", "../../secret"),
        ("new", "dir/../../secret"),
        ("new", ".git/config"),
        ("new", ".GIT/hooks"),
        ("new", "./dir/../.git"),
        ("new", "outside/passwd"),
        ("new", "new"),
        ("a.txt", "/etc/shadow"),
        ("inside", "/proc/self/environ"),
        ("new", "dir/../outside"),
        ("new", "git~1/config"),
        ("new", ".g\u200cit/config"),
        ("new", "..\\..\\secret"),
        ("new", "dir\\..\\..\\secret"),
        ("new", "\\\\server\\share"),
        ("new", "C:/Windows"),
        ("new", "OUTSIDE/passwd"),
    ],
)
def test_a_link_that_leads_out_is_refused(desk: Bench, name: str, target: str) -> None:
    desk.link(name, target)
    refused(desk, "symbolic link .* (points|leads|goes|has a backslash)", path=name)


def test_two_links_that_lead_out_together_are_refused(desk: Bench) -> None:
    desk.link("up", "dir/..")
    desk.link("dir/out", "../up/../secret")
    refused(desk, "points out of the tree", path="dir/out")


def test_two_links_that_lead_out_where_case_is_ignored_are_refused(desk: Bench) -> None:
    """`dir/UP` is a folder to git, and a checkout on such a file system takes the link `dir/up` for it."""
    desk.link("dir/deep/up", "../..")
    desk.link("dir/deep/out", "UP/../secret")
    refused(desk, "points out of the tree", path="dir/deep/out")


def desk_with_links(tmp_path: Path) -> Bench:
    repository = Repository(tmp_path / "source")
    for name in ("dir/up/file", "a/b/c/file"):
        repository.write(name, "x\n")
    (repository.path / "dir/out").symlink_to("up/../secret")
    (repository.path / "dir/deep").symlink_to("../a/b/c")
    (repository.path / "dir/far").symlink_to("deep/../../../secret")
    repository.commit()
    return bench(tmp_path, repository)


def test_a_link_of_the_base_does_not_come_to_lead_out_by_another_one(tmp_path: Path) -> None:
    desk = desk_with_links(tmp_path)
    (desk.tree / "dir/up/file").unlink()
    (desk.tree / "dir/up").rmdir()
    desk.link("dir/up", "..")
    refused(desk, "points out of the tree", path="dir/out")


def test_a_link_of_the_base_does_not_come_to_lead_out_by_a_folder_in_the_place_of_another_one(
    tmp_path: Path,
) -> None:
    desk = desk_with_links(tmp_path)
    (desk.tree / "dir/deep").unlink()
    desk.write("dir/deep/file")
    refused(desk, "points out of the tree", path="dir/far")


def test_a_link_of_the_base_that_goes_nowhere_else_is_left_alone(tmp_path: Path) -> None:
    desk = desk_with_links(tmp_path)
    (desk.tree / "dir/far").unlink()
    assert [file.path for file in desk.judge().files] == ["dir/far"]


def test_a_link_within_the_tree_is_published_and_marked(desk: Bench) -> None:
    desk.link("dir/new", "../a.txt")
    (file,) = desk.judge().files
    assert (file.path, file.mode, file.sensitive) == ("dir/new", "120000", "symbolic link")


def test_links_of_the_base_that_lead_out_are_left_alone(desk: Bench) -> None:
    desk.write("a.txt", "changed\n")
    assert [file.path for file in desk.judge().files] == ["a.txt"]


def test_what_is_behind_a_link_is_never_read(desk: Bench, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "inner.txt").write_text("the secret\n")
    (desk.tree / "dir/inner.txt").unlink()
    (desk.tree / "dir").rmdir()
    (desk.tree / "dir").symlink_to(secret)
    refused(desk, "absolute path", path="dir")
    store = desk.checkout.git.run("cat-file", "--batch-all-objects", "--batch")
    assert b"the secret" not in store


def test_a_hard_link_is_refused(desk: Bench, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the secret\n")
    os.link(tmp_path / "secret", desk.tree / "leak.txt")
    refused(desk, "hard link", path="leak.txt")


# -- what is not a file


def test_a_named_pipe_is_refused_without_hanging(desk: Bench) -> None:
    os.mkfifo(desk.tree / "pipe")
    refused(desk, "'pipe' is a named pipe", path="pipe")


def test_a_tracked_file_that_became_a_pipe_is_refused(desk: Bench) -> None:
    (desk.tree / "a.txt").unlink()
    os.mkfifo(desk.tree / "a.txt")
    refused(desk, "'a.txt' is a named pipe", path="a.txt")


def test_a_socket_is_refused(desk: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.tree)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("sock")
        refused(desk, "'sock' is a socket", path="sock")


def test_a_setuid_file_is_refused(desk: Bench) -> None:
    desk.write("tool", "#!/bin/sh\n").chmod(0o4755)
    refused(desk, "setuid", path="tool")


# -- nested repositories and names


@pytest.mark.parametrize(
    "name",
    [".git", ".GIT", ".Git", "git~1", "GIT~2", ".git ", ".git.", ".git...", ".git::$INDEX_ALLOCATION", ".git:x",
     ".g\u200cit", ".gi\u2060t", "\ufeff.git", "\uff0egit"],
)  # fmt: skip
@pytest.mark.parametrize("folder", ["new/", "dir/"])
def test_a_folder_that_is_or_looks_like_git_is_refused(desk: Bench, name: str, folder: str) -> None:
    desk.write(f"{folder}{name}/config", "[core]\n")
    refused(desk, "git's own folder", path=f"{folder}{name}")


@pytest.mark.parametrize("name", [".GIT", "git~1", ".git ", ".g\u200cit"])
def test_a_second_git_folder_at_the_root_is_refused(desk: Bench, name: str) -> None:
    desk.write(f"{name}/config", "[core]\n")
    refused(desk, "git's own folder", path=name)


def test_a_git_file_below_the_root_is_refused(desk: Bench) -> None:
    desk.write("dir/.git", "gitdir: /somewhere\n")
    refused(desk, "git's own folder", path="dir/.git")


def test_a_clone_in_the_tree_is_refused(desk: Bench) -> None:
    git(desk.tree, "clone", "-q", str(desk.repository.path), "vendored")
    refused(desk, "'vendored/.git'", path="vendored/.git")


def test_ignoring_does_not_hide_a_nested_repository(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "source")
    repository.commit(**{".gitignore": ".git\n*\n", "a": "1"})
    desk = bench(tmp_path, repository)
    desk.write("dir.git/x")
    desk.write(".Git/config")
    refused(desk, "git's own folder", path=".Git")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("new\nline", "control character"),
        ("\x1b[2Jx", "control character"),
        ("x\x7f", "control character"),
        ("x\x85", "control character"),
        ("gnp.\u202excod", "hides what it is"),
        ("a\u2028b", "hides what it is"),
        ("..\\..\\x", "backslash"),
    ],
)
def test_a_name_that_deceives_is_refused(desk: Bench, name: str, reason: str) -> None:
    desk.write(name)
    refused(desk, reason, path=name)


def test_a_name_that_is_not_utf8_is_refused(desk: Bench) -> None:
    with open(os.fsencode(desk.tree) + b"/\xff\xfe", "wb"):
        pass
    refused(desk, r"the path '\\xff\\xfe' is not valid UTF-8")


def with_submodule(tmp_path: Path) -> Bench:
    repository = Repository(tmp_path / "source")
    repository.commit(a="1")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{repository.head},sub")
    repository.git("commit", "-q", "-m", "Submodule")
    return bench(tmp_path, repository)


def test_a_submodule_that_was_left_alone_is_no_change(tmp_path: Path) -> None:
    desk = with_submodule(tmp_path)
    assert desk.judge().patch == b""
    (desk.tree / "sub").rmdir()
    assert desk.judge().patch == b""


def test_writing_into_a_submodule_is_refused(tmp_path: Path) -> None:
    desk = with_submodule(tmp_path)
    desk.write("sub/.git/config", "[core]\n")
    refused(desk, "'sub' is a submodule", path="sub")


# -- limits, each named


@pytest.mark.parametrize(
    ("limits", "match"),
    [
        (GateLimits(files=2), "more than 2 files are changed"),
        (GateLimits(file_bytes=99), "over the limit of 99 bytes a file"),
        (GateLimits(total_bytes=250), "hold more than 250 bytes"),
        (GateLimits(patch_bytes=300), "the patch is .* the limit is 300"),
        (GateLimits(entries=4), "more than 4 files"),
        (GateLimits(depth=2), "nested deeper than 2 folders"),
    ],
)
def test_a_limit_is_named(desk: Bench, limits: GateLimits, match: str) -> None:
    for number in range(3):
        desk.write(f"n/e/s/t/{number}", "x" * 99 + ("y" if number == 2 else ""))
    refused(desk, match, limits=limits)


def test_replacing_more_than_a_patch_may_hold_is_refused(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "source")
    repository.commit(large=os.urandom(50_000))
    desk = bench(tmp_path, repository)
    (desk.tree / "large").unlink()
    refused(desk, "replaces more than 40000 bytes", limits=GateLimits(patch_bytes=40_000))


def test_an_endless_sparse_file_is_refused_without_being_read(desk: Bench) -> None:
    with open(desk.tree / "sparse", "wb") as file:
        file.truncate(1 << 40)
    refused(desk, "'sparse' is over the limit", path="sparse")
    (desk.tree / "sparse").unlink()
    with open(desk.tree / "a.txt", "wb") as file:
        file.truncate(1 << 40)
    refused(desk, "'a.txt' is over the limit", path="a.txt")


def test_a_refused_tree_leaves_no_scratch_folder(desk: Bench) -> None:
    desk.link("new", "/etc/passwd")
    refused(desk, "absolute")
    assert sorted(os.listdir(desk.tree.parent)) == ["tree", "trusted.git"]
