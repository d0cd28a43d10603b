"""A checkout from a folder on this machine."""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bot.checkout.clone import Checkout, Source, check_out, materialise
from bot.checkout.git import CheckoutError, MissingRevisionError
from bot.checkout.local import resolve
from tests.support.programs import run_program
from tests.support.repositories import Repository, git


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "source")
    repository.write("a.txt", "one\n")
    repository.write("bin/run", "#!/bin/sh\n", mode=0o755)
    (repository.path / "link").symlink_to("a.txt")
    repository.commit("First")
    repository.commit("Second", **{"b.txt": "two\n"})
    return repository


def checked_out(
    repository: Repository, tmp_path: Path, revision: str = "HEAD", **options: object
) -> Checkout:
    return check_out(Source(str(repository.path), revision), tmp_path / "run", **options)  # type: ignore[arg-type]


def test_the_tree_holds_the_base_commit_with_a_git_of_its_own(repository: Repository, tmp_path: Path):
    checkout = checked_out(repository, tmp_path)
    assert checkout.base_sha == repository.head
    assert (checkout.tree / "a.txt").read_text() == "one\n"
    assert os.access(checkout.tree / "bin/run", os.X_OK)
    assert os.readlink(checkout.tree / "link") == "a.txt"
    # Git works in it.
    assert git(checkout.tree, "status", "--porcelain") == ""
    assert git(checkout.tree, "log", "--format=%s") == "Second"
    assert git(checkout.tree, "branch", "--show-current") == "main"
    (checkout.tree / "a.txt").write_text("changed\n")
    assert "-one\n+changed" in git(checkout.tree, "diff")
    # It shares no file with the trusted one.
    own = {p.stat().st_ino for p in (checkout.tree / ".git").rglob("*") if p.is_file()}
    trusted = {p.stat().st_ino for p in checkout.git.git_dir.rglob("*") if p.is_file()}
    assert not own & trusted
    assert not (checkout.tree / ".git/objects/info/alternates").exists()


def test_history_brings_commits_and_their_blobs(repository: Repository, tmp_path: Path):
    for number in range(5):
        repository.commit(f"Number {number}", **{"a.txt": f"{number}\n"})
    checkout = checked_out(repository, tmp_path, history=3)
    shutil.rmtree(repository.path)
    assert git(checkout.tree, "log", "--format=%s").split("\n") == ["Number 4", "Number 3", "Number 2"]
    assert git(checkout.tree, "show", "HEAD~2:a.txt") == "2"


@pytest.mark.parametrize("annotated", [["-a", "-m", "release"], []])
def test_without_history_the_newest_tag_is_that_of_the_commit(
    repository: Repository, tmp_path: Path, annotated: list[str]
):
    repository.git("tag", *annotated, "release/v1.2.3", "HEAD~1")
    checkout = checked_out(repository, tmp_path)
    materialise(checkout, tmp_path / "again", tree_sha=None)
    for tree in (checkout.tree, tmp_path / "again"):
        assert git(tree, "describe", "--abbrev=0") == "release/v1.2.3"
    checkout.git.run("fsck", "--strict")


def test_full_history_brings_tags_for_version_tools(repository: Repository, tmp_path: Path):
    repository.git("tag", "-a", "v1.2.3", "-m", "release", "HEAD~1")
    checkout = checked_out(repository, tmp_path, history="full")
    assert git(checkout.tree, "log", "--format=%s") == "Second\nFirst"
    assert git(checkout.tree, "describe").startswith("v1.2.3-1-g")


@pytest.mark.parametrize(
    "command",
    [
        "git clone -q {source} {place}",
        "git -C {source} worktree add -q {place} -b linked",
        "git clone -q --depth=1 file://{source} {place}",
        "ln -s {source}/bin {place}",
    ],
    ids=["clone", "linked work tree", "shallow clone", "folder inside"],
)
def test_each_kind_of_checkout_is_a_source(repository: Repository, tmp_path: Path, command: str):
    """Its uncommitted files stay behind."""
    place = tmp_path / "place"
    subprocess.run(["sh", "-ec", command.format(place=place, source=repository.path)], check=True)
    (place / "dirty.txt").touch()
    checkout = check_out(Source(str(place.resolve()), "HEAD"), tmp_path / "run")
    assert checkout.base_sha == repository.head
    assert git(checkout.tree, "status", "--porcelain") == ""
    assert git(checkout.tree, "rev-list", "--count", "HEAD") == "1"


def test_any_branch_or_commit_can_be_the_base(repository: Repository, tmp_path: Path):
    repository.git("branch", "topic/x", "HEAD~1")
    first = repository.git("rev-parse", "HEAD~1")
    for revision, branch in (("topic/x", "topic/x"), (first, "base")):
        checkout = check_out(Source(str(repository.path), revision), tmp_path / branch)
        assert checkout.base_sha == first
        assert git(checkout.tree, "branch", "--show-current") == branch


@pytest.mark.parametrize(
    "name", ["with space", 'it\'s "quoted"', "grüße-日本", "new\nline", "#hash:colon", "$(x)`y`"]
)
def test_any_folder_name_works(tmp_path: Path, name: str):
    repository = Repository(tmp_path / name / "source")
    repository.commit(a="1")
    for history in (1, "full"):
        checkout = check_out(
            Source(str(repository.path), "HEAD"), tmp_path / name / f"run {history}", history=history  # type: ignore[arg-type]
        )  # fmt: skip
        assert git(checkout.tree, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    "attributes",
    ["*.txt text eol=crlf\n", "*.txt ident\n", "*.txt filter=evil\n", "*.txt working-tree-encoding=UTF-16\n"],
)
def test_disk_bytes_are_blob_bytes_whatever_attributes_say(tmp_path: Path, attributes: str):
    repository = Repository(tmp_path / "source")
    content = b"$Id$ line\n\xc3\xa4\nlast\r\n"
    blob, rules = repository.store("blob", content), repository.store("blob", attributes.encode())
    repository.commit_of(
        repository.store_tree(("100644", ".gitattributes", rules), ("100644", "f.txt", blob))
    )
    checkout = checked_out(repository, tmp_path)
    assert (checkout.tree / "f.txt").read_bytes() == content
    assert git(checkout.tree, "status", "--porcelain") == ""


def test_a_filter_that_attributes_name_never_runs(tmp_path: Path):
    repository = Repository(tmp_path / "source")
    repository.commit(**{".gitattributes": "*.txt filter=evil\n", "f.txt": "x\n"})
    canary = tmp_path / "canary"
    repository.git("config", "filter.evil.smudge", f"touch {canary}; cat")
    checked_out(repository, tmp_path)
    assert not canary.exists()


@pytest.mark.parametrize("name", [".git", ".GIT", "..", "git~1", ".g\u200cit"])
def test_a_hostile_name_in_the_base_is_refused(tmp_path: Path, name: str):
    repository = Repository(tmp_path / "source")
    blob = repository.store("blob", b"x")
    inner = repository.store_tree(("100644", "config", blob))
    repository.commit_of(repository.store_tree(("40000", name, inner)))
    with pytest.raises(CheckoutError, match="invalid path"):
        checked_out(repository, tmp_path)
    assert not (tmp_path / "run" / "config").exists()


def test_a_base_that_holds_a_link_and_a_folder_of_one_name_writes_nothing_outside(tmp_path: Path):
    repository = Repository(tmp_path / "source")
    target = repository.store("blob", str(tmp_path).encode())
    inner = repository.store_tree(("100644", "planted", repository.store("blob", b"x")))
    repository.commit_of(repository.store_tree(("120000", "d", target), ("40000", "d", inner)))
    with contextlib.suppress(CheckoutError):
        checked_out(repository, tmp_path)
    assert not (tmp_path / "planted").exists()


@pytest.mark.parametrize(
    ("place", "error", "words"),
    [
        ("nowhere", CheckoutError, "no folder .*nowhere"),
        ("plain", CheckoutError, "plain is not in a git repository"),
        ("empty", CheckoutError, "has no commits yet"),
    ],
)
def test_what_is_no_source_is_named(tmp_path: Path, place: str, error: type[CheckoutError], words: str):
    (tmp_path / "plain").mkdir()
    Repository(tmp_path / "empty")
    with pytest.raises(error, match=words):
        check_out(Source(str(tmp_path / place), "HEAD"), tmp_path / "run")


def test_a_checkout_that_cannot_be_made_is_one_sentence(repository: Repository, tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckoutError, match="Not a directory"):
        check_out(Source(str(repository.path), "HEAD"), tmp_path / "file/run")


@pytest.mark.parametrize("revision", ["nowhere", "-u", "--upload-pack=x", "", "a..b", "HEAD:a.txt"])
def test_a_missing_revision_is_named(repository: Repository, tmp_path: Path, revision: str):
    with pytest.raises(MissingRevisionError, match=r"revision|branch or commit|one commit"):
        checked_out(repository, tmp_path, revision)


@pytest.mark.bubblewrap
def test_a_full_disk_is_one_sentence(repository: Repository, tmp_path: Path):
    repository.write("large", os.urandom(3_000_000))
    repository.commit()
    code = (
        "import sys; from pathlib import Path; from bot.checkout.clone import *\n"
        "try: check_out(Source(sys.argv[1], 'HEAD'), Path('/mnt/run'))\n"
        "except CheckoutError as error: print(error)"
    )
    # A file system of 2 MB, for this process alone.
    small = ["bwrap", "--bind", "/", "/", "--dev", "/dev", "--size", "2000000", "--tmpfs", "/mnt"]
    done = run_program(
        [*small, sys.executable, "-c", code, str(repository.path)], cwd=Path(__file__).parents[2]
    )
    assert done.stderr == ""
    assert done.stdout.startswith("the checkout in /mnt/run failed: ")
    assert done.stdout.count("\n") == 1


def test_another_pristine_tree_can_be_made(repository: Repository, tmp_path: Path):
    checkout = checked_out(repository, tmp_path)
    (checkout.tree / "a.txt").write_text("changed by the agent")
    materialise(checkout, tmp_path / "checks" / "tree", tree_sha=None)
    assert (tmp_path / "checks/tree/a.txt").read_text() == "one\n"
    assert git(tmp_path / "checks/tree", "status", "--porcelain") == ""


def test_a_partial_clone_without_the_blobs_says_how_to_bring_them(repository: Repository, tmp_path: Path):
    git(repository.path, "config", "uploadpack.allowFilter", "true")
    url = repository.path.as_uri()
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", url, "partial")
    partial = tmp_path / "partial"
    with pytest.raises(CheckoutError, match="fetch --refetch --no-filter`"):
        check_out(Source(str(partial), "HEAD"), tmp_path / "run")
    git(partial, "fetch", "-q", "--refetch", "--no-filter")
    assert (check_out(Source(str(partial), "HEAD"), tmp_path / "again").tree / "a.txt").read_text() == "one\n"


# Names that more than one ref has


@pytest.mark.parametrize(
    "name", ["main", "origin/main", "v1", "deadbeef", "FETCH_HEAD", "agent/x", "h\u00f6r"]
)
@pytest.mark.parametrize("expression", ["{}", "{}~0", "{}^{{commit}}", "heads/{}"])
def test_a_branch_comes_before_a_tag(repository: Repository, name: str, expression: str):
    first = git(repository.path, "rev-parse", "HEAD~1")
    git(repository.path, "update-ref", f"refs/tags/{name}", "HEAD")
    git(repository.path, "update-ref", f"refs/remotes/{name}", "HEAD")
    git(repository.path, "update-ref", f"refs/heads/{name}", first)
    assert resolve(repository.path, expression.format(name)).sha == first


def test_a_branch_that_is_called_like_a_commit_does_not_replace_it(repository: Repository):
    sha = git(repository.path, "rev-parse", "HEAD")
    for name in (sha, "HEAD", "refs/heads/main"):
        git(repository.path, "update-ref", f"refs/heads/{name}", "HEAD~1")
    for revision in (sha, "HEAD", "@", "HEAD^{commit}", "refs/heads/main"):
        assert resolve(repository.path, revision).sha == sha


def test_other_revisions_are_resolved_as_git_does(repository: Repository):
    git(repository.path, "tag", "v1", "HEAD~1")
    for revision in ("v1", "HEAD~1", "main~1", "@~1", repository.head[:10] + "~1"):
        assert resolve(repository.path, revision).sha == git(repository.path, "rev-parse", "HEAD~1")
