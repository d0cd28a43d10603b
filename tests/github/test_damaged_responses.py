"""Responses that did not arrive whole, over real HTTP: each is repeated as a network failure."""

import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from bot.contracts.errors import ExitCode
from bot.github.client import GitHub, connect
from bot.github.errors import GitHubError
from bot.github.retry import ATTEMPTS, Pace
from bot.github.stdlib_api import Api, ApiError
from tests.support.loopback import Handler, Loopback
from tests.support.tables import NAME, comment

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
    "chunks without their end": response(
        b"%x\r\n%b\r\n" % (len(WHOLE), WHOLE), ETAG, "Transfer-Encoding: chunked"
    ),
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
}


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
