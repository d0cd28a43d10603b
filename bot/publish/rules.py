"""The repository's own rules for secrets, known before the first text leaves."""

from __future__ import annotations

from collections.abc import Callable

from bot.gate.secrets import Finder

Read = Callable[[str], str | None]
"""The text of a file of the base branch by its path, `None` where there is none."""

KnowRules = Callable[[Read | None], Finder | None]
"""From here on every text that leaves is held to the rules of the base branch. Without `Read` GitHub is asked."""


class Rules:
    """Read once: where that failed, the thread is told so without them."""

    def __init__(self, know: KnowRules) -> None:
        self._know: KnowRules | None = know
        self._finder: Finder | None = None

    def __call__(self, read: Read | None = None) -> Finder | None:
        if self._know is not None:
            know, self._know = self._know, None
            self._finder = know(read)
        return self._finder
