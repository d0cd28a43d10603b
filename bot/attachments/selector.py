"""Select the pictures and attached files of a request's texts for the model, with a note for each omitted one.

The author of the text decides, by account id, not the requester: the policy lists the tiers. Nothing is
downloaded that is on another host, quoted or over the limit, nor a picture for a model without vision.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from html import unescape
from typing import NamedTuple, Protocol

from bot.attachments.confined import RejectedFile
from bot.attachments.fetch import Fetcher, FetchError, Site, file_name, identity
from bot.attachments.files import AttachedFiles
from bot.attachments.markdown import Link, addresses_in, pictures_in, sources_in
from bot.attachments.redraw import Redraw
from bot.contracts.errors import AgentError
from bot.contracts.formatting import count_of
from bot.contracts.messages import Image
from bot.contracts.plain_text import quoted
from bot.contracts.request import Tier
from bot.contracts.threads import Account, TextKind
from bot.github.values import RenderedText

MAX_PICTURES = 4
MAX_NAMED = 20
SECONDS = 60.0


class TextSource(NamedTuple):
    """The text that contains an attachment; `kind` is `None` for a text that GitHub does not store, such as a
    dispatch's instruction. `words` is its name for people."""

    kind: TextKind | None
    identity: int
    words: str


class Reader(Protocol):
    """Requests to GitHub."""

    def text(self, source: TextSource) -> RenderedText | None:
        """The text as it is now; `None` if it is gone. Raises an `AgentError`."""
        ...

    def tier(self, author: Account) -> Tier | None:
        """The author's tier, `None` for an account unknown to the policy. Raises an `AgentError`."""
        ...


@dataclass(frozen=True, slots=True)
class SelectionRules:
    """`requester` is the tier for texts that GitHub does not store. `blind`: the model has no vision; `ended`:
    the run has ended."""

    tiers: Collection[Tier]
    requester: Tier
    blind: bool = False
    ended: Callable[[], bool] = lambda: False
    seconds: float = SECONDS
    clock: Callable[[], float] = time.monotonic


class _Omitted(Exception):
    """The reason, as a clause."""


@dataclass(slots=True)
class _TextLookup:
    """The result of one text's lookup, requested once."""

    requested: bool = False
    text: RenderedText | None = None
    rendered: list[str] = field(default_factory=list)


class AttachmentSelector:
    """Call `marked` for the texts of one request, the most important first; `images` are for the model."""

    def __init__(
        self,
        site: Site,
        reader: Reader,
        fetcher: Fetcher,
        redraw: Redraw,
        *,
        files: AttachedFiles,
        rules: SelectionRules,
    ) -> None:
        self.images: list[Image] = []
        self.picture_lines: list[str] = []
        """A line for each picture that is shown: which it is, where it stands, its size."""
        self.omissions: list[str] = []
        """A sentence for each that is not."""
        self.file_omissions: list[str] = []
        """A sentence for each attached file that the model is not given."""
        self._site = site
        self._reader = reader
        self._fetcher = fetcher
        self._redraw = redraw
        self.files = files
        self._rules = rules
        self._start_time = rules.clock()
        self._numbers: dict[str, int] = {}
        self._picture_count = 0

    def marked(self, source: TextSource, text: str) -> str:
        """Return `text` with a note after each picture: its number, or why it is omitted."""
        lookup = _TextLookup()
        self._add_files(source, text, lookup)
        pictures = pictures_in(text)
        if not pictures:
            return text
        parts, position = [], 0
        for picture in pictures[: MAX_NAMED - self._picture_count]:
            parts += [text[position : picture.end], f" [{self._note(source, picture, lookup)}]"]
            position = picture.end
            self._picture_count += 1
        parts.append(text[position:])
        unnamed = len(pictures) - (len(parts) - 1) // 2
        if unnamed:
            parts.append(f"\n[{count_of(unnamed, 'further image')} not shown: there are too many]")
        return "".join(parts)

    def _add_files(self, source: TextSource, text: str, lookup: _TextLookup) -> None:
        for link in addresses_in(text):
            if not self._site.is_file(link.address):
                continue
            if len(self.file_omissions) >= MAX_NAMED:
                self.file_omissions.append(
                    f"Further attached files in {source.words} are left out: there are too many."
                )
                return
            try:
                self._check_limits(link)
                self._check_author(source, link.address, lookup)
                self.files.add(link.address, source.words)
            except (_Omitted, FetchError, RejectedFile) as why:
                name = quoted(file_name(link.address))
                self.file_omissions.append(f"The file {name} in {source.words} is left out: {why}.")

    def _note(self, source: TextSource, picture: Link, lookup: _TextLookup) -> str:
        try:
            return f"this is picture {self._number(source, picture, lookup)}"
        except _Omitted as why:
            self.omissions.append(f"An image in {source.words} is not shown to the model: {why}.")
            return f"image not shown: {why}"

    def _number(self, source: TextSource, picture: Link, lookup: _TextLookup) -> int:
        address = picture.address
        self._check_picture(picture)
        if number := self._numbers.get(identity(address) or address):
            self._check_author(source, address, lookup)
            return number
        if len(self.images) >= MAX_PICTURES:
            raise _Omitted(f"there is room for {MAX_PICTURES}")
        self._check_author(source, address, lookup)
        try:
            redrawn = self._redraw(
                self._fetcher.get(self._site.signed_for(address, lookup.rendered) or address)
            )
        except (FetchError, RejectedFile) as error:
            raise _Omitted(str(error)) from error
        number = len(self.images) + 1
        self.images.append(Image(redrawn.media_type, redrawn.data, f"picture {number}"))
        first = ", the first of its frames" if redrawn.animated else ""
        self.picture_lines.append(
            f"picture {number}, in {source.words}, {redrawn.width} × {redrawn.height}{first}"
        )
        self._numbers[identity(address) or address] = number
        return number

    def _check_picture(self, picture: Link) -> None:
        """Check what needs no request."""
        if not self._site.is_picture(picture.address):
            raise _Omitted("it is not an attachment on GitHub")
        if self._rules.blind:
            raise _Omitted("this model cannot see images")
        self._check_limits(picture)

    def _check_limits(self, attached: Link) -> None:
        if attached.quoted:
            raise _Omitted("it stands in a quotation")
        if not self._rules.tiers:
            raise _Omitted("the policy's `attachments` allows nobody's")
        if self._rules.ended() or self._rules.clock() - self._start_time > self._rules.seconds:
            raise _Omitted("there was no time left for it")

    def _check_author(self, source: TextSource, address: str, lookup: _TextLookup) -> None:
        if source.kind is None:
            tier: Tier | None = self._rules.requester
            author = "whoever started this"
        else:
            rendered = self._rendered(source, lookup)
            author = rendered.author.login
            if not any(name in unescape(rendered.body) for name in (address, identity(address)) if name):
                raise _Omitted("it is not in the text any more")
            try:
                tier = self._reader.tier(rendered.author)
            except AgentError as error:
                raise _Omitted("GitHub did not say what its author may") from error
        if tier not in self._rules.tiers:
            allowed = ", ".join(sorted(one.value for one in self._rules.tiers))
            raise _Omitted(f"it is by {author}, and the policy's `attachments` shows those of {allowed}")

    def _rendered(self, source: TextSource, lookup: _TextLookup) -> RenderedText:
        if not lookup.requested:
            lookup.requested = True
            try:
                lookup.text = self._reader.text(source)
            except AgentError as error:
                raise _Omitted("GitHub did not say who wrote it") from error
            lookup.rendered = list(sources_in(lookup.text.html)) if lookup.text else []
        if lookup.text is None:
            raise _Omitted("GitHub did not say who wrote it")
        return lookup.text
