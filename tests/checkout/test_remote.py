"""A checkout over HTTP, from a server that checks tokens."""

import base64
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from git.exc import GitCommandError  # noqa: F401 - GitPython runs `git version` with the whole environment

from bot.checkout.clone import Checkout, Source, check_out
from bot.checkout.git import CheckoutError, MissingRevisionError, UnavailableError
from bot.checkout.remote import run_remote_command
from bot.github.errors import RepositoryMovedError
from bot.github.retry import Pace
from slash_forge import Forge
from tests.support.files import write_file
from tests.support.loopback import Listener, Request, Response
from tests.support.repositories import Repository


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


def checked_out(
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
    checkout = checked_out(forge, repo, tmp_path)
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
        checked_out(forge, repo, tmp_path, revision)


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
    checkout = checked_out(forge, repo, tmp_path)
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
            checked_out(forge, repo, tmp_path)
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
