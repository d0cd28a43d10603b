"""Which tools may be called now (S-151..S-156). The session's tools never change; a call of a masked tool gets
an error.

A pure function of the session's state. Vendors are told if that does not invalidate their cache
(`bot/providers`); the toolbox enforces it for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

NOTICE_AT = 3
"""Number of remaining requests at which the model is told."""


def group(tool: str) -> str:
    """Return the group of a tool: `bash`, `bash_output` and `bash_kill` are one group (S-154)."""
    return tool.partition("_")[0]


class RequestState(NamedTuple):
    """State of the next request. `requests_left` counts the remaining requests including it; `None` for no
    limit. `first`: it is the first of the conversation. `handed_over`: the result of the run exists."""

    requests_left: int | None
    first: bool = False
    handed_over: bool = False


class Mask(NamedTuple):
    """Calls of tools outside `allowed` are answered with `reason`, a clause; with `refused`, those of these tools
    alone. `required`: the response must contain a call."""

    allowed: tuple[str, ...]
    reason: str
    required: bool = False
    refused: tuple[str, ...] = ()

    def refusal(self, tool: str) -> str:
        """Return the error result for a call of `tool`; empty if it may be called."""
        if tool not in self.refused if self.refused else tool in self.allowed:
            return ""
        others = f"Allowed: {', '.join(self.allowed)}." if self.allowed else "Answer in words."
        return f"{tool} is not available now: {self.reason}. {others}"


Masking = Callable[[RequestState], Mask | None]
"""Returns the mask for a state; `None` allows all tools."""


def no_mask(state: RequestState) -> Mask | None:
    return None


def first_and_last_mask(
    results: Sequence[str], *, final: bool = False, first_tools: Sequence[str] = ()
) -> Masking:
    """In the last request, allow only `results`, the tools that hand over the result: the model could not read
    any other tool's output. With `final` it must call one, if nothing was handed over yet.

    If there are `first_tools`, the first request asks for one of them, and a result in its response is refused.
    """

    def masking(state: RequestState) -> Mask | None:
        if state.requests_left == 1:
            required = final and not state.handed_over
            return Mask(tuple(results), "this is the last answer of this run", required)
        if not (state.first and first_tools):
            return None
        reason = "look at the code first"
        return Mask(tuple(first_tools), reason, required=True, refused=tuple(results))

    return masking


def requests_left_notice(state: RequestState, results: Sequence[str]) -> str:
    """Return the text that follows a turn's results when few requests are left; otherwise ""."""
    if state.requests_left == 1:
        only = (
            f"Only {' and '.join(results)} can be called in it" if results else "No tool can be called in it"
        )
        return f"(Your next answer is the last. {only}: say what you have.)"
    if state.requests_left != NOTICE_AT:
        return ""
    how = f" with {' or '.join(results)}" if results else ""
    return (
        f"(Only {NOTICE_AT} more answers of yours fit this run's limit of turns. Come to an end, and hand over what "
        f"you have{how}.)"
    )
