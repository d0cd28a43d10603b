"""A pull request's head as a checkout, forks included, from a server that checks tokens."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.checkout.clone import Checkout, Source, check_out
from bot.checkout.git import CheckoutError, MissingRevisionError
from bot.checkout.pull import PullHead
from bot.github.client import connect
from slash_forge import Forge
from tests.support.repositories import Repository, git

POLICY = ".github/agent.yml"


class World:
    """A repository with some history, and what people do to it."""

    def __init__(self, forge: Forge, folder: Path) -> None:
        self.forge = forge
        self.folder = folder
        self.repo = forge.create_repository("ada", "app", private=True)
        for number in range(3):
            forge.commit(self.repo, {"a.txt": f"{number}\n", "b.txt": "b\n", POLICY: "version: 1\n"})
        self.token = forge.token("ada")

    def open(self, head: str, login: str = "ada", base: str = "main") -> int:
        host = connect(self.forge.token(login), self.forge.api_url, self.repo)
        return host.open_pull(title="T", body="", head=head, base=base, draft=False).number

    def fork(self, login: str) -> str:
        self.forge.add_user(login)
        self.forge.grant(self.repo, login, "read")
        return self.forge.fork(self.repo, login)

    def checkout(
        self, number: int, sha: str, base: str = "main", name: str = "run", **options: object
    ) -> Checkout:
        merge_base = connect(self.token, self.forge.api_url, self.repo).merge_base(base, sha)
        source = Source(self.forge.clone_url(self.repo), base, self.token, PullHead(number, sha, merge_base))
        return check_out(source, self.folder / name, **options)  # type: ignore[arg-type]


@contextmanager
def open_world(folder: Path) -> Iterator[World]:
    with Forge() as forge:
        forge.add_user("ada")
        yield World(forge, folder)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with open_world(tmp_path) as world:
        yield world


@dataclass(frozen=True)
class CheckedOut:
    """The checkout of one pull request, for tests that only look. Its base branch has gone on from `start` to `tip`."""

    world: World
    checkout: Checkout
    number: int
    start: str
    head: str
    tip: str


@pytest.fixture(scope="module")
def checked_out(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CheckedOut]:
    with open_world(tmp_path_factory.mktemp("pull")) as world:
        start = world.forge.branch_sha(world.repo)
        assert start is not None
        head = world.forge.commit(world.repo, {"a.txt": "theirs\n", POLICY: "tiers: {}\n"}, branch="topic")
        number = world.open("topic")
        tip = world.forge.commit(world.repo, {"b.txt": "newer\n"})
        yield CheckedOut(world, world.checkout(number, head), number, start, head, tip)


def test_the_tree_holds_the_head_and_the_policy_commit_is_the_base_branchs(checked_out: CheckedOut):
    checkout, head, tip, start = checked_out.checkout, checked_out.head, checked_out.tip, checked_out.start
    assert (checkout.base_sha, checkout.policy_sha, checkout.merge_base) == (head, tip, start)
    assert (checkout.tree / "a.txt").read_text() == "theirs\n"
    assert (checkout.tree / "b.txt").read_text() == "b\n"
    assert checkout.git.run("cat-file", "blob", f"{checkout.policy_sha}:{POLICY}") == b"version: 1\n"
    changed = checkout.git.run("diff-tree", "-r", "--name-only", checkout.merge_base, head)
    assert changed.decode().split() == [POLICY, "a.txt"]


def test_the_diff_can_be_read_in_the_work_tree(checked_out: CheckedOut):
    tree = checked_out.checkout.tree
    assert git(tree, "diff", "--name-only", "base", "HEAD").split() == [POLICY, "a.txt"]
    assert git(tree, "branch", "--show-current") == "head"
    assert git(tree, "status", "--porcelain") == ""


def test_no_history_is_brought_for_the_merge_base(checked_out: CheckedOut):
    checkout = checked_out.checkout
    there = checkout.git.run("cat-file", "--batch-all-objects", "--batch-check").decode()
    commits = {line.split()[0] for line in there.splitlines() if " commit " in line}
    assert commits == {checked_out.head, checked_out.tip, checkout.merge_base}


def test_a_fork_is_fetched_from_the_base_repository(world: World):
    fork = world.fork("bob")
    start = world.forge.branch_sha(world.repo)
    head = world.forge.commit(fork, {"a.txt": "bob's\n"}, branch="topic", author="bob")
    number = world.open("bob:topic", "bob")
    requests = len(world.forge.requests)
    checkout = world.checkout(number, head)
    assert (checkout.tree / "a.txt").read_text() == "bob's\n"
    assert checkout.merge_base == start
    paths = {exchange.path.split("?")[0] for exchange in world.forge.requests[requests:]}
    git_paths = {path for path in paths if ".git/" in path}
    assert git_paths and all(path.startswith("/ada/app.git/") for path in git_paths), paths


def test_a_head_that_moved_on_is_checked_out_as_it_was(world: World):
    head = world.forge.commit(world.repo, {"a.txt": "first\n"}, branch="topic")
    number = world.open("topic")
    world.forge.commit(world.repo, {"a.txt": "second\n"}, branch="topic")
    checkout = world.checkout(number, head)
    assert checkout.base_sha == head
    assert (checkout.tree / "a.txt").read_text() == "first\n"


def test_a_head_that_is_gone_is_refused_in_a_sentence(world: World):
    world.forge.commit(world.repo, {"a.txt": "first\n"}, branch="topic")
    number = world.open("topic")
    with pytest.raises(CheckoutError, match=f"#{number} was aaaaaaaaaaaa .* ask again"):
        world.checkout(number, "a" * 40)


def test_a_commit_that_the_head_does_not_name_is_not_taken_for_it(world: World):
    """The SHA counts, not the ref: what is checked out is what was looked at, whatever the ref says now."""
    other = world.forge.commit(world.repo, {"a.txt": "other\n"}, branch="other")
    world.forge.commit(world.repo, {"a.txt": "first\n"}, branch="topic")
    assert world.checkout(world.open("topic"), other).base_sha == other


@pytest.mark.parametrize("name", ['+release/#1/it\'s_"quoted"/größe\u00a0weit', "-dash", "x" * 240])
def test_base_and_head_branches_may_have_any_name(world: World, name: str):
    base, branch = name, name.replace("1", "2").replace("x", "y") + "h"
    tip = world.forge.commit(world.repo, {"b.txt": "x\n"}, branch=base)
    head = world.forge.commit(world.repo, {"a.txt": "theirs\n"}, branch=branch)
    checkout = world.checkout(world.open(branch, base=base), head, base=base)
    assert (checkout.policy_sha, checkout.base_sha) == (tip, head)


@pytest.mark.parametrize("base", ["a b", "a..b", "a:b", "x~1", "x^", "a*", "a\nb", "", "a@{1}"])
def test_a_base_that_is_no_branch_is_refused(checked_out: CheckedOut, tmp_path: Path, base: str):
    with pytest.raises(MissingRevisionError, match="is not the name of a branch"):
        checked_out.world.checkout(
            checked_out.number, checked_out.head, base=base, name=str(tmp_path / "run")
        )


@pytest.mark.parametrize("sha", ["HEAD", "main", "--upload-pack=touch x", "abc", "A" * 40])
def test_a_head_is_named_by_its_whole_id_alone(checked_out: CheckedOut, tmp_path: Path, sha: str):
    with pytest.raises(MissingRevisionError):
        checked_out.world.checkout(checked_out.number, sha, name=str(tmp_path / "run"))


def test_a_head_without_history_in_common_has_no_merge_base(world: World, tmp_path: Path):
    head = world.forge.commit(world.repo, {"a.txt": "theirs\n"}, branch="topic")
    number = world.open("topic")
    stray = Repository(tmp_path / "stray")
    stray.commit("Alone", **{"c.txt": "c\n"})
    served = world.forge.git_folder(world.repo)
    git(served, "fetch", "-q", str(stray.path), "+main:refs/heads/main")
    checkout = world.checkout(number, head)
    assert checkout.merge_base == ""
    assert checkout.policy_sha == stray.head
