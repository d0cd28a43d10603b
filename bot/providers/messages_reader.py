"""Translate events of the Messages API into the event grammar. Blocks are identified by `index`; several may be
open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bot.contracts.messages import FinishReason, Usage
from bot.contracts.model import Complete, Event
from bot.providers.assembly import Assembly, Block, CallBlock, TextBlock, ThinkingBlock
from bot.providers.encoding import count, dumps_or_empty, mapping, string
from bot.providers.failures import StreamError

_FINISH = {
    "end_turn": FinishReason.END_TURN,
    # Taken up where it stopped by `streaming.py`; at last it is what it is.
    "pause_turn": FinishReason.END_TURN,
    "stop_sequence": FinishReason.END_TURN,
    "tool_use": FinishReason.TOOL_USE,
    "max_tokens": FinishReason.MAX_TOKENS,
    "model_context_window_exceeded": FinishReason.MAX_TOKENS,
}


class MessagesReader:
    """A `bot.providers.streaming.Reader`. `turn` is for the ids of calls without one."""

    def __init__(self, assembly: Assembly, turn: int) -> None:
        self._assembly = assembly
        self._turn = turn
        self._open: dict[Any, Block] = {}
        self._inputs: dict[int, Any] = {}
        self._stop = ""

    def end(self) -> Complete | None:
        if not self._stop:
            return None
        return self._assembly.complete(_FINISH.get(self._stop, FinishReason.ERROR), self._stop)

    def read(self, event: str, data: Any) -> Iterator[Event]:
        data = mapping(data)
        kind = data.get("type") or event
        if kind == "content_block_delta":
            yield from self._delta(self._open.get(data.get("index")), mapping(data.get("delta")))
        elif kind == "content_block_start":
            yield from self._start(data.get("index"), mapping(data.get("content_block")))
        elif kind == "content_block_stop":
            yield from self._end(self._open.get(data.get("index")))
        elif kind == "message_start":
            self._count(mapping(mapping(data.get("message")).get("usage")))
        elif kind == "message_delta":
            self._count(mapping(data.get("usage")))
            self._stop = string(mapping(data.get("delta")).get("stop_reason")) or self._stop
        elif kind == "error":
            raise StreamError(data.get("error", data))

    def _start(self, index: Any, content: Mapping[str, Any]) -> Iterator[Event]:
        assembly = self._assembly
        kind = content.get("type")
        if not isinstance(index, int):
            return
        if kind == "text":
            self._open[index] = text = assembly.add(TextBlock())
            yield from assembly.text(text, string(content.get("text")))
        elif kind == "thinking":
            thinking = ThinkingBlock(signature=string(content.get("signature")))
            self._open[index] = assembly.add(thinking)
            yield from assembly.thinking(thinking, string(content.get("thinking")))
        elif kind == "redacted_thinking":
            self._open[index] = assembly.add(ThinkingBlock(redacted=string(content.get("data"))))
        elif kind == "tool_use":
            id = string(content.get("id")) or f"call_{self._turn}_{len(assembly.calls)}"
            call, event = assembly.start_call(id, string(content.get("name")))
            self._open[index] = call
            self._inputs[call.index] = content.get("input")
            yield event

    def _delta(self, block: Block | None, delta: Mapping[str, Any]) -> Iterator[Event]:
        if isinstance(block, TextBlock):
            yield from self._assembly.text(block, string(delta.get("text")))
        elif isinstance(block, CallBlock):
            yield from self._assembly.arguments(block, string(delta.get("partial_json")))
        elif isinstance(block, ThinkingBlock):
            block.signature += string(delta.get("signature"))
            yield from self._assembly.thinking(block, string(delta.get("thinking")))

    def _end(self, block: Block | None) -> Iterator[Event]:
        if not isinstance(block, CallBlock):
            return
        arguments = self._inputs.get(block.index)
        if arguments and isinstance(arguments, dict) and not block.pieces:
            # Some servers give the whole input at the start and no deltas.
            yield from self._assembly.arguments(block, dumps_or_empty(arguments))
        yield from self._assembly.end_call(block)

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Later figures replace earlier ones; a missing field keeps its value."""
        old = self._assembly.usage
        details = mapping(usage.get("output_tokens_details"))
        self._assembly.usage = Usage(
            count(usage.get("input_tokens"), old.input),
            count(usage.get("cache_read_input_tokens"), old.cache_read),
            count(usage.get("cache_creation_input_tokens"), old.cache_write),
            count(usage.get("output_tokens"), old.output),
            count(details.get("thinking_tokens"), old.reasoning),
        )
