"""Other people's text made fit to be shown to the model: hidden text taken out, long text cut in its middle."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contracts.wording import count_of
from bot.intake.hygiene import clean


@dataclass(slots=True)
class Prepared:
    """Counts what it took out, over all texts that went through it."""

    shortened: int = 0
    hidden_comments: int = 0
    hidden_characters: int = 0

    def text(self, text: str, limit: int) -> str:
        cleaned = clean(text)
        self.hidden_comments += cleaned.comments
        self.hidden_characters += cleaned.characters
        if len(cleaned.text) <= limit:
            return cleaned.text
        self.shortened += 1
        head, tail = limit * 3 // 5, limit * 2 // 5
        missing = len(cleaned.text) - head - tail
        return f"{cleaned.text[:head]}\n[{missing} characters left out]\n{cleaned.text[-tail:]}"

    def line(self, text: str, limit: int) -> str:
        return " ".join(self.text(text, limit).split())

    def words(self) -> tuple[str, ...]:
        return said(
            (self.shortened, "text", "shortened in the middle for length"),
            (self.hidden_comments, "HTML comment", "taken out"),
            (self.hidden_characters, "invisible character", "taken out"),
        )


def said(*rows: tuple[int, str, str]) -> tuple[str, ...]:
    """`(2, "comment", "edited after the command")` as words; nothing for none."""
    return tuple(f"{count_of(number, noun)} {why}" for number, noun, why in rows if number)
