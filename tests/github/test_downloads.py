"""Downloads over real HTTP: the API redirects to another server, which gets no token."""

from collections.abc import Iterator

import pytest

from bot.github import checks
from bot.github.client import GitHub, connect
from bot.github.errors import GitHubError
from bot.github.retry import Pace
from bot.github.runs import PIECE
from tests.support.loopback import Listener, Request, Response

NAME = "octo/hello"
TOKEN = "ghs_secret-token-value"


class Storage(Listener):
    """`content` is the body, `size` the announced length: `None` is its real length, -1 announces nothing. Every path
    but `/signed` redirects to `redirect`, if set."""

    def __init__(self) -> None:
        self.content = b""
        self.size: int | None = None
        self.redirect = ""
        self.statuses: list[int] = []
        super().__init__(self._stored)

    def _stored(self, request: Request) -> Response:
        if self.statuses:
            return Response(self.statuses.pop(0))
        if self.redirect and not request.path.startswith("/signed"):
            return Response(302, headers={"Location": self.redirect})
        length = len(self.content) if self.size is None else self.size
        announced = {} if length < 0 else {"Content-Length": str(length)}
        return Response(200, self.content, {"Connection": "close", **announced})


@pytest.fixture
def api() -> Iterator[Storage]:
    with Storage() as server:
        yield server


@pytest.fixture
def blobs(api: Storage) -> Iterator[Storage]:
    with Storage() as server:
        api.redirect = f"{server.url}/signed?sig=abc"
        yield server


@pytest.fixture
def github(api: Storage) -> GitHub:
    return connect(TOKEN, f"{api.url}/api/v3", NAME, pace=Pace(0, sleep=lambda _: None))


def test_another_host_of_an_artifact_gets_no_token(api: Storage, blobs: Storage, github: GitHub):
    blobs.content = b"PK" + bytes(range(256)) * 1000
    assert github.download_artifact(5, 1_000_000) == blobs.content
    ((path, asked, _),) = api.requests
    assert path == "/api/v3/repos/octo/hello/actions/artifacts/5/zip"
    assert asked["authorization"] == f"token {TOKEN}"
    ((path, asked, _),) = blobs.requests
    assert path == "/signed?sig=abc"
    assert "authorization" not in asked
    assert TOKEN not in str(asked)


def test_a_netrc_gives_the_other_host_nothing(
    api: Storage,
    blobs: Storage,
    github: GitHub,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
):
    netrc = tmp_path_factory.mktemp("home") / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password hunter2\n")
    monkeypatch.setenv("NETRC", str(netrc))
    github.download_artifact(5, 10)
    assert "authorization" not in blobs.requests[0][1]


@pytest.mark.parametrize(("sent", "announced"), [(2_000_000, None), (2_000_000, -1), (1, 2_000_000)])
def test_a_too_large_artifact_is_none(blobs: Storage, github: GitHub, sent: int, announced: int | None):
    blobs.content, blobs.size = b"x" * sent, announced
    with pytest.raises(GitHubError, match="bigger than the 1,000,000 bytes"):
        github.download_artifact(5, 1_000_000)


def test_an_artifact_of_just_the_limit_is_taken(blobs: Storage, github: GitHub):
    blobs.content = b"x" * 1000
    assert len(github.download_artifact(5, 1000)) == 1000


def test_a_download_that_breaks_off_is_no_artifact(blobs: Storage, github: GitHub):
    blobs.content, blobs.size = b"x" * 500, 1000
    with pytest.raises(GitHubError, match="did not answer an attempt to read actions/artifacts/5/zip"):
        github.download_artifact(5, 10_000)


def test_an_expired_artifact_is_a_sentence(api: Storage, github: GitHub):
    api.statuses = [410]
    with pytest.raises(GitHubError, match=r"actions/artifacts/5/zip of octo/hello .* it no longer exists"):
        github.download_artifact(5, 10)


def test_a_server_error_is_repeated_from_the_start(api: Storage, blobs: Storage, github: GitHub):
    api.statuses, blobs.statuses = [502], [503]
    blobs.content = b"zip"
    assert github.download_artifact(5, 10) == b"zip"
    assert (len(api.requests), len(blobs.requests)) == (3, 2)


def test_a_redirect_within_the_api_gets_the_token(api: Storage, github: GitHub):
    """As for a repository that was renamed."""
    api.redirect = f"{api.url}/api/v3/repositories/9/actions/artifacts/5/zip"
    with pytest.raises(GitHubError, match="Exceeded 5 redirects"):
        github.download_artifact(5, 10)
    assert {request.headers.get("authorization") for request in api.requests} == {f"token {TOKEN}"}


@pytest.mark.parametrize("location", ["ftp://127.0.0.1/x", "file:///etc/passwd"])
def test_a_redirect_to_another_scheme_is_not_followed(api: Storage, github: GitHub, location: str):
    api.redirect = location
    with pytest.raises(GitHubError, match="another scheme"):
        github.download_artifact(5, 10)


def test_a_huge_log_is_fetched_in_part(blobs: Storage, github: GitHub, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checks, "LOG_LIMIT", PIECE)
    blobs.content = "".join(f"2026-01-02T03:04:07.0Z line {n}\n" for n in range(5_000)).encode()
    (step,) = github._steps(1)
    shown = step.log.split("\n")
    assert int(shown[-2].split()[1]) < 2_500
    assert len(shown) <= 200
