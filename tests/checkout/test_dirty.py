"""The base of `--dirty`: what is in it, what is refused, and that the repository is only read."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.checkout.branches import Signature
from bot.checkout.dirty import DirtyBase, make_dirty_base
from bot.contracts.errors import UsageError
from tests.support.files import write_file
from tests.support.repositories import commit_all, git, make_repository

FILES = {"a.py": "one\ntwo\nthree\n", "b.py": "b\n", "gone.py": "gone\n", ".gitignore": "*.log\n"}
ME = Signature("Me", "me@example.org")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo", FILES)


def dirty_base(repo: Path, *include: str | Path) -> DirtyBase:
    base = make_dirty_base(repo, [repo / name for name in include], repo.parent / "dirty.git")
    assert base is not None
    return base


def test_tracked_changes_and_named_files_are_in_it_and_the_repository_is_only_read(repo: Path):
    (repo / "a.py").write_text("one\nTWO\nthree\n")
    (repo / "gone.py").unlink()
    (repo / "staged.py").write_text("staged\n")
    (repo / "b.py").chmod(0o755)
    git(repo, "add", "staged.py")
    (repo / "new").mkdir()
    for name in ("new/one.py", "new/ignored.log", "left.py", "named.log"):
        (repo / name).write_text("new\n")
    before = (
        git(repo, "count-objects", "-v"),
        (repo / ".git" / "index").read_bytes(),
        git(repo, "for-each-ref"),
    )
    base = dirty_base(repo, "new", "named.log", "a.py")
    assert base.paths == ("a.py", "b.py", "gone.py", "named.log", "new/one.py", "staged.py")
    assert git(base.git_dir, "show", "HEAD:a.py") == "one\nTWO\nthree\n".strip()
    assert git(base.git_dir, "ls-tree", "HEAD", "b.py").startswith("100755")
    assert base.note.startswith(
        f"The base of this run is HEAD ({git(repo, 'rev-parse', 'HEAD')[:12]}) with uncommitted"
    )
    after = (
        git(repo, "count-objects", "-v"),
        (repo / ".git" / "index").read_bytes(),
        git(repo, "for-each-ref"),
    )
    assert after == before


def test_without_changes_there_is_none(repo: Path):
    (repo / "left.py").write_text("new\n")
    assert make_dirty_base(repo, [], repo.parent / "dirty.git") is None


@pytest.mark.parametrize(("line", "applies"), [(20, True), (2, False)])
def test_a_change_of_its_own_is_committed_on_head_alone(repo: Path, line: int, applies: bool):
    text = "".join(f"line {number}\n" for number in range(30))
    (repo / "a.py").write_text(text)
    commit_all(repo, "Long")
    (repo / "a.py").write_text(text.replace("line 2\n", "line two\n"))
    base = dirty_base(repo)
    named = "line two\n" if line == 2 else f"line {line}\n"
    patched = make_repository(repo.parent / "patched", {"a.py": (repo / "a.py").read_text()})
    file = patched / "a.py"
    file.write_text(file.read_text().replace(named, "changed\n"))
    patch = subprocess.run(["git", "diff"], cwd=patched, capture_output=True, check=True).stdout
    commit = base.commit_on_head(patch, "Change", ME, "2026-01-02T03:04:05Z")
    assert bool(commit) == applies
    if applies:
        shown = git(base.git_dir, "show", "--format=%P", commit)
        assert shown.startswith(base.head)
        assert "line two" not in shown


def in_a_merge(repo: Path) -> None:
    (repo / ".git" / "MERGE_HEAD").write_text(git(repo, "rev-parse", "HEAD"))


def unmerged(repo: Path) -> None:
    blob = git(repo, "rev-parse", "HEAD:a.py")
    lines = "".join(f"100644 {blob} {stage}\ta.py\n" for stage in (1, 2, 3))
    subprocess.run(["git", "update-index", "--index-info"], cwd=repo, input=lines.encode(), check=True)


def submodule(repo: Path) -> None:
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{git(repo, 'rev-parse', 'HEAD')},sub")


def nothing(repo: Path) -> None:
    """Nothing is wrong but the names."""


@pytest.mark.parametrize(
    ("prepare", "include", "why"),
    [
        (in_a_merge, (), "A merge is in progress"),
        (unmerged, (), "Files with conflicts are not merged yet"),
        (submodule, (), "Submodules at another commit are not taken along: `sub`"),
        (nothing, ("missing.py",), "there is no such file"),
        (nothing, ("../outside.py",), "there is no such file"),
        (nothing, ("nested",), "nested/ is a repository of its own"),
    ],
)
def test_a_state_that_no_commit_can_hold_is_named(
    repo: Path, prepare: object, include: Sequence[str], why: str
):
    assert callable(prepare)
    (repo.parent / "outside.py").write_text("x\n")
    make_repository(repo / "nested", {"x": "x"})
    (repo / "a.py").write_text("changed\n")
    prepare(repo)
    with pytest.raises(UsageError) as raised:
        dirty_base(repo, *include)
    assert why.replace("`", "") in str(raised.value).replace("`", "").replace("'", "").replace('"', "")


@pytest.mark.parametrize(
    "name",
    [
        ".env", "app/.env.local", "id_rsa", "deploy.PEM", ".aws/config", "my-credentials.json",
        "secrets.yml", ".npmrc",
    ],
)  # fmt: skip
def test_a138_names_of_secrets_are_refused_tracked_or_not(repo: Path, name: str):
    file = repo / name
    write_file(file, "token\n")
    with pytest.raises(UsageError, match="look like secrets by their names"):
        dirty_base(repo, name)
    commit_all(repo, "Track it")
    file.write_text("another token\n")
    with pytest.raises(UsageError, match="look like secrets by their names"):
        dirty_base(repo)


@pytest.mark.parametrize("name", [".env.example", "environment.py", "keys.py", "secretary.py", "monkey"])
def test_other_names_are_not(repo: Path, name: str):
    (repo / name).write_text("x\n")
    assert dirty_base(repo, name).paths == (name,)


def test_a138_no_filter_hook_or_monitor_of_the_repository_runs(repo: Path):
    trap = repo.parent / "ran"
    for key in ("filter.x.clean", "filter.x.process", "core.fsmonitor", "core.sshCommand", "diff.external"):
        git(repo, "config", key, f"touch {trap}; cat")
    (repo / ".gitattributes").write_text("* filter=x\n")
    (repo / "a.py").write_text("changed\n")
    assert dirty_base(repo, ".gitattributes").paths == (".gitattributes", "a.py")
    assert not trap.exists()


def test_a_folder_in_place_of_a_file_odd_names_and_a_way_by_a_link(repo: Path):
    (repo / "a.py").unlink()
    (repo / "a.py").mkdir()
    odd = os.fsdecode(b"odd-\xff")
    for name in ("a.py/inner.py", odd):
        (repo / name).write_text("x\n")
    (repo.parent / "way").symlink_to(repo)
    way = repo.parent / "way"
    base = dirty_base(repo, way / "a.py", way / odd)
    assert base.paths == ("a.py", "a.py/inner.py", odd)
    base.note.encode()


def test_in_a_linked_work_tree_and_with_a_link(repo: Path):
    linked = repo.parent / "linked"
    git(repo, "worktree", "add", "-q", str(linked))
    (linked / "a.py").write_text("changed\n")
    os.symlink("/etc/passwd", linked / "link")
    base = dirty_base(linked, "link")
    assert base.paths == ("a.py", "link")
    assert git(base.git_dir, "show", "HEAD:link") == "/etc/passwd"
