"""The pictures and attached files of a request. `bot.session.event.attachments` fetches them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from bot.contracts.journal import AttachedFile
from bot.contracts.messages import Image
from bot.contracts.request import Request

_ATTACHMENT = re.compile(r"!\[|<img\b|/files/[0-9]", re.IGNORECASE)


class Attachments(NamedTuple):
    """`request` is the model's, with a word behind each picture; there is a note for each of `images`, a sentence for
    each that is `omitted`, and a note for each of the other attached `files`."""

    request: Request
    images: tuple[Image, ...] = ()
    image_notes: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    files: tuple[AttachedFile, ...] = ()
    file_notes: tuple[str, ...] = ()


def has_attachments(request: Request) -> bool:
    """Whether the request may have attachments, by its text alone."""
    return any(_ATTACHMENT.search(text) for text in _texts(request))


def _texts(request: Request) -> Iterator[str]:
    yield request.instruction or ""
    if request.thread is not None:
        yield request.thread.body
        yield from (comment.body for comment in request.thread.comments)
    for thread in (*([request.anchor] if request.anchor else []), *request.unresolved):
        yield from (comment.body for comment in thread.comments)
