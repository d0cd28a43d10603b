"""Files uploaded into threads, and the store of logs and artifacts.

The URL in a text redirects to a signed URL. A file of a private repository has only the signed URL, which the API
returns in `body_html`; a request with a token is refused. As on GitHub Enterprise Server, all URLs are on one host.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from slash_forge import errors
from slash_forge.call import Call, Reply
from slash_forge.rendering import to_html, to_text
from slash_forge.shapes.site import Site
from slash_forge.state import Attachment, Repository, State, User

_UPLOADS = "/user-attachments/assets"
_FILES = "/user-attachments/files"
_SIGNED = "/storage/user"
STORE = "/_store"
_ADDRESS = re.compile(
    r"/user-attachments/assets/(?P<id>[0-9a-f-]{36})|/user-attachments/files/(?P<file>\d+)/[^/]+|/storage/user/\d+/files/(?P<stored>[0-9a-f-]{36})"
)


def upload(state: State, repository: Repository, by: User, data: bytes, content_type: str) -> str:
    """Keep `data` and return its path."""
    name = str(uuid4())
    state.attachments[name] = Attachment(data, content_type, by.id, repository.private, secrets.token_hex(16))
    return f"{_UPLOADS}/{name}"


def upload_file(state: State, repository: Repository, by: User, name: str, data: bytes) -> str:
    """Keep a file that is not a picture and return its path. `body_html` has no signed URL of it."""
    identity = upload(state, repository, by, data, "application/octet-stream").rpartition("/")[2]
    state.attached_files[str(number := len(state.attached_files) + 1)] = identity
    return f"{_FILES}/{number}/{name}"


def recognise(path: str) -> bool:
    return _ADDRESS.fullmatch(path) is not None


def answer(
    state: State, site: Site, path: str, query: Mapping[str, str], headers: Mapping[str, str]
) -> Reply:
    """Serve an upload or redirect to it. A request with a token is refused."""
    match = _ADDRESS.fullmatch(path)
    with state.lock:
        listed = state.attached_files.get(match["file"] or "", "") if match else ""
        name = (match["id"] or match["stored"] or listed) if match else ""
        result = state.attachments.get(name)
    if match is None or result is None:
        raise errors.not_found()
    if not match["stored"]:
        if result.private:
            raise errors.not_found()
        return Reply(302, b"", {"Location": signed_url(site, name, result)}, "text/html")
    if "authorization" in headers:
        return Reply(400, b"InvalidAuthenticationInfo", content_type="application/xml")
    if not secrets.compare_digest(query.get("token", ""), result.token):
        raise errors.not_found()
    return Reply(200, result.data, content_type=result.content_type)


def signed_url(site: Site, name: str, match: Attachment) -> str:
    return f"{site.html}{_SIGNED}/{match.by}/files/{name}?token={match.token}"


def with_html(call: Call, reply: Reply) -> Reply:
    """Add `body_html` and `body_text` to the texts in a reply if the Accept header asks for them."""

    def extended(shape: Any) -> Any:
        if not isinstance(shape, dict) or "body" not in shape:
            return shape
        html = rendered(call, shape["body"] or "")
        return {**shape, "body_html": html, "body_text": to_text(html)}

    if not call.wants("full"):
        return reply
    body = reply.body
    return replace(reply, body=[*map(extended, body)] if isinstance(body, list) else extended(body))


def rendered(call: Call, body: str) -> str:
    """Markdown as HTML, with signed URLs of uploads."""

    def sign(match: re.Match[str]) -> str:
        result = call.state.attachments.get(match[1])
        return signed_url(call.site, match[1], result) if result else match[0]

    return re.sub(rf"{re.escape(call.site.html + _UPLOADS)}/([0-9a-f-]{{36}})", sign, to_html(body))


def download_reply(state: State, path: str, headers: Mapping[str, str]) -> Reply:
    """Serve a log or artifact. A request with a token is refused: a client must not send its token to another host."""
    if "authorization" in headers:
        return Reply(400, b"InvalidAuthenticationInfo", content_type="application/xml")
    with state.lock:
        match = state.downloads.get(path.removeprefix(f"{STORE}/"))
    if match is None:
        raise errors.not_found()
    return Reply(200, match.data, content_type=match.content_type)
