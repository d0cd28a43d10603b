"""Other people's text made fit to be shown to the model: hidden text taken out, long text cut in its middle."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.contracts.request import TAKEN_OUT
from bot.contracts.threads import without_own_mark
from bot.contracts.wording import count_of
from bot.intake.hygiene import clean

_PLACES = 4


@dataclass(slots=True)
class Prepared:
    """Counts what it took out, over all texts that went through it."""

    shortened: int = 0
    hidden: dict[str, int] = field(default_factory=dict)
    places: dict[str, dict[str, None]] = field(default_factory=dict)

    def text(self, text: str, limit: int, where: str = "", *, by_bot: bool = False) -> str:
        """`where` says which text it is, for the note on what was hidden in it. `by_bot` says that an app's account
        wrote it: the mark that ends what this bot writes is then no hidden text."""
        cleaned = clean(without_own_mark(text) if by_bot else text)
        for one in cleaned.hidden:
            self.hidden[one.kind] = self.hidden.get(one.kind, 0) + one.count
            if where:
                lines = ", ".join(map(str, one.lines))
                self.places.setdefault(one.kind, {})[f"{where} line {lines}"] = None
        if len(cleaned.text) <= limit:
            return cleaned.text
        self.shortened += 1
        head, tail = limit * 3 // 5, limit * 2 // 5
        missing = len(cleaned.text) - head - tail
        return f"{cleaned.text[:head]}\n[{missing} characters left out]\n{cleaned.text[-tail:]}"

    def line(self, text: str, limit: int, where: str = "") -> str:
        return " ".join(self.text(text, limit, where).split())

    def words(self) -> tuple[str, ...]:
        return said(
            (self.shortened, "text", "shortened in the middle for length"),
            *((count, kind, self._why(kind)) for kind, count in self.hidden.items()),
        )

    def _why(self, kind: str) -> str:
        places = list(self.places.get(kind, ()))
        if not places:
            return TAKEN_OUT
        more = f" and {len(places) - _PLACES} more texts" if len(places) > _PLACES else ""
        return f"{TAKEN_OUT} ({'; '.join(places[:_PLACES])}{more})"


def said(*rows: tuple[int, str, str]) -> tuple[str, ...]:
    """`(2, "comment", "edited after the command")` as words; nothing for none."""
    return tuple(f"{count_of(number, noun)} {why}" for number, noun, why in rows if number)
