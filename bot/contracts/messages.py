"""The conversation as values: messages, their parts, usage.

Not a wire format: adapters in `bot/providers` translate. A message never changes once it is in the history, so
a request is always a byte prefix of the next one.

`extra` of a part is what the vendor wants back with it (an item's id, a signature), plain JSON. Only the adapter that
wrote it reads it, by the `writer` of the message. All other code passes it through.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, NamedTuple


class Text(NamedTuple):
    """Text by the user or the model."""

    text: str
    extra: Mapping[str, Any] = {}


class Image(NamedTuple):
    """A picture, from a person or a tool. `data` is the file's bytes, `name` is for people.

    A model without vision gets a line of text with the name instead.
    """

    media_type: str
    data: bytes
    name: str = ""


class Thinking(NamedTuple):
    """A reasoning block, returned to the vendor unchanged. `redacted` is a vendor's opaque payload."""

    text: str
    signature: str | None = None
    redacted: str | None = None
    extra: Mapping[str, Any] = {}


class ToolCall(NamedTuple):
    """A tool call by the model. `arguments` is the raw JSON text as streamed, never re-serialised.

    `complete` is false when the stream ended before the call did: such a call gets a result but is never
    executed.
    """

    id: str
    name: str
    arguments: str
    complete: bool = True
    extra: Mapping[str, Any] = {}


class ToolResult(NamedTuple):
    """The one result of a call, as the model sees it."""

    call_id: str
    name: str
    content: str
    is_error: bool = False


Part = Text | Image | Thinking | ToolCall | ToolResult
Role = Literal["user", "assistant", "tool"]

PARTS: Mapping[str, type[Part]] = {
    "text": Text,
    "image": Image,
    "thinking": Thinking,
    "tool_call": ToolCall,
    "tool_result": ToolResult,
}
"""The `type` of each message part inside `parts`."""


class Message(NamedTuple):
    """The parts of one turn. All results of one assistant message are in one `tool` message. `writer` names the wire
    format and the model that wrote it: their thinking and `extra` are refused or misread by every other one."""

    role: Role
    parts: tuple[Part, ...]
    writer: str = ""

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))


class FinishReason(StrEnum):
    """Why one model response ended. Unknown vendor values become `error` with the raw string."""

    END_TURN = "end_turn"
    MAX_TOKENS = "max_tokens"
    TOOL_USE = "tool_use"
    ERROR = "error"


class Usage(NamedTuple):
    """Tokens of one response. `input` excludes cache reads and writes; `output` includes `reasoning`, `cache_write`
    includes `hour_write`, what is cached for an hour."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    hour_write: int = 0

    def __add__(self, other: Usage) -> Usage:  # type: ignore[override]  # of tuples
        return Usage(*map(sum, zip(self, other, strict=True)))

    @property
    def total(self) -> int:
        return self.input + self.cache_read + self.cache_write + self.output
