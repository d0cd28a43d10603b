"""Which tools may be called now (S-151..S-156). The tools of a session never change; a call out of turn is answered.

A pure function of the session's state. Vendors that can be told are told (`ModelRequest.allowed`); the toolbox refuses
for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

SOON = 3
"""So many requests before the last the model is told how many are left."""


def group(tool: str) -> str:
    """What tools that belong together share: `bash`, `bash_output` and `bash_kill` are one group (S-154)."""
    return tool.partition("_")[0]


class State(NamedTuple):
    """`left` is how many requests may still be sent, the next one included; `None` for no limit."""

    left: int | None


class Mask(NamedTuple):
    """`allowed` may be called; the others are answered with `reason`, a clause."""

    allowed: tuple[str, ...]
    reason: str

    def refusal(self, tool: str) -> str:
        """The error result for a call of `tool`; empty where it may be called."""
        if tool in self.allowed:
            return ""
        others = f"Allowed: {', '.join(self.allowed)}." if self.allowed else "Answer in words."
        return f"{tool} is not available now: {self.reason}. {others}"


Masking = Callable[[State], Mask | None]
"""`None`: all tools may be called."""


def no_mask(state: State) -> Mask | None:
    return None


def last_request_hands_over(results: Sequence[str]) -> Masking:
    """In the last request only `results` may be called, the tools by which the model hands over what it has: what any
    other would show could not be read any more."""
    mask = Mask(tuple(results), "this is the last answer of this run")

    def masking(state: State) -> Mask | None:
        return mask if state.left == 1 else None

    return masking


def left_soon(state: State, results: Sequence[str]) -> str:
    """What is said after a turn's results when few requests are left; mostly nothing."""
    if state.left != SOON:
        return ""
    how = f" with {' or '.join(results)}" if results else ""
    return (
        f"(Only {SOON} more answers of yours fit this run's limit of turns. Come to an end, and hand over what you "
        f"have{how}.)"
    )
