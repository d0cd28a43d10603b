"""Download attachments without any credential, only from GitHub's own hosts, within limits of size and time.

Addresses are matched as a whole by patterns, never by their parsed parts: an address that does not match to the
last character is another host's, and no request goes there (A-08).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urljoin

import requests
from urllib3.exceptions import HTTPError

from bot.contracts.journal import AttachedFile
from bot.contracts.plain_text import quoted
from bot.contracts.regular_files import TO_CREATE

_PIECE = 1 << 16
_REDIRECTS = 3
_HEADERS = {"User-Agent": "slash-agent", "Accept": "*/*", "Accept-Encoding": "identity"}


class FetchLimits(NamedTuple):
    """Bytes and seconds. GitHub accepts pictures of up to 10 MB."""

    each: int = 10 * 1024 * 1024
    together: int = 20 * 1024 * 1024
    seconds: float = 15.0
    idle: float = 10.0


PICTURE_LIMITS = FetchLimits()
FILE_LIMITS = FetchLimits(25 * 1024 * 1024, 50 * 1024 * 1024, 30.0)
"""GitHub accepts other files of up to 25 MB."""


class Omitted(Exception):
    """Why an attachment is not given to the model, as a clause."""


class Fetcher:
    """Downloads for one run; their sizes count against `limits.together`."""

    def __init__(self, site: Site, limits: FetchLimits = PICTURE_LIMITS) -> None:
        self._site = site
        self._limits = limits
        self._size = 0

    def get(self, address: str) -> bytes:
        """Return the bytes at `address`, which must be the site's. Raises `Omitted`."""
        deadline = time.monotonic() + self._limits.seconds
        with requests.Session() as session:
            # No `.netrc`, which might hold a password for one of these hosts.
            session.auth = lambda request: request
            try:
                with self._response(session, address) as response:
                    return self._read(response, deadline)
            except (requests.RequestException, HTTPError, OSError) as error:
                # Its name and no more: the text holds the address, which may be a signed one.
                raise Omitted(f"GitHub did not send it ({type(error).__name__})") from None

    def _response(self, session: requests.Session, address: str) -> requests.Response:
        for _ in range(_REDIRECTS + 1):
            if not self._site.may_follow(address):
                raise Omitted("GitHub sent us on to a host that is not known to be its own")
            response = session.get(
                address, headers=_HEADERS, timeout=self._limits.idle, stream=True, allow_redirects=False
            )
            location = response.headers.get("location", "")
            if response.status_code in (301, 302, 303, 307, 308) and location:
                response.close()
                address = urljoin(address, location)
                continue
            if (status := response.status_code) != 200:
                response.close()
                hidden = status in (401, 403, 404, 410)
                raise Omitted(
                    f"GitHub does not show it to us ({status})" if hidden else f"GitHub answered {status}"
                )
            return response
        raise Omitted("too many redirects")

    def _read(self, response: requests.Response, deadline: float) -> bytes:
        """Read without content decoding: a few encoded bytes could expand to many."""
        data = bytearray()
        while piece := response.raw.read1(_PIECE, decode_content=False):
            data += piece
            if len(data) > self._limits.each:
                raise Omitted(f"it is over {self._limits.each // (1024 * 1024)} MB")
            if self._size + len(data) > self._limits.together:
                raise Omitted(f"all together are over {self._limits.together // (1024 * 1024)} MB")
            if time.monotonic() > deadline:
                raise Omitted(f"it took longer than {self._limits.seconds:.0f} s")
        self._size += len(data)
        return bytes(data)


GITHUB = "https://github.com"

_ID = r"[0-9]{1,15}"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_REPOSITORY = r"[A-Za-z0-9][A-Za-z0-9-]{0,99}/(?!\.{1,2}/)[A-Za-z0-9._-]{1,100}"
# Of an attached file: GitHub writes spaces and brackets as dots.
_OF_NAME = r"%[89A-Fa-f][0-9A-Fa-f]"
_NAME = rf"(?:[A-Za-z0-9_]|{_OF_NAME})(?:[A-Za-z0-9._~+@-]|{_OF_NAME}){{0,300}}"
_FILE = r"[A-Za-z0-9_-]{1,200}\.[A-Za-z]{2,5}"
_SIGNATURE = r"[A-Za-z0-9._=-]{1,4000}"
_CONTENT = r"https://(?:private-)?user-images\.githubusercontent\.com"

_HOSTED = re.compile(rf"{_CONTENT}/{_ID}/{_FILE}(?:\?jwt={_SIGNATURE})?", re.ASCII)
# Where github.com sends whoever may see an attachment: its own stores, by names that nobody else can have.
_STORES = re.compile(
    r"https://(?:objects\.githubusercontent\.com|github-production-user-asset-6210df\.s3\.amazonaws\.com"
    r"|github-production-repository-file-5c1aeb\.s3\.amazonaws\.com)"
    r"/[A-Za-z0-9/._~%?&=+-]{1,8000}",
    re.ASCII,
)
_UUID_IN = re.compile(rf"(?<![0-9a-f])({_UUID})(?![0-9a-f])")


class Site(NamedTuple):
    """The address patterns of one GitHub server. Created by `site_of`."""

    uploads: re.Pattern[str]
    signed: re.Pattern[str]
    stores: re.Pattern[str]
    files: re.Pattern[str]

    def is_picture(self, address: str) -> bool:
        """Whether `address` is a picture that was attached on this server."""
        return self.uploads.fullmatch(address) is not None or self.signed.fullmatch(address) is not None

    def may_follow(self, address: str) -> bool:
        """Whether a redirect to `address` is allowed."""
        return self.is_picture(address) or self.is_file(address) or self.stores.fullmatch(address) is not None

    def is_file(self, address: str) -> bool:
        """Whether `address` is a file, other than a picture, that was attached on this server."""
        return self.files.fullmatch(address) is not None

    def signed_for(self, address: str, rendered: list[str]) -> str:
        """Return the signed address of the same upload among those that GitHub rendered; empty for none."""
        upload = identity(address)
        return next(
            (one for one in rendered if upload and identity(one) == upload and self.signed.fullmatch(one)), ""
        )


def site_of(server: str) -> Site:
    """Return the patterns for `server`, which is GITHUB_SERVER_URL. github.com has separate hosts for
    attachments; another server has only itself."""
    origin = re.escape(server.rstrip("/"))
    uploads = rf"{origin}/user-attachments/assets/{_UUID}|{origin}/{_REPOSITORY}/assets/{_ID}/{_UUID}"
    files = re.compile(rf"{origin}/(?:user-attachments|{_REPOSITORY})/files/{_ID}/{_NAME}", re.ASCII)
    if server.rstrip("/") == GITHUB:
        return Site(re.compile(uploads, re.ASCII), _HOSTED, _STORES, files)
    stored = re.compile(rf"{origin}/storage/user/{_ID}/files/{_UUID}(?:\?token={_SIGNATURE})?", re.ASCII)
    return Site(re.compile(uploads, re.ASCII), stored, stored, files)


def identity(address: str) -> str:
    """Return the id of an upload, common to all of its addresses; empty for none."""
    matches = _UUID_IN.findall(address.partition("?")[0])
    return str(matches[-1]) if matches else ""


def file_name(address: str) -> str:
    """Return the name under which a file was attached."""
    return unquote(address.rpartition("/")[2], errors="replace")


MAX_ATTACHED = 8

_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")


class AttachedFiles:
    """The attached files of one run. `folder` is mounted read-only in the agent's sandbox."""

    def __init__(self, folder: Path, fetcher: Fetcher) -> None:
        self.files: list[AttachedFile] = []
        self._folder = folder
        self._fetcher = fetcher
        self._addresses: set[str] = set()

    def add(self, address: str, location: str) -> None:
        """Fetch the file at `address`; `location` names the text that links it. Raises `Omitted`."""
        if address in self._addresses:
            return
        if len(self.files) >= MAX_ATTACHED:
            raise Omitted(f"there is room for {MAX_ATTACHED}")
        begun, name = time.monotonic(), file_name(address)
        data = self._fetcher.get(address)
        # A new folder, so that two files may have the same name, and no link in it can lead elsewhere.
        folder = self._folder / str(len(self.files) + 1)
        path = folder / (_UNUSUAL.sub("_", name)[-100:].lstrip(".") or "file")
        try:
            folder.mkdir(mode=0o700, parents=True)
            with open(os.open(path, TO_CREATE, 0o600), "wb") as file:
                file.write(data)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise Omitted(f"it could not be written ({error.strerror})") from error
        self._addresses.add(address)
        digest = hashlib.sha256(data).hexdigest()
        seconds = time.monotonic() - begun
        self.files.append(AttachedFile(name, location, len(data), digest, str(path), seconds))


def file_line(file: AttachedFile) -> str:
    """Return a line for the model. The name is untrusted."""
    return f"{quoted(file.name)}, {file.size:,} bytes, in {file.place}: {file.path}"
