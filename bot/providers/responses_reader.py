"""Translate events of the Responses API into the event grammar. Items are identified by `output_index`; several
may be open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bot.contracts.messages import FinishReason, Usage
from bot.contracts.model import Complete, Event
from bot.providers.assembly import Assembly, Block, CallBlock, TextBlock, ThinkingBlock
from bot.providers.encoding import count, dumps_or_empty, mapping, string
from bot.providers.failures import StreamError

# Some servers give no reason; an answer that is not whole was cut.
_INCOMPLETE = {"max_output_tokens": FinishReason.MAX_TOKENS, "incomplete": FinishReason.MAX_TOKENS}
_TEXT = ("response.output_text.delta", "response.refusal.delta")
_THINKING = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


class ResponsesReader:
    """A `bot.providers.streaming.Reader`. `turn` is for the ids of calls without one."""

    def __init__(self, assembly: Assembly, turn: int) -> None:
        self._assembly = assembly
        self._turn = turn
        self._open: dict[int, Block] = {}
        self._indexes: dict[str, int] = {}
        self._end: tuple[FinishReason, str] | None = None
        self._refused = False

    def end(self) -> Complete | None:
        if self._end is None:
            return None
        finish, raw = self._end
        if self._refused:
            return self._assembly.complete(FinishReason.ERROR, "refusal")
        return self._assembly.complete(finish, raw)

    def read(self, event: str, data: Any) -> Iterator[Event]:
        data = mapping(data)
        kind = string(data.get("type")) or event
        if kind in _TEXT:
            self._refused = self._refused or kind == "response.refusal.delta"
            yield from self._text(data)
        elif kind == "response.function_call_arguments.delta":
            call = self._open.get(self._index(data))
            if isinstance(call, CallBlock):
                yield from self._assembly.arguments(call, string(data.get("delta")))
        elif kind in _THINKING:
            yield from self._thinking(data)
        elif kind == "response.output_item.added":
            yield from self._start(data, mapping(data.get("item")))
        elif kind == "response.output_item.done":
            yield from self._done(data, mapping(data.get("item")))
        elif kind in _ENDS:
            yield from self._finish(kind, mapping(data.get("response")))
        elif kind == "error":
            raise StreamError(data.get("error") or data)

    def _index(self, data: Mapping[str, Any]) -> int:
        """Return the item's index; without one, the index that its id had first."""
        index = data.get("output_index")
        if isinstance(index, int):
            return index
        return self._indexes.get(string(data.get("item_id") or mapping(data.get("item")).get("id")), -1)

    def _start(self, data: Mapping[str, Any], item: Mapping[str, Any]) -> Iterator[Event]:
        index, kind = self._index(data), item.get("type")
        if index < 0:
            index = len(self._open)
        if index in self._open:
            return
        self._indexes[string(item.get("id"))] = index
        if kind == "message":
            self._open[index] = self._assembly.add(TextBlock())
        elif kind == "reasoning":
            self._open[index] = self._assembly.add(ThinkingBlock())
        elif kind == "function_call":
            id = string(item.get("call_id")) or f"call_{self._turn}_{len(self._assembly.calls)}"
            self._open[index], event = self._assembly.start_call(id, string(item.get("name")))
            yield event

    def _text(self, data: Mapping[str, Any]) -> Iterator[Event]:
        block = self._open.get(self._index(data))
        if block is None:
            # A server that does not announce its items.
            last = self._assembly.last
            block = last if isinstance(last, TextBlock) else self._assembly.add(TextBlock())
        if isinstance(block, TextBlock):
            yield from self._assembly.text(block, string(data.get("delta")))

    def _thinking(self, data: Mapping[str, Any]) -> Iterator[Event]:
        block = self._open.get(self._index(data))
        if isinstance(block, ThinkingBlock):
            part = data.get("summary_index")
            if isinstance(part, int) and part != block.part and block.pieces:
                yield from self._assembly.thinking(block, "\n\n")
            block.part = part if isinstance(part, int) else block.part
            yield from self._assembly.thinking(block, string(data.get("delta")))

    def _done(self, data: Mapping[str, Any], item: Mapping[str, Any]) -> Iterator[Event]:
        """Read the complete item. Text without deltas is taken from here: some servers stream none."""
        if self._index(data) not in self._open:
            yield from self._start(data, item)
        block = self._open.get(self._index(data))
        if isinstance(block, TextBlock) and item.get("type") == "message":
            block.extra.update({name: item[name] for name in ("id", "status", "phase") if item.get(name)})
            text = self._message_text(item)
            if not block.pieces:
                yield from self._assembly.text(block, text)
            self._assembly.set_final_text(block, text)
        elif isinstance(block, ThinkingBlock) and item.get("type") == "reasoning":
            block.signature = dumps_or_empty(
                {name: value for name, value in item.items() if value is not None}
            )
            if not block.pieces:
                yield from self._assembly.thinking(block, _summary(item))
        elif isinstance(block, CallBlock) and item.get("type") == "function_call":
            if item.get("id"):
                block.extra["id"] = string(item["id"])
            arguments = string(item.get("arguments"))
            if not block.pieces:
                yield from self._assembly.arguments(block, arguments)
            self._assembly.set_final_text(block, arguments)
            if item.get("status") != "incomplete":
                yield from self._assembly.end_call(block)

    def _message_text(self, item: Mapping[str, Any]) -> str:
        content = item.get("content")
        blocks = [mapping(block) for block in content] if isinstance(content, list) else []
        self._refused = self._refused or any(block.get("type") == "refusal" for block in blocks)
        return "".join(string(block.get("text")) + string(block.get("refusal")) for block in blocks)

    def _finish(self, kind: str, response: Mapping[str, Any]) -> Iterator[Event]:
        self._count(mapping(response.get("usage")))
        status = string(response.get("status")) or kind.removeprefix("response.")
        if status == "failed":
            raise StreamError(response.get("error") or {"message": "the response failed"})
        output = response.get("output")
        for index, item in enumerate(output if isinstance(output, list) else ()):
            if index not in self._open:
                yield from self._done({"output_index": index}, mapping(item))
        if status == "completed":
            self._end = (FinishReason.END_TURN, status)
        elif status == "incomplete":
            reason = string(mapping(response.get("incomplete_details")).get("reason")) or status
            self._end = (_INCOMPLETE.get(reason, FinishReason.ERROR), reason)
        else:
            self._end = (FinishReason.ERROR, status)

    def _count(self, usage: Mapping[str, Any]) -> None:
        """`input_tokens` includes cached tokens, `output_tokens` the reasoning."""
        input_details, output_details = (
            mapping(usage.get("input_tokens_details")),
            mapping(usage.get("output_tokens_details")),
        )
        read, written = (
            count(input_details.get("cached_tokens")),
            count(input_details.get("cache_write_tokens")),
        )
        self._assembly.usage = Usage(
            max(0, count(usage.get("input_tokens")) - read - written),
            read,
            written,
            count(usage.get("output_tokens")),
            count(output_details.get("reasoning_tokens")),
        )


def _summary(item: Mapping[str, Any]) -> str:
    summary = item.get("summary")
    pieces = [string(mapping(piece).get("text")) for piece in summary] if isinstance(summary, list) else []
    return "\n\n".join(piece for piece in pieces if piece)
