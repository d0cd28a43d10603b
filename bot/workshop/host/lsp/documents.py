"""The files that a server has open, and the messages that say how their text changed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bot.workshop.host.lsp.capabilities import INCREMENTAL, NO_SYNC, Abilities
from bot.workshop.host.lsp.positions import end_of
from bot.workshop.host.lsp.uris import uri_of
from bot.workshop.host.lsp.waiting import Told

if TYPE_CHECKING:
    from bot.workshop.host.lsp.programs import Answered


@dataclass(slots=True)
class Document:
    """One file. `path` is as its user names it, `absolute` normalised; `version` counts the texts that were sent."""

    path: str
    absolute: str
    language: str
    text: str
    version: int = 1
    told: Told = field(default_factory=lambda: Told(1, 0.0))
    check: asyncio.Task[Answered] | None = None
    """The last that was begun for this text."""

    stamp: int = 0
    """Of all changes to all files, when it was begun."""

    owed: bool = False
    """Somebody gave up waiting for it, or was told what the server has taken back."""

    given: Answered | None = None
    """What was answered about it last."""

    @property
    def identifier(self) -> dict[str, Any]:
        return {"uri": uri_of(self.absolute)}

    @property
    def item(self) -> dict[str, Any]:
        return self.identifier | {
            "languageId": self.language,
            "version": self.version,
            "text": self.text,
        }


def change(document: Document, old: str, abilities: Abilities) -> dict[str, Any] | None:
    """The parameters of `didChange`, from the text `old`; None for a server that wants none.

    One replacement of the whole old text, with its range where the server takes ranges: without it, vtsls applies a
    text that is shorter by some lines wrongly, and finds problems on lines that are no more.
    """
    if abilities.sync == NO_SYNC:
        return None
    content: dict[str, Any] = {"text": document.text}
    if abilities.sync == INCREMENTAL:
        line, character = end_of(old, abilities.encoding)
        content["range"] = {
            "start": {"line": 0, "character": 0},
            "end": {"line": line, "character": character},
        }
    return {
        "textDocument": document.identifier | {"version": document.version},
        "contentChanges": [content],
    }


def sendable(text: str) -> str:
    """`text` with what is no letter (half of a surrogate pair) replaced: servers refuse the whole message for it."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
