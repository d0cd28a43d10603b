"""What looks like a credential in the lines that a change adds.

For reviewers, and nothing is withheld for it: a test may need one. A value that the change only moves is not new.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from bot.gate.secrets import Finder
from bot.gate.weakened import Line

_NAMED = 3
_LOOKED_AT = 20
"""Each takes a walk from the beginning, and a file may hold a hundred thousand."""


def new_credentials(removed: Iterable[Line], added: Iterable[Line]) -> str:
    """A clause that names kinds and lines, never a value; "" where there is nothing of the kind."""
    lines = tuple(added)
    if not lines:
        return ""
    before = b"\n".join(line.text for line in removed)
    old = {before[span.start : span.end] for span in Finder().spans(before)}
    text = b"\n".join(line.text for line in lines)
    spans = (span for span in sorted(Finder().spans(text)) if text[span.start : span.end] not in old)
    found = dict.fromkeys(
        f"{span.kind}, line {_line(lines, text, span.start)}" for span in islice(spans, _LOOKED_AT)
    )
    if not found:
        return ""
    named = list(found)
    more = "; and more" if len(named) > _NAMED else ""
    return f"adds what looks like a credential ({'; '.join(named[:_NAMED])}{more})"


def _line(lines: Sequence[Line], text: bytes, at: int) -> int:
    return lines[text.count(b"\n", 0, at)].number
