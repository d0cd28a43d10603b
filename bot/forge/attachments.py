"""What people upload into a thread: an address in their text, which sends whoever may see it on to a signed one.

A private repository's is found by its signed address alone, which the API gives in a text's `body_html` and which a
token beside it does not open. The addresses are those of a GitHub server of one's own: all on one host.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from bot.forge import errors
from bot.forge.call import Call, Reply
from bot.forge.shapes.site import Site
from bot.forge.state import Attachment, Repository, State, User

UPLOADED = "/user-attachments/assets"
STORED = "/storage/user"
_ADDRESS = re.compile(
    r"/user-attachments/assets/(?P<id>[0-9a-f-]{36})|/storage/user/\d+/files/(?P<stored>[0-9a-f-]{36})"
)


def upload(state: State, repository: Repository, by: User, data: bytes, content_type: str) -> str:
    """Keep `data` and return its path."""
    name = str(uuid4())
    state.attachments[name] = Attachment(data, content_type, by.id, repository.private, secrets.token_hex(16))
    return f"{UPLOADED}/{name}"


def recognise(path: str) -> bool:
    return _ADDRESS.fullmatch(path) is not None


def answer(
    state: State, site: Site, path: str, query: Mapping[str, str], headers: Mapping[str, str]
) -> Reply:
    """As the store of logs, this one refuses a request with a token beside the address."""
    match = _ADDRESS.fullmatch(path)
    name = (match["id"] or match["stored"]) if match else ""
    with state.lock:
        found = state.attachments.get(name)
    if match is None or found is None:
        raise errors.not_found()
    if match["id"]:
        if found.private:
            raise errors.not_found()
        return Reply(302, b"", {"Location": signed(site, name, found)}, "text/html")
    if "authorization" in headers:
        return Reply(400, b"InvalidAuthenticationInfo", content_type="application/xml")
    if not secrets.compare_digest(query.get("token", ""), found.token):
        raise errors.not_found()
    return Reply(200, found.data, content_type=found.content_type)


def signed(site: Site, name: str, found: Attachment) -> str:
    return f"{site.html}{STORED}/{found.by}/files/{name}?token={found.token}"


def in_full(call: Call, shape: dict[str, Any]) -> dict[str, Any]:
    """`shape` with its text as HTML too, where the Accept header asks for it."""
    if not call.wants("full"):
        return shape
    body = shape["body"] or ""
    return {**shape, "body_html": _rendered(call.state, call.site, body), "body_text": body}


def _rendered(state: State, site: Site, body: str) -> str:
    """With the signed addresses of the uploads in it."""
    from markdown_it import MarkdownIt

    def sign(match: re.Match[str]) -> str:
        found = state.attachments.get(match[1])
        return signed(site, match[1], found) if found else match[0]

    html = str(MarkdownIt("commonmark", {"html": True}).render(body))
    return re.sub(rf"{re.escape(site.html + UPLOADED)}/([0-9a-f-]{{36}})", sign, html)
