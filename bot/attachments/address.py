"""Which addresses are GitHub's own attachments, and where a request for one may be sent on to.

Judged by whole patterns over the text of an address, never by its parsed pieces: what does not match to the last
character is another host's, and no request goes there (A-08).
"""

from __future__ import annotations

import re
from typing import NamedTuple

GITHUB = "https://github.com"

_ID = r"[0-9]{1,15}"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_REPOSITORY = r"[A-Za-z0-9][A-Za-z0-9-]{0,99}/(?!\.{1,2}/)[A-Za-z0-9._-]{1,100}"
_FILE = r"[A-Za-z0-9_-]{1,200}\.[A-Za-z]{2,5}"
_SIGNATURE = r"[A-Za-z0-9._=-]{1,4000}"
_CONTENT = r"https://(?:private-)?user-images\.githubusercontent\.com"

_HOSTED = re.compile(rf"{_CONTENT}/{_ID}/{_FILE}(?:\?jwt={_SIGNATURE})?", re.ASCII)
# Where github.com sends whoever may see an attachment: its own stores, by names that nobody else can have.
_STORES = re.compile(
    r"https://(?:objects\.githubusercontent\.com|github-production-user-asset-6210df\.s3\.amazonaws\.com)"
    r"/[A-Za-z0-9/._~%?&=+-]{1,8000}",
    re.ASCII,
)
_UUID_IN = re.compile(rf"(?<![0-9a-f])({_UUID})(?![0-9a-f])")


class Site(NamedTuple):
    """The addresses of one GitHub server. Made by `site_of`."""

    uploads: re.Pattern[str]
    signed: re.Pattern[str]
    stores: re.Pattern[str]

    def holds(self, address: str) -> bool:
        """Whether `address` is an attachment of this server."""
        return self.uploads.fullmatch(address) is not None or self.signed.fullmatch(address) is not None

    def may_follow(self, address: str) -> bool:
        """Whether a redirect may lead there."""
        return self.holds(address) or self.stores.fullmatch(address) is not None

    def signed_for(self, address: str, rendered: list[str]) -> str:
        """Of the addresses that GitHub rendered for a text, the signed one of the same upload; empty for none."""
        wanted = identity(address)
        return next(
            (one for one in rendered if wanted and identity(one) == wanted and self.signed.fullmatch(one)), ""
        )


def site_of(server: str) -> Site:
    """`server` is GITHUB_SERVER_URL. github.com has hosts of its own for this; another server has itself alone."""
    origin = re.escape(server.rstrip("/"))
    uploads = rf"{origin}/user-attachments/assets/{_UUID}|{origin}/{_REPOSITORY}/assets/{_ID}/{_UUID}"
    if server.rstrip("/") == GITHUB:
        return Site(re.compile(uploads, re.ASCII), _HOSTED, _STORES)
    stored = re.compile(rf"{origin}/storage/user/{_ID}/files/{_UUID}(?:\?token={_SIGNATURE})?", re.ASCII)
    return Site(re.compile(uploads, re.ASCII), stored, stored)


def identity(address: str) -> str:
    """What names an upload in all of its addresses; empty where nothing does."""
    found = _UUID_IN.findall(address.partition("?")[0])
    return str(found[-1]) if found else ""
