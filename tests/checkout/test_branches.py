import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.checkout.branches import Signature, branch_name, commit_tree, count_uncommitted, create_branch
from bot.checkout.clone import Checkout, Source, check_out
from bot.checkout.git import CheckoutError
from tests.support.repositories import Repository

ADA, BOT = Signature("Ada", "ada@example.org"), Signature("bot", "bot@example.org")
WHEN = "2026-03-04T05:06:07Z"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "user's répo")
    repository.commit("First", **{"a.txt": "one\n", "b.txt": "b\n"})
    repository.commit("Second", **{"a.txt": "two\n"})
    return repository


def change(checkout: Checkout) -> str:
    """A commit in the trusted git directory that sets `a.txt`."""
    blob = checkout.git.run("hash-object", "-w", "--stdin", input=b"three\n").decode().strip()
    index = checkout.git.git_dir / "test-index"
    checkout.git.run("read-tree", checkout.base_sha, index=index)
    checkout.git.run("update-index", "--cacheinfo", f"100644,{blob},a.txt", index=index)
    tree = checkout.git.run("write-tree", index=index).decode().strip()
    return commit_tree(
        checkout.git, tree, (checkout.base_sha,), "Fix it\n\nBecause.", author=ADA, committer=BOT, when=WHEN
    )


def branch(repository: Repository, checkout: Checkout, commit: str = "", name: str = "agent/fix") -> str:
    made = commit or change(checkout)
    return create_branch(repository.path, name, source=checkout.git, commit=made, base=checkout.base_sha)


@pytest.fixture
def checkout(repository: Repository, tmp_path: Path) -> Checkout:
    return check_out(Source(str(repository.path), "HEAD"), tmp_path / "run")


def test_the_commit_arrives_on_a_new_branch(repository: Repository, checkout: Checkout):
    commit = change(checkout)
    name = branch(repository, checkout, commit)
    assert name == "agent/fix"
    assert repository.git("log", "--format=%s", name) == "Fix it\nSecond\nFirst"
    assert repository.git("show", f"{name}:a.txt") == "three"
    repository.git("fsck", "--strict")


def test_checkout_index_and_dirty_files_stay_as_they_are(repository: Repository, checkout: Checkout):
    repository.write("a.txt", "dirty\n")
    repository.write("b.txt", "staged\n")
    repository.git("add", "b.txt")
    index = (repository.path / ".git/index").read_bytes()
    status = repository.git("status", "--porcelain")
    branch(repository, checkout)
    assert (repository.path / ".git/index").read_bytes() == index
    assert repository.git("status", "--porcelain") == status
    assert repository.git("branch", "--show-current") == "main"
    assert not (repository.path / ".git/FETCH_HEAD").exists()


def test_no_hook_of_the_repository_runs(repository: Repository, checkout: Checkout, tmp_path: Path):
    for hook in ("reference-transaction", "post-update", "update", "post-checkout", "pre-auto-gc"):
        repository.write(f".git/hooks/{hook}", f"#!/bin/sh\ntouch '{tmp_path}/mark'\n", mode=0o755)
    branch(repository, checkout)
    assert not (tmp_path / "mark").exists()


def test_a_taken_name_gets_a_number(repository: Repository, checkout: Checkout):
    repository.git("branch", "agent/fix")
    repository.git("branch", "agent/fix-2")
    assert branch(repository, checkout) == "agent/fix-3"
    assert repository.git("rev-parse", "agent/fix") == checkout.base_sha


@pytest.mark.parametrize("ref", ["refs/heads/agent/fix", "refs/tags/agent/fix", "refs/agent/fix"])
def test_a_name_that_git_would_read_as_another_ref_is_taken(
    repository: Repository, checkout: Checkout, ref: str
):
    repository.git("update-ref", ref, "HEAD")
    commit = change(checkout)
    name = branch(repository, checkout, commit)
    assert repository.git("rev-parse", name) == commit


def test_a_branch_in_the_way_is_named(repository: Repository, checkout: Checkout):
    repository.git("branch", "agent")
    with pytest.raises(CheckoutError, match="a branch named 'agent' is in the way"):
        branch(repository, checkout)


@pytest.mark.parametrize(
    "name", ["main", "agent/", "agent/../main", "-u", "agent/x y", "agent/x;y", "refs/heads/agent/x"]
)
def test_a_name_of_another_shape_is_refused(repository: Repository, checkout: Checkout, name: str):
    with pytest.raises(CheckoutError, match="not a name this program gives"):
        branch(repository, checkout, checkout.base_sha, name)


def test_the_branch_arrives_from_a_linked_work_tree(repository: Repository, tmp_path: Path):
    repository.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "side")
    checkout = check_out(Source(str(tmp_path / "linked"), "HEAD"), tmp_path / "run")
    create_branch(
        tmp_path / "linked", "agent/fix", source=checkout.git, commit=change(checkout), base=checkout.base_sha
    )
    assert repository.git("show", "agent/fix:a.txt") == "three"


def test_a_commit_says_who_and_when_and_made_again_is_the_same(checkout: Checkout):
    assert change(checkout) == change(checkout)
    text = checkout.git.run("cat-file", "commit", change(checkout)).decode()
    assert (
        "author Ada <ada@example.org> 1772600767 +0000\ncommitter bot <bot@example.org> 1772600767 +0000"
        in text
    )
    assert text.endswith("\n\nFix it\n\nBecause.\n")


def test_a_name_with_line_breaks_stays_one_header(checkout: Checkout):
    tree = checkout.git.run("rev-parse", f"{checkout.base_sha}^{{tree}}").decode().strip()
    evil = Signature("Ada\nparent 0000", "a> 0 +0000\n<b@c")
    sha = commit_tree(checkout.git, tree, (checkout.base_sha,), "x", author=evil, committer=BOT, when=WHEN)
    text = checkout.git.run("cat-file", "commit", sha).decode()
    assert text.count("\nparent ") == 1
    checkout.git.run("fsck", "--strict", sha)


def test_uncommitted_files_are_counted(repository: Repository):
    assert count_uncommitted(repository.path) == 0
    repository.write(".gitignore", "*.log\n")
    repository.write("a.txt", "dirty\n")
    repository.write("new/x.txt")
    repository.write("new/y.txt")
    repository.write("z.log")
    (repository.path / "b.txt").unlink()
    assert count_uncommitted(repository.path) == 5


def test_counting_works_before_the_first_commit(tmp_path: Path):
    repository = Repository(tmp_path / "empty")
    repository.write("a")
    assert count_uncommitted(repository.path) == 1


@pytest.mark.parametrize(
    ("number", "title", "name"),
    [
        (7, "Crash when the list is empty!", "agent/issue-7-crash-when-the-list-is-empty"),
        (7, "", "agent/issue-7"),
        (None, "", "agent/change"),
        (None, "Größe über 日本", "agent/große-uber".replace("ß", "")),
        (1, "`$(touch x)`; rm -rf /", "agent/issue-1-touch-x-rm-rf"),
        (1, "a\u3000b", "agent/issue-1-a-b"),
        (2, "--upload-pack=touch", "agent/issue-2-upload-pack-touch"),
        (3, "x" * 100, "agent/issue-3"),
        (3, "Fix dGhpcyBpcyBhIHNlY3JldA now", "agent/issue-3-fix-now"),
        (3, "MFRGGZDFMZTWQ2LKNNWG23TPOBYXE43U", "agent/issue-3"),
        (3, "3f9a8b7c6d5e4f3a2b1c", "agent/issue-3"),
        (3, "Upgrade to Python 3.12, utf8 (#42)", "agent/issue-3-upgrade-to-python"),
        (4, "one two three four five six seven eight nine ten",
         "agent/issue-4-one-two-three-four-five-six-seven-eight"),
        (None, "Restore the state when a nested block raises an error",
         "agent/restore-the-state-when-a-nested-block"),
        (4, "Let the parser accept empty lines and a comment",
         "agent/issue-4-let-the-parser-accept-empty-lines-and-a"),
    ],
)  # fmt: skip
def test_a_branch_name_is_made_of_a_title(number: int | None, title: str, name: str):
    assert branch_name(number, title) == name


@pytest.mark.parametrize("key", ["ENG-12", "sc-12", "ch12", "T12", "CU-86a1b2c", "#12", "AB#12"])
def test_a59_no_branch_is_named_for_an_issue_of_another_tracker(key: str):
    assert not re.search(r"\d", branch_name(7, f"{key} Fix {key} now {key}").removeprefix("agent/issue-7"))


@given(st.none() | st.integers(1, 10**9), st.text(max_size=80))
def test_any_title_gives_a_name_that_git_takes(number: int | None, title: str):
    assert re.fullmatch(r"agent/[a-z0-9]+(-[a-z0-9]+)*", branch_name(number, title))


def test_a_base_that_was_pruned_meanwhile_gets_no_branch(repository: Repository, checkout: Checkout):
    """Its history would be broken."""
    commit = change(checkout)
    repository.git("reset", "-q", "--hard", "HEAD~1")
    repository.git("update-ref", "-d", "ORIG_HEAD")
    repository.git("reflog", "expire", "--expire=now", "--all")
    repository.git("gc", "-q", "--prune=now")
    with pytest.raises(CheckoutError, match="no longer has the commit"):
        branch(repository, checkout, commit)
    assert repository.git("branch", "--list", "agent/*") == ""


def test_a_damaged_index_is_named_with_what_mends_it(repository: Repository):
    (repository.path / ".git/index").write_bytes(b"damaged")
    with pytest.raises(CheckoutError, match="written again by `git reset`"):
        count_uncommitted(repository.path)
