"""Which pictures of a request's texts the model is shown, and what is said of those it is not.

Whose text it is decides, by account id, and not who asked: the policy says whose pictures are looked at. Nothing is
requested for a picture that is on another host, quoted, over the number, or for a model that cannot see.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from html import unescape
from typing import NamedTuple, Protocol

from bot.attachments.address import Site, identity
from bot.attachments.fetch import Fetcher, NotFetched
from bot.attachments.markdown import Shown, pictures_in, sources_in
from bot.attachments.redraw import NotDrawn, Redraw
from bot.contracts.errors import AgentError
from bot.contracts.messages import Image
from bot.contracts.request import Tier
from bot.contracts.wording import count_of
from bot.github.as_shown import ShownText, TextKind
from bot.github.values import Account

MOST = 4
MOST_NAMED = 20
SECONDS = 60.0


class Place(NamedTuple):
    """Where a text stands; `kind` is `None` for one that GitHub keeps nowhere, as a dispatch's instruction is.
    `words` is how people are told of it."""

    kind: TextKind | None
    identity: int
    words: str


class Reader(Protocol):
    """What GitHub is asked."""

    def text(self, place: Place) -> ShownText | None:
        """The text as it is now; `None` where it is gone. Raises an `AgentError`."""
        ...

    def tier(self, author: Account) -> Tier | None:
        """What the author may, `None` for nobody whom the policy knows. Raises an `AgentError`."""
        ...


@dataclass(frozen=True, slots=True)
class Terms:
    """`asker` answers for what is kept nowhere. `blind` is whether the model cannot see; `ended` whether nobody waits
    any more."""

    tiers: Collection[Tier]
    asker: Tier
    blind: bool = False
    ended: Callable[[], bool] = lambda: False
    seconds: float = SECONDS
    clock: Callable[[], float] = time.monotonic


class _NotShown(Exception):
    """Why not, as a clause."""


@dataclass(slots=True)
class _Text:
    """What was asked about one text, once."""

    asked: bool = False
    shown: ShownText | None = None
    rendered: list[str] = field(default_factory=list)


class Looker:
    """`marked` goes over the texts of one request, in the order of their weight; `images` are what the model gets."""

    def __init__(self, site: Site, reader: Reader, fetcher: Fetcher, redraw: Redraw, terms: Terms) -> None:
        self.images: list[Image] = []
        self.told: list[str] = []
        """A line for each picture that is shown: which it is, where it stands, its size."""
        self.left: list[str] = []
        """A sentence for each that is not."""
        self._site = site
        self._reader = reader
        self._fetcher = fetcher
        self._redraw = redraw
        self._terms = terms
        self._began = terms.clock()
        self._numbers: dict[str, int] = {}
        self._named = 0

    def marked(self, place: Place, text: str) -> str:
        """`text` with a word behind each picture: its number, or why it is not shown."""
        found = pictures_in(text)
        if not found:
            return text
        parts, position = [], 0
        about = _Text()
        for picture in found[: MOST_NAMED - self._named]:
            parts += [text[position : picture.end], f" [{self._word(place, picture, about)}]"]
            position = picture.end
            self._named += 1
        parts.append(text[position:])
        unnamed = len(found) - (len(parts) - 1) // 2
        if unnamed:
            parts.append(f"\n[{count_of(unnamed, 'further image')} not shown: there are too many]")
        return "".join(parts)

    def _word(self, place: Place, picture: Shown, about: _Text) -> str:
        try:
            return f"this is picture {self._number(place, picture, about)}"
        except _NotShown as why:
            self.left.append(f"An image in {place.words} is not shown to the model: {why}.")
            return f"image not shown: {why}"

    def _number(self, place: Place, picture: Shown, about: _Text) -> int:
        address = picture.address
        self._refuse_unasked(picture)
        if known := self._numbers.get(identity(address) or address):
            self._refuse_author(place, address, about)
            return known
        if len(self.images) >= MOST:
            raise _NotShown(f"there is room for {MOST}")
        self._refuse_author(place, address, about)
        try:
            drawn = self._redraw(self._fetcher.get(self._site.signed_for(address, about.rendered) or address))
        except (NotFetched, NotDrawn) as error:
            raise _NotShown(str(error)) from error
        number = len(self.images) + 1
        self.images.append(Image(drawn.media_type, drawn.data, f"picture {number}"))
        first = ", the first of its frames" if drawn.animated else ""
        self.told.append(f"picture {number}, in {place.words}, {drawn.width} × {drawn.height}{first}")
        self._numbers[identity(address) or address] = number
        return number

    def _refuse_unasked(self, picture: Shown) -> None:
        """What is clear without a request to anybody."""
        if not self._site.holds(picture.address):
            raise _NotShown("it is not an attachment on GitHub")
        if picture.quoted:
            raise _NotShown("it stands in a quotation")
        if self._terms.blind:
            raise _NotShown("this model cannot see images")
        if not self._terms.tiers:
            raise _NotShown("the policy's `attachments` shows nobody's")
        if self._terms.ended() or self._terms.clock() - self._began > self._terms.seconds:
            raise _NotShown("there was no time left for it")

    def _refuse_author(self, place: Place, address: str, about: _Text) -> None:
        if place.kind is None:
            tier: Tier | None = self._terms.asker
            who = "whoever started this"
        else:
            shown = self._shown(place, about)
            who = shown.author.login
            if not any(name in unescape(shown.body) for name in (address, identity(address)) if name):
                raise _NotShown("it is not in the text any more")
            try:
                tier = self._reader.tier(shown.author)
            except AgentError as error:
                raise _NotShown("GitHub did not say what its author may") from error
        if tier not in self._terms.tiers:
            allowed = ", ".join(sorted(one.value for one in self._terms.tiers))
            raise _NotShown(f"it is by {who}, and the policy's `attachments` shows those of {allowed}")

    def _shown(self, place: Place, about: _Text) -> ShownText:
        if not about.asked:
            about.asked = True
            try:
                about.shown = self._reader.text(place)
            except AgentError as error:
                raise _NotShown("GitHub did not say who wrote it") from error
            about.rendered = list(sources_in(about.shown.html)) if about.shown else []
        if about.shown is None:
            raise _NotShown("GitHub did not say who wrote it")
        return about.shown
