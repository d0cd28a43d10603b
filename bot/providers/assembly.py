"""What the readers of all wire formats share: they collect a response's blocks in stream order."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Literal

from bot.contracts.messages import FinishReason, Message, Part, Text, Thinking, ToolCall, Usage
from bot.contracts.model import Complete
from bot.providers.encoding import JsonObject, argument_object, clean
from bot.providers.failures import AnswerTooLong

MAX_ANSWER = 16 * 2**20
"""Characters of an answer: text, thinking, arguments, signatures. No model writes a tenth of it."""
MAX_CALLS = 200
TOO_LONG = "answer_too_long"
"""Our own word for the end of an answer that was cut at these limits."""


@dataclass
class Block:
    """A part of the answer that is arriving. `section` is the section of a reasoning summary that was written last,
    `input` a call's arguments as some servers send them, at its start."""

    kind: Literal["text", "thinking", "call"]
    id: str = ""
    name: str = ""
    signature: str = ""
    redacted: str | None = None
    pieces: list[str] = field(default_factory=list)
    extra: JsonObject = field(default_factory=dict)
    section: int = 0
    input: Any = None
    ended: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether a call's arguments are complete."""
        text = "".join(self.pieces)
        return bool(text.strip()) and argument_object(text) is not None


# Of all formats: servers that speak one of them use the words of another.
_WHOLE = "end_turn stop stop_sequence tool_use tool_calls function_call pause_turn completed"
_CUT = f"length max_tokens max_output_tokens model_length model_context_window_exceeded incomplete {TOO_LONG}"
_REFUSED = (
    "refusal content_filter content_filtered safety recitation blocklist prohibited_content spii sensitive cancelled "
    "failed"
)


class Reader(ABC):
    """Reads the events of one response, and collects its blocks. `writer` is the wire format and model that thinking
    and `extra` belong to. The history names calls without an id."""

    def __init__(self, writer: str) -> None:
        self._writer = writer
        self._blocks: list[Block] = []
        self._size = 0
        self.usage = Usage()
        self.open: dict[int | str, Block] = {}
        """Blocks by the server's name for them."""
        self.finish = ""
        """The vendor's word for the end, empty before it."""
        self.refusal = ""
        """A clause for people: why the vendor refused to answer."""
        self.said_refusal = ""
        """The model's own words for its refusal."""

    @abstractmethod
    def read(self, event: Any) -> None:
        """Read one event, as JSON. Raises only `StreamError`, whatever a server sends."""

    def end(self) -> Complete | None:
        """Return the whole response, `None` if it is incomplete. Called once."""
        if self.finish and self.said_refusal:
            words = " ".join(self.said_refusal.split())[:300]
            return self.complete("refusal", f"it says: {clean(words)}")
        return self.complete(self.finish, self.refusal) if self.finish else None

    @property
    def partial(self) -> Message | None:
        """The message so far, `None` before its first block."""
        return self.message(truncated=True) if self._blocks else None

    @property
    def calls(self) -> list[Block]:
        return [block for block in self._blocks if block.kind == "call"]

    def grow(self, size: int) -> None:
        """Count `size` more characters. Raises `AnswerTooLong`, as what counts them does, before they are kept."""
        self._size += size
        if self._size > MAX_ANSWER:
            raise AnswerTooLong

    def add(self, block: Block) -> Block:
        """Add a block."""
        if block.kind == "call":
            if len(self.calls) >= MAX_CALLS:
                raise AnswerTooLong
            block.id, block.name = clean(block.id), clean(block.name)
        self.grow(len(block.id) + len(block.name) + len(block.signature) + len(block.redacted or ""))
        self._blocks.append(block)
        return block

    def last(self, kind: Literal["text", "thinking"]) -> Block:
        """Return the last block if it is of `kind`, else a new one."""
        if self._blocks and self._blocks[-1].kind == kind:
            return self._blocks[-1]
        return self.add(Block(kind))

    def append(self, block: Block, text: str) -> None:
        """Append the server's text to `block`."""
        self.grow(len(text))
        if text:
            block.pieces.append(text)

    def set_final_text(self, block: Block, text: str) -> None:
        """Replace the deltas by the server's final text."""
        if text:
            self.grow(max(0, len(text) - sum(map(len, block.pieces))))
            block.pieces[:] = [text]

    def message(self, *, truncated: bool = False) -> Message:
        """Return the message so far. With `truncated`, the last call is complete only if its arguments are.

        Vendors close the block that they cut at the token limit, so an end event alone proves nothing there.
        """
        parts: list[Part] = []
        for block in self._blocks:
            parts += self._part(block, suspicious=truncated and block is self._blocks[-1])
        return Message("assistant", tuple(parts), self._writer)

    def complete(self, word: str, refusal: str = "") -> Complete:
        """Return the terminal event for the vendor's word for the end. `refusal` is that of `Complete`.

        The presence of calls overrides it: some servers report "stop" with calls, and a response with truncated calls
        is truncated. A word that no vendor documents means nothing: whole text ends the turn, and whole calls run.
        """
        known = word.lower()
        message = self.message(truncated=known not in _WHOLE.split())
        if known in _CUT.split() or not all(call.complete for call in message.calls):
            finish = FinishReason.MAX_TOKENS
        elif known in _REFUSED.split():
            finish = FinishReason.ERROR
        else:
            finish = FinishReason.TOOL_USE if message.calls else FinishReason.END_TURN
        why = refusal if finish is FinishReason.ERROR else ""
        return Complete(message, finish, clean(word), self.usage, refusal=why)

    def _part(self, block: Block, *, suspicious: bool) -> list[Part]:
        text = clean("".join(block.pieces))
        if block.kind == "text":
            return [Text(text, block.extra)] if text else []
        if block.kind == "thinking":
            if not (text or block.signature or block.redacted is not None or block.extra):
                return []
            return [Thinking(text, block.signature or None, block.redacted, block.extra)]
        complete = block.ended and (block.is_whole or not suspicious)
        return [ToolCall(block.id, block.name, text, complete, block.extra)]
