"""Over real HTTP: downloads, which the API redirects to another server that gets no token; and responses that did not
arrive whole, each repeated as a network failure."""

import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from bot.contracts.errors import ExitCode
from bot.github import checks
from bot.github.client import GitHub, connect
from bot.github.errors import GitHubError
from bot.github.retry import ATTEMPTS, Pace
from bot.github.runs import PIECE
from bot.github.stdlib_api import Api, ApiError
from tests.support.loopback import Handler, Listener, Loopback, Request, Response
from tests.support.tables import NAME, comment

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


WHOLE = json.dumps([comment(1)]).encode()
PACKED = gzip.compress(WHOLE)
JSON = "Content-Type: application/json; charset=utf-8"
ETAG = 'ETag: "true"'


def response(body: bytes, *headers: str, status: int = 200, kind: str = JSON) -> bytes:
    # Otherwise the client may reuse a connection whose end has not reached it yet.
    head = "\r\n".join([f"HTTP/1.1 {status} Said", "Connection: close", *filter(None, [kind]), *headers])
    return f"{head}\r\n\r\n".encode() + body


def length(body: bytes) -> str:
    return f"Content-Length: {len(body)}"


GOOD = response(WHOLE, ETAG, length(WHOLE))
PAGE = b"<html><head><title>Sign in to the network</title></head></html>"
DAMAGED = {
    "short of its length": response(WHOLE[:40], ETAG, length(WHOLE)),
    "cut, with the length of what is left": response(WHOLE[:40], ETAG, length(WHOLE[:40])),
    "cut, without a length": response(WHOLE[:40], ETAG, "Connection: close"),
    "chunks without their end": response(b"%x\r\n%b\r\n" % (len(WHOLE), WHOLE), ETAG, "Transfer-Encoding: chunked"),
    "a chunk that is cut": response(b"%x\r\n%b" % (99, WHOLE[:40]), ETAG, "Transfer-Encoding: chunked"),
    "compressed and cut": response(PACKED[:40], ETAG, "Content-Encoding: gzip", length(PACKED[:40])),
    "not compressed": response(WHOLE, ETAG, "Content-Encoding: gzip", length(WHOLE)),
    "empty": response(b"", ETAG, "Content-Length: 0"),
    "empty compressed": response(b"", ETAG, "Content-Encoding: gzip", "Content-Length: 0"),
    "a page": response(PAGE, ETAG, length(PAGE), kind="Content-Type: text/html"),
    "a page that calls itself JSON": response(PAGE, ETAG, length(PAGE)),
    "JSON of another type": response(b"[]", ETAG, length(b"[]"), kind="Content-Type: text/html"),
    "not modified, and never read": response(b"", ETAG, status=304),
    "not a header": b"HTTP/1.1 200 OK\r\nContent-",
    "nothing": b"",
}  # fmt: skip


@contextmanager
def server(*answers: bytes) -> Iterator[tuple[str, list[Mapping[str, str]]]]:
    """Yield the URL of a server that sends `answers` as they are, the last again and again, and the requests."""
    requests: list[Mapping[str, str]] = []

    class Raw(Handler):
        def do_GET(self) -> None:
            requests.append({name.lower(): value for name, value in self.headers.items()})
            self.wfile.write(answers[min(len(requests), len(answers)) - 1])
            self.close_connection = True

    with Loopback(Raw) as http:
        yield http.url, requests


def client(url: str) -> GitHub:
    return connect("token", url, NAME, pace=Pace(sleep=lambda seconds: None))


def bodies(github: GitHub) -> list[str]:
    return [one.body for one in github.comments(7)]


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_response_is_repeated(damaged: bytes):
    with server(damaged, GOOD) as (url, requests):
        assert bodies(client(url)) == ["text 1"]
    assert len(requests) == 2


@pytest.mark.parametrize("damaged", [DAMAGED["a page"], DAMAGED["nothing"]])
def test_damaged_responses_alone_are_a_sentence(damaged: bytes):
    with server(damaged) as (url, requests):
        with pytest.raises(
            GitHubError, match="did not answer an attempt to read issues/7/comments"
        ) as caught:
            bodies(client(url))
        assert len(requests) == ATTEMPTS
    assert caught.value.exit_code is ExitCode.UNAVAILABLE


def test_a_proxys_refusal_is_not_quoted_as_html():
    with (
        server(response(PAGE, length(PAGE), status=403, kind="Content-Type: text/html")) as (url, _),
        pytest.raises(GitHubError, match=r"\(403: text/html, not JSON: Sign in to the network\)"),
    ):
        bodies(client(url))


@pytest.mark.parametrize(
    "damaged", [DAMAGED[name] for name in ("short of its length", "a chunk that is cut", "a page", "nothing")]
)
def test_the_standard_librarys_client_reports_them_too(damaged: bytes):
    with server(damaged) as (url, _), pytest.raises(ApiError, match="did not answer GET /x"):
        Api(url, "token").get("/x?y")
