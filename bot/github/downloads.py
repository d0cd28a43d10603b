"""Streamed downloads: API addresses that redirect to a signed address on another host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from urllib.parse import urljoin, urlsplit

import requests

from bot.github.errors import Failure, GitHubError, failure_from, sentence
from bot.github.retry import with_retries
from bot.github.transport import ApiPart, body_of, reading

_TIMEOUT = 30
PIECE = 1 << 16
_REDIRECTS = 5


class Downloads(ApiPart):
    """Uses `requests`, since PyGithub holds the whole response in memory.

    The token is sent to the API only: the address behind the redirect carries its own signature.
    """

    @contextmanager
    def _download(self, path: str) -> Iterator[tuple[int, Iterator[bytes]]]:
        """Yield the size that the server announces, 0 if none, and the body in pieces of `PIECE` bytes. They raise
        `GitHubError` if the connection breaks."""
        action = reading(path)
        with requests.Session() as session:
            # No `.netrc`, whose password would go to the other host. Proxies of the environment still apply.
            session.auth = lambda request: request
            attempt = partial(self._once_followed, session, path)
            response = with_retries(attempt, self.requester.pace, action, safe=True)
            with response:
                length = response.headers.get("content-length", "")
                yield int(length) if length.isdigit() else 0, _pieces(response, action)

    def _once_followed(self, session: requests.Session, path: str) -> requests.Response | Failure:
        url = f"{self.requester.base_url.rstrip('/')}{path}"
        request_headers = {"User-Agent": "slash-agent", "Accept": "application/vnd.github+json"}
        auth = self.requester.auth
        if auth is not None:
            auth.authentication(request_headers)
        base_url = self.requester.base_url
        for hop in range(_REDIRECTS):
            try:
                response = session.get(
                    url, headers=request_headers, timeout=_TIMEOUT, stream=True, allow_redirects=False
                )
            except requests.RequestException as error:
                return Failure(0, type(error).__name__)
            location = response.headers.get("location", "")
            if response.status_code in (301, 302, 303, 307, 308) and location:
                response.close()
                url = urljoin(url, location)
                if urlsplit(url).scheme != urlsplit(base_url).scheme:
                    return Failure(301, "a redirect to another scheme")
                if url.startswith(f"{base_url.rstrip('/')}/"):
                    continue  # a repository that was renamed: GitHub asks for the token there as well
                # Unencoded, so that `content-length` is the number of bytes.
                request_headers = {"User-Agent": "slash-agent", "Accept-Encoding": "identity"}
                continue
            if response.status_code >= 300:
                with response:
                    body = response.raw.read(PIECE).decode(errors="replace") if hop == 0 else ""
                lowered = {name.lower(): value for name, value in response.headers.items()}
                data = body_of(response.status_code, lowered, body)
                return failure_from(response.status_code, data, lowered)
            return response
        return Failure(301, "too many redirects")


def _pieces(response: requests.Response, action: str) -> Iterator[bytes]:
    try:
        yield from response.iter_content(PIECE)
    except requests.RequestException as error:
        failure = Failure(0, type(error).__name__)
        raise GitHubError(sentence(failure, action), failure) from None
