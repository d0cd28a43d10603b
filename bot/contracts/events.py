"""The one event grammar every provider adapter speaks (reference S-005).

A stream is: any number of text, thinking and tool events, then exactly one `Complete` or one `Failed`.
Per tool call: `ToolStart`, any number of `ArgumentsDelta`, `ToolEnd`; calls are told apart by `index`.
`Retrying` may come before any of them: what came of the answer before it is void, and it begins anew.
End of stream without `Complete` or `Failed` is a bug of the adapter.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.contracts.messages import Finish, Message, Usage


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ToolStart:
    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ArgumentsDelta:
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ToolEnd:
    index: int


@dataclass(frozen=True, slots=True)
class Retrying:
    """A request failed and is sent again after `delay` seconds. `partial` is what had arrived of its answer, which is
    dropped, and `usage` what the vendor counted for it."""

    attempt: int
    delay: float
    reason: str
    partial: Message | None = None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Complete:
    """The whole assistant message, blocks in stream order, with the reason and the vendor's own word for it.

    `dropped` is the usage of answers to the same request that were cut and dropped.
    """

    message: Message
    finish: Finish
    raw_reason: str
    usage: Usage
    dropped: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Failed:
    """The response could not be had. `message` is for people; `status` is HTTP's, where there was one.

    `canceled` is true only when the run's cancel token fired. `partial` holds what had arrived. `overflow` is true
    if the conversation is longer than the model can read: sending it again is useless, a shorter one is not.
    `dropped` is the same as in `Complete`.
    """

    message: str
    status: int | None = None
    canceled: bool = False
    partial: Message | None = None
    usage: Usage = field(default_factory=Usage)
    overflow: bool = False
    dropped: Usage = field(default_factory=Usage)


Event = TextDelta | ThinkingDelta | ToolStart | ArgumentsDelta | ToolEnd | Retrying | Complete | Failed
