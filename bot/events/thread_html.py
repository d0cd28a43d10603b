"""What GitHub's page shows of the texts of one thread, provided that they are still the ones that the run is about."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.contracts.threads import TextKind, TextReader, without_own_mark
from bot.events.event_request import RefusedError
from bot.events.hygiene import CleanText, clean
from bot.events.page_text import shown_text

_NAMES = {
    TextKind.THREAD: "The description",
    TextKind.COMMENT: "A comment",
    TextKind.REVIEW: "A review",
    TextKind.REVIEW_COMMENT: "A review comment",
}


class EditedTextError(RefusedError):
    """A text is not the one that the author of the command saw."""


@dataclass(frozen=True, slots=True)
class ThreadHtml:
    """Reads the HTML of the texts of thread `number`."""

    reader: TextReader
    repository: str
    number: int

    def shown(self, kind: TextKind, identity: int, body: str, *, by_bot: bool = False) -> CleanText:
        """Return what people see of the text whose source is `body`. `by_bot` says that an app wrote it: the mark that
        ends this bot's comments is then not counted as hidden. A text without HTML is cleaned as plain text.

        Raises `EditedTextError` if GitHub has another text now.
        """
        if not body.strip():
            return CleanText("")
        text = self.reader.rendered_text(self.repository, kind, self.number, identity)
        if text is None or text.body != body:
            what = "deleted" if text is None else "edited"
            raise EditedTextError(
                f"{_NAMES[kind]} in #{self.number} was {what} after this command, so what people saw then is "
                "not known. Check it and repeat the command."
            )
        source = without_own_mark(body) if by_bot else body
        if text.html is None:
            return replace(clean(source), plain=True)
        return shown_text(source, text.html)
