"""Gets attachments, without any credential: from GitHub's own hosts, within limits of size and time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin

from bot.attachments.address import Site

if TYPE_CHECKING:
    import requests

_PIECE = 1 << 16
_REDIRECTS = 3
_HEADERS = {"User-Agent": "slash-agent", "Accept": "image/*", "Accept-Encoding": "identity"}


class Limits(NamedTuple):
    """Bytes and seconds. GitHub takes pictures of up to 10 MB."""

    each: int = 10 * 1024 * 1024
    together: int = 20 * 1024 * 1024
    seconds: float = 15.0
    silence: float = 10.0


LIMITS = Limits()


class NotFetched(Exception):
    """Why not, as a clause."""


class Fetcher:
    """For one run: what it has got counts against `limits.together`."""

    def __init__(
        self, site: Site, limits: Limits = LIMITS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._site = site
        self._limits = limits
        self._clock = clock
        self._got = 0

    def get(self, address: str) -> bytes:
        """The bytes at `address`, which is the site's. Raises `NotFetched`."""
        import requests
        from urllib3.exceptions import HTTPError

        deadline = self._clock() + self._limits.seconds
        with requests.Session() as session:
            # No `.netrc`, which might hold a password for one of these hosts.
            session.auth = lambda request: request
            try:
                with self._answered(session, address) as response:
                    return self._read(response, deadline)
            except (requests.RequestException, HTTPError, OSError) as error:
                # Its name and no more: the text holds the address, which may be a signed one.
                raise NotFetched(f"GitHub did not send it ({type(error).__name__})") from None

    def _answered(self, session: requests.Session, address: str) -> requests.Response:
        for _ in range(_REDIRECTS + 1):
            if not self._site.may_follow(address):
                raise NotFetched("GitHub sent us on to a host that is not known to be its own")
            response = session.get(
                address, headers=_HEADERS, timeout=self._limits.silence, stream=True, allow_redirects=False
            )
            location = response.headers.get("location", "")
            if response.status_code in (301, 302, 303, 307, 308) and location:
                response.close()
                address = urljoin(address, location)
                continue
            if response.status_code != 200:
                response.close()
                raise NotFetched(_refused(response.status_code))
            return response
        raise NotFetched("GitHub sent us on and on")

    def _read(self, response: requests.Response, deadline: float) -> bytes:
        """As it comes, in no encoding of the way: a few bytes could stand for many."""
        data = bytearray()
        while piece := response.raw.read1(_PIECE, decode_content=False):
            data += piece
            if len(data) > self._limits.each:
                raise NotFetched(f"it is over {self._limits.each // (1024 * 1024)} MB")
            if self._got + len(data) > self._limits.together:
                raise NotFetched(f"all together are over {self._limits.together // (1024 * 1024)} MB")
            if self._clock() > deadline:
                raise NotFetched(f"it took longer than {self._limits.seconds:.0f} s")
        self._got += len(data)
        return bytes(data)


def _refused(status: int) -> str:
    if status in (401, 403, 404, 410):
        return f"GitHub does not show it to us ({status})"
    return f"GitHub answered {status}"
