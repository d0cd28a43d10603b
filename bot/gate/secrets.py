"""Finds what looks like a credential in text that is about to leave: our own patterns, and a repository's own rules.

Not for known values: `bot.gate.redact` knows those by heart. The patterns are compiled at the first text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from bot.gate.patterns import HARMLESS, PATTERNS

MOST = 2_000
"""Finds in one text that are masked one by one. Who writes more of them down wants to keep us busy: what comes after
is masked as a whole."""
REST = "[redacted: the rest, with more than 2,000 finds]"


class Span(NamedTuple):
    """Bytes `start` to `end` look like a credential of this kind."""

    start: int
    end: int
    kind: str


Rule = Callable[[bytes], Iterator[Span]]
"""What a rule of a repository finds in a text."""


class Finder:
    """The built-in patterns and `rules`. Immutable."""

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        self._rules = tuple(rules)

    def spans(self, data: bytes) -> Iterator[Span]:
        """Everything found, by each in its order; two may find the same."""
        yield from _built_in(data)
        for rule in self._rules:
            yield from rule(data)

    def kind(self, data: bytes) -> str | None:
        """What kind of credential `data` seems to hold, or `None`."""
        found = next(self.spans(data), None)
        return found.kind if found else None

    def masked(self, text: str) -> str:
        """`text` with what looks like a credential replaced by `[redacted: KIND]`."""
        data = text.encode("utf-8", "surrogatepass")
        spans: list[Span] = []
        end = len(data)
        for rule in (_built_in, *self._rules):
            found = list(islice(rule(data), MOST + 1))
            if len(found) > MOST:
                end = min(end, found[MOST].start)
            spans += found
        if not spans:
            return text
        parts, at = [], 0
        for span in sorted(span for span in spans if span.start < end):
            if span.end <= at:
                continue
            if span.start >= at:
                parts += [data[at : span.start], f"[redacted: {span.kind}]".encode()]
            at = span.end
        rest = data[at:] if end == len(data) else data[at:end] + REST.encode()
        return b"".join([*parts, rest]).decode("utf-8", "replace")


def found_secret(text: str) -> str | None:
    """What kind of credential `text` seems to hold, or `None`. Never the credential itself."""
    return _FINDER.kind(text.encode("utf-8", "surrogatepass"))


def withhold_if_secret(text: str, finder: Finder | None = None) -> str | None:
    """Why `text` must not leave, as one sentence, or `None` when nothing in it looks like a credential, to `finder` or
    by our own patterns."""
    kind = finder.kind(text.encode("utf-8", "surrogatepass")) if finder else found_secret(text)
    return None if kind is None else f"withheld: it holds what looks like a credential ({kind})"


_FINDER = Finder()


def _built_in(data: bytes) -> Iterator[Span]:
    search, kinds_of, harmless = _compiled()
    judged: dict[bytes, str] = {}  # a text may repeat one of them a hundred thousand times
    at = 0
    while match := search(data, at):
        start, at = match.span()
        found = data[start:at]
        kind = judged.get(found)
        if kind is None:
            kind = "" if harmless(found) else PATTERNS[min(kinds_of(found))].kind
            judged[found] = kind
        if kind:
            yield Span(start, at, kind)


@cache
def _compiled():  # type: ignore[no-untyped-def]  # google-re2 has no types
    """One pattern of all, and a set of them that says of a find which of them it is."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.longest_match = True
    options.max_mem = 1 << 26
    options.never_capture = True
    one = "|".join(f"(?:{pattern.regex})" for pattern in PATTERNS).encode()
    kinds = re2.Set.FullMatchSet(options)
    for pattern in PATTERNS:
        kinds.Add(pattern.regex.encode())
    kinds.Compile()
    return re2.compile(one, options).search, kinds.Match, re2.compile(HARMLESS.encode(), options).search
