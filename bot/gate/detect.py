"""Whether a text hides a secret that masking would not find. Such a text is withheld whole: what cannot be cut out
cleanly must not leave.

By nature it does not see a value that was changed character by character, as by adding one to each or by xor with a
key: nothing inside the workshop has a secret that could be changed so.
"""

from __future__ import annotations

from functools import cached_property

from bot.gate.redact import Redactor
from bot.gate.secrets import Finder

_SHORT = 200
_MOST_KNOWN = 5000


class Detector:
    """Knows the secrets of a redactor, and what credentials look like. Immutable but for the redactor's memory, and its
    own of short texts that hold nothing: a journal repeats names and numbers in every line."""

    def __init__(self, redactor: Redactor, finder: Finder | None = None) -> None:
        self.redactor = redactor
        self._finder = finder or Finder()
        self._harmless: set[str] = set()

    def hidden(self, text: str) -> str | None:
        """What `text` holds in a disguise: a secret's name, or a kind of credential. What stands there openly is
        for the redactor to mask."""
        from bot.gate.canonical import readings

        data = text.encode("utf-8", "surrogatepass")
        for reading in readings(data):
            known = self._bare if reading.bare else self.redactor
            if name := known.holds_secret(reading.data):
                self.redactor.met(name)
                return name
            if reading.decoded and (kind := self._finder.kind(reading.data)):
                return kind
        return None

    def prepare(self) -> None:
        """Compile what the first text would have to wait for; from any thread."""
        self.redactor.text("-")
        self.hidden("-" * 99)

    @property
    def names_hit(self) -> tuple[str, ...]:
        """The names of the secrets that were met so far, sorted."""
        return self.redactor.names_hit

    def kept(self, text: str) -> str:
        """`text` as it may be kept and shown: known secrets and what looks like a credential masked, and nothing of it
        where one is hidden in it, or where that could not be found out."""
        if text in self._harmless:
            return text
        try:
            shown = self._finder.masked(self.redactor.text(text))
            what = self.hidden(shown)
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody has looked at the text
            return f"({_unread(error)})"
        if what is None and shown == text and len(text) <= _SHORT and len(self._harmless) < _MOST_KNOWN:
            self._harmless.add(text)
        return shown if what is None else f"(withheld: it holds {what} in a disguise)"

    def withhold(self, text: str) -> str | None:
        """Why `text` must not leave, as one sentence, or `None`: it holds, openly or not, a known secret or what looks
        like a credential, or nobody can say."""
        try:
            return self._found(text)
        except Exception as error:  # noqa: BLE001 - as above
            return _unread(error)

    def _found(self, text: str) -> str | None:
        data = text.encode("utf-8", "surrogatepass")
        if name := self.redactor.holds_secret(data):
            self.redactor.met(name)
            return f"withheld: it holds the value of {name}"
        if kind := self._finder.kind(data):
            return f"withheld: it holds what looks like a credential ({kind})"
        if what := self.hidden(text):
            return f"withheld: it holds {what} in a disguise"
        return None

    @cached_property
    def _bare(self) -> Redactor:
        """The secrets without what may stand between their letters."""
        from bot.gate.canonical import words_only

        return Redactor(
            {
                name: words_only(value.encode("utf-8", "surrogatepass")).decode()
                for name, value in self.redactor.secrets.items()
            }
        )


def _unread(error: Exception) -> str:
    return f"withheld: it could not be looked through for secrets ({type(error).__name__})"
