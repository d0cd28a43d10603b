"""A checkout over HTTP, from a server that checks tokens; a pull request's head as one, forks included."""

import base64
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from git.exc import GitCommandError  # noqa: F401 - GitPython runs `git version` with the whole environment

from bot.checkout.clone import Checkout, Source, check_out
from bot.checkout.git import CheckoutError, MissingRevisionError, UnavailableError
from bot.checkout.pull import PullHead
from bot.checkout.remote import run_remote_command
from bot.github.client import connect
from bot.github.errors import RepositoryMovedError
from bot.github.retry import Pace
from slash_forge import Forge
from tests.support.files import write_file
from tests.support.loopback import Listener, Request, Response
from tests.support.repositories import Repository, git


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.checkout.remote.Pace", lambda: Pace(sleep=lambda seconds: None))


@pytest.fixture(scope="module")
def forge() -> Iterator[Forge]:
    with Forge() as running:
        running.add_user("ada")
        yield running


@pytest.fixture(scope="module")
def repo(forge: Forge, tmp_path_factory: pytest.TempPathFactory) -> str:
    repository = Repository(tmp_path_factory.mktemp("source") / "source")
    # Each commit replaces half a megabyte that does not compress.
    for number in range(6):
        repository.commit(f"Number {number}", **{"large.bin": os.urandom(500_000), "a.txt": f"{number}\n"})
    repository.git("tag", "-a", "v1.0", "-m", "v1.0", "HEAD~2")
    repository.git("branch", "topic/one", "HEAD~1")
    return forge.create_repository("ada", "history", repository.path, private=True)


def check_out_remote(
    forge: Forge, repo: str, tmp_path: Path, revision: str = "main", **options: object
) -> Checkout:
    source = Source(forge.clone_url(repo), revision, forge.token("ada"))
    return check_out(source, tmp_path / "run", **options)  # type: ignore[arg-type]


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_a_repository_that_was_renamed_is_named_as_such_and_no_token_follows(tmp_path: Path):
    with Forge() as forge:
        forge.add_user("ada")
        name = forge.create_repository("ada", "old", Repository(tmp_path / "source").path)
        url = forge.clone_url(name)
        forge.rename_repository(name, "ada/new")
        with pytest.raises(RepositoryMovedError, match="renamed or transferred"):
            check_out(Source(url, "main", forge.token("ada")), tmp_path / "run")
        requests = [one for one in forge.requests if "info/refs" in one.path]
        assert {one.path.split("/")[2] for one in requests} == {"old.git"}


def test_history_is_not_downloaded(forge: Forge, repo: str, tmp_path: Path):
    checkout = check_out_remote(forge, repo, tmp_path)
    assert size_of(forge.git_folder(repo) / "objects") > 2_900_000
    assert size_of(checkout.git.git_dir / "objects") < 600_000


def test_a_wrong_token_is_said_to_be_refused(forge: Forge, repo: str, tmp_path: Path):
    with pytest.raises(CheckoutError, match="refused the token") as caught:
        check_out(Source(forge.clone_url(repo), "main", "ghp_wrongwrongwrong"), tmp_path / "run")
    assert "ghp_wrong" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("url", "revision", "error", "words"),
    [
        ("{forge}/ada/nowhere.git", "main", CheckoutError, "no repository at .*nowhere"),
        ("{forge}/ada/empty.git", "main", CheckoutError, "has no commits yet"),
        ("{repo}", "nowhere", MissingRevisionError, "no branch or commit 'nowhere'"),
        ("{repo}", "a" * 40, MissingRevisionError, "a" * 40),
        ("http://127.0.0.1:1/x/y.git", "main", UnavailableError, "after several tries: .*[Cc]onnect"),
    ],
)
def test_what_is_not_there_is_named(
    forge: Forge, repo: str, tmp_path: Path, url: str, revision: str, error: type[CheckoutError], words: str
):
    if "empty" in url:
        forge.create_repository("ada", "empty")
    place = url.format(forge=forge.url, repo=forge.clone_url(repo))
    with pytest.raises(error, match=words):
        check_out(Source(place, revision, forge.token("ada")), tmp_path / "run")


@pytest.mark.parametrize(
    "revision", ["-u", "--upload-pack=touch x", "a b", "a..b", "x:y", "+x", "refs/heads/../x"]
)
def test_a_revision_that_is_no_name_is_refused(forge: Forge, repo: str, tmp_path: Path, revision: str):
    with pytest.raises(CheckoutError):
        check_out_remote(forge, repo, tmp_path, revision)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ext::sh://touch", "must start with https"),
        ("ssh://git@example.org/x", "must start with https"),
        ("git://example.org/x", "must start with https"),
        ("https://me:secret@example.org/x", "must not hold credentials"),
        ("http://example.org/x", "not sent over plain http"),
    ],
)
def test_an_address_that_must_not_be_used_is_refused(tmp_path: Path, url: str, reason: str):
    with pytest.raises(CheckoutError, match=reason) as caught:
        check_out(Source(url, "main", "token-token"), tmp_path / "run")
    assert "secret" not in str(caught.value)


_RECORDING = """#!/bin/sh
{ tr '\\0' '\\n' < /proc/$$/environ; printf '%s\\n' "$0" "$@"; ls -l /proc/$$/cwd; } >> RECORD
exec REAL "$@"
"""


def recorded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs before git and env on PATH that write down what they are started with."""
    folder.mkdir()
    for name in ("git", "env"):
        real = shutil.which(name)
        assert real
        program = folder / name
        write_file(program, _RECORDING.replace("RECORD", str(folder / "record")).replace("REAL", real), 0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder / "record"


def test_a17_git_is_told_the_token_in_no_argument_variable_or_file(
    forge: Forge, repo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A-17, git's part."""
    monkeypatch.setenv("SOME_TOKEN", "canary-of-ours-1f2e3d4c")
    record = recorded(tmp_path / "programs", monkeypatch)
    token = forge.token("ada")
    checkout = check_out_remote(forge, repo, tmp_path)
    assert checkout.base_sha == forge.branch_sha(repo)
    output = record.read_text()
    assert "fetch" in output and "credential" in output
    hidden = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    assert not [secret for secret in (token, hidden, "canary-of-ours-1f2e3d4c") if secret in output]
    texts = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert token.encode() not in texts


def test_the_password_of_a_proxy_goes_the_same_way(
    forge: Forge, repo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    record = recorded(tmp_path / "programs", monkeypatch)
    with Listener(_refuse) as proxy:
        monkeypatch.setenv("http_proxy", f"http://me:p%40ss-word-of-proxy@127.0.0.1:{proxy.port}")
        with pytest.raises(CheckoutError):
            check_out_remote(forge, repo, tmp_path)
    # curl signs in once the proxy has asked for it, or at once.
    basic = base64.b64encode(b"me:p@ss-word-of-proxy").decode()
    assert f"Basic {basic}" in [one.headers.get("proxy-authorization") for one in proxy.requests]
    assert "ss-word-of-proxy" not in record.read_text()


def test_a_token_with_a_line_break_is_refused(forge: Forge, repo: str, tmp_path: Path):
    with pytest.raises(CheckoutError, match="line break"):
        run_remote_command(tmp_path, forge.clone_url(repo), "token\nurl=https://evil.example", ["ls-remote"])


def _refuse(request: Request) -> Response:
    """As a proxy that wants to know who asks, and then has nothing to say."""
    status = 502 if "proxy-authorization" in request.headers else 407
    return Response(status, headers={"Proxy-Authenticate": 'Basic realm="proxy"'})


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
