"""Select the pictures and attached files of a request's texts for the model, with a note for each omitted one.

The author of the text decides, by account id, not the requester: the policy lists the tiers. Nothing is
downloaded that is on another host, quoted or over the limit, nor a picture for a model without vision.
"""

import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from typing import NamedTuple

from bot.attachments.fetch import AttachedFiles, Fetcher, Omitted, Site, file_name, identity
from bot.attachments.markdown import Link, addresses_in, pictures_in, sources_in
from bot.attachments.redraw import Redraw
from bot.contracts.errors import AgentError
from bot.contracts.formatting import count_of
from bot.contracts.messages import Image
from bot.contracts.plain_text import quoted
from bot.contracts.request import Request, Tier
from bot.events.admission import resolve_actor
from bot.events.event_request import RefusedError
from bot.github.client import GitHub
from bot.github.threads import RenderedText
from bot.github.values import Account, TextKind

MAX_PICTURES = 4
MAX_NAMED = 20
SECONDS = 60.0


class TextSource(NamedTuple):
    """The text that contains an attachment; `kind` is `None` for a text that GitHub does not store, such as a
    dispatch's instruction. `words` is its name for people."""

    kind: TextKind | None
    identity: int
    words: str


class TextReader:
    """Texts as they are now, and the tiers of their authors, from GitHub; each is looked up once."""

    def __init__(self, github: GitHub, request: Request, bots: Collection[int]) -> None:
        self._github = github
        self._number = request.thread.number if request.thread else 0
        self._bots = bots
        self.text = cache(self._text)
        self.tier = cache(self._tier)

    def _text(self, kind: TextKind, identity: int) -> RenderedText:
        """Raises `Omitted` for a text that is gone or cannot be read."""
        with suppress(AgentError):
            if text := self._github.rendered_text(kind, self._number, identity):
                return text
        raise Omitted("GitHub did not say who wrote it")

    def _tier(self, author: Account) -> Tier | None:
        """Return the author's tier, `None` for an account unknown to the policy. Raises `Omitted`."""
        try:
            if not author.id:
                return None
            return resolve_actor(author, self._github, self._bots).tier
        except RefusedError:
            return None
        except AgentError as error:
            raise Omitted("GitHub did not say what its author may") from error


@dataclass
class AttachmentSelector:
    """Call `marked` for the texts of one request, the most important first. `images` are for the model; `picture_lines`
    has a line for each (which it is, where it stands, its size), `omissions` a sentence for each that is not shown, and
    `file_omissions` for each attached file that the model is not given. `requester` is the tier for texts that GitHub
    does not store. `blind`: the model has no vision; `ended`: the run has ended."""

    site: Site
    reader: TextReader
    fetcher: Fetcher
    redraw: Redraw
    files: AttachedFiles
    tiers: Collection[Tier]
    requester: Tier
    blind: bool = False
    ended: Callable[[], bool] = lambda: False
    seconds: float = SECONDS
    clock: Callable[[], float] = time.monotonic
    images: list[Image] = field(default_factory=list)
    picture_lines: list[str] = field(default_factory=list)
    omissions: list[str] = field(default_factory=list)
    file_omissions: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._start_time = self.clock()
        self._numbers: dict[str, int] = {}
        self._picture_count = 0

    def marked(self, source: TextSource, text: str) -> str:
        """Return `text` with a note after each picture: its number, or why it is omitted."""
        self._add_files(source, text)
        pictures = pictures_in(text)
        parts, position = [], 0
        for picture in pictures[: MAX_NAMED - self._picture_count]:
            parts += [text[position : picture.end], f" [{self._note(source, picture)}]"]
            position = picture.end
            self._picture_count += 1
        parts.append(text[position:])
        unnamed = len(pictures) - (len(parts) - 1) // 2
        if unnamed:
            parts.append(f"\n[{count_of(unnamed, 'further image')} not shown: there are too many]")
        return "".join(parts)

    def _add_files(self, source: TextSource, text: str) -> None:
        for link in addresses_in(text):
            if not self.site.is_file(link.address):
                continue
            if len(self.file_omissions) >= MAX_NAMED:
                self.file_omissions.append(
                    f"Further attached files in {source.words} are left out: there are too many."
                )
                return
            try:
                self._check_limits(link)
                self._check_author(source, link.address)
                self.files.add(link.address, source.words)
            except Omitted as why:
                name = quoted(file_name(link.address))
                self.file_omissions.append(f"The file {name} in {source.words} is left out: {why}.")

    def _note(self, source: TextSource, picture: Link) -> str:
        try:
            return f"this is picture {self._number(source, picture)}"
        except Omitted as why:
            self.omissions.append(f"An image in {source.words} is not shown to the model: {why}.")
            return f"image not shown: {why}"

    def _number(self, source: TextSource, picture: Link) -> int:
        address, key = picture.address, identity(picture.address) or picture.address
        if not self.site.is_picture(address):
            raise Omitted("it is not an attachment on GitHub")
        if self.blind:
            raise Omitted("this model cannot see images")
        self._check_limits(picture)
        number = self._numbers.get(key)
        if number is None and len(self.images) >= MAX_PICTURES:
            raise Omitted(f"there is room for {MAX_PICTURES}")
        rendered = self._check_author(source, address)
        if number is not None:
            return number
        redrawn = self.redraw(self.fetcher.get(self.site.signed_for(address, rendered) or address))
        number = len(self.images) + 1
        self.images.append(Image(redrawn.media_type, redrawn.data, f"picture {number}"))
        first = ", the first of its frames" if redrawn.animated else ""
        self.picture_lines.append(
            f"picture {number}, in {source.words}, {redrawn.width} × {redrawn.height}{first}"
        )
        self._numbers[key] = number
        return number

    def _check_limits(self, attached: Link) -> None:
        if attached.quoted:
            raise Omitted("it stands in a quotation")
        if not self.tiers:
            raise Omitted("the policy's `attachments` allows nobody's")
        if self.ended() or self.clock() - self._start_time > self.seconds:
            raise Omitted("there was no time left for it")

    def _check_author(self, source: TextSource, address: str) -> list[str]:
        """Return the addresses of the pictures in the text as GitHub rendered it."""
        if source.kind is None:
            tier: Tier | None = self.requester
            author, html = "whoever started this", ""
        else:
            text = self.reader.text(source.kind, source.identity)
            author, html = text.author.login, text.html
            if not any(name in unescape(text.body) for name in (address, identity(address)) if name):
                raise Omitted("it is not in the text any more")
            tier = self.reader.tier(text.author)
        if tier not in self.tiers:
            allowed = ", ".join(sorted(one.value for one in self.tiers))
            raise Omitted(f"it is by {author}, and the policy's `attachments` shows those of {allowed}")
        return list(sources_in(html))
