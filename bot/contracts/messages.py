"""The conversation as values: messages, their parts, usage.

Not a wire format: adapters in `bot/providers` translate. A message never changes once it is in the history,
so a request is always a byte prefix of the next one.

`extra` of a part is JSON that only the adapter which wrote it reads: who wrote it, and what that vendor wants
back with the part (an item's id, a signature). Everybody else keeps it and looks away.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


@dataclass(frozen=True, slots=True)
class Text:
    """Text by the user or the model."""

    text: str
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, by a person or a tool. `data` is the file's bytes, `name` what people call it.

    A model that cannot see gets a line of text with the name in its place.
    """

    media_type: str
    data: bytes
    name: str = ""


@dataclass(frozen=True, slots=True)
class Thinking:
    """A reasoning block, returned to the vendor as it came. `redacted` holds a vendor's opaque payload."""

    text: str
    signature: str | None = None
    redacted: str | None = None
    extra: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model's wish to run a tool. `arguments` is the raw JSON text as streamed, never re-serialised.

    `complete` is false when the stream ended before the call did: such a call is answered, never executed.
    """

    id: str
    name: str
    arguments: str
    complete: bool = True
    extra: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The one answer to a call, as the model sees it."""

    call_id: str
    name: str
    content: str
    is_error: bool = False
    images: tuple[Image, ...] = ()


Part = Text | Image | Thinking | ToolCall | ToolResult
Role = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn's worth of parts. All results of one assistant message are in one `tool` message."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))


class Finish(StrEnum):
    """Why one model response ended: a closed set. Unknown vendor values become `error` with the raw string."""

    END_TURN = "end_turn"
    MAX_TOKENS = "max_tokens"
    TOOL_USE = "tool_use"
    CANCELED = "canceled"
    ERROR = "error"
    PERMISSION_DENIED = "permission_denied"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one response. `input` excludes cache reads and writes; `output` includes `reasoning`."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.output + other.output,
            self.reasoning + other.reasoning,
        )

    @property
    def total(self) -> int:
        return self.input + self.cache_read + self.cache_write + self.output
