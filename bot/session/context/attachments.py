"""The pictures and attached files of a request. `bot.session.event.attachments` fetches them."""

from __future__ import annotations

from typing import NamedTuple

from bot.contracts.journal import AttachedFile
from bot.contracts.messages import Image
from bot.contracts.request import Request


class Attachments(NamedTuple):
    """`request` is the model's, with a word behind each picture; there is a note for each of `images`, a sentence for
    each that is `omitted`, and a note for each of the other attached `files`."""

    request: Request
    images: tuple[Image, ...] = ()
    image_notes: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    files: tuple[AttachedFile, ...] = ()
    file_notes: tuple[str, ...] = ()
