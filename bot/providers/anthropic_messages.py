"""The Messages API (Anthropic and compatible servers): requests, and the reader that translates its events into the
event grammar.

Bodies are bytes, so that a request is a byte prefix of the next.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from bot.contracts.messages import (
    FinishReason,
    Image,
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)
from bot.contracts.model import Complete, Event, ModelInfo, ModelRequest
from bot.contracts.tools import ToolSpec
from bot.providers.assembly import Assembly, Block, CallBlock, TextBlock, ThinkingBlock
from bot.providers.encoding import (
    EncodedHistory,
    RequestPrefix,
    argument_object,
    clean,
    clean_tree,
    count,
    dumps,
    dumps_or_empty,
    fitting_id,
    image_note,
    is_foreign,
    mapping,
    string,
)
from bot.providers.endpoint import Endpoint, messages_headers
from bot.providers.failures import StreamError
from bot.providers.http_wire import HttpWire

_USER = b'{"role":"user"'
_ASSISTANT = b'{"role":"assistant"'
_CONTENT = b',"content":['
_END = b"]}"
_BLOCK_END = b"}" + _END
_MARKED_BLOCK_END = b',"cache_control":{"type":"ephemeral"}}' + _END
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NO_OUTPUT = "(no output)"
# In tokens, for models that want a number; the API's least is 1,024.
_BUDGET = 16_384
_MIN_BUDGET = 1_024
# One is on the end of the system text; the API takes four.
_MESSAGE_MARKS = 3


class AnthropicMessages(HttpWire):
    """A `bot.providers.streaming.Wire`."""

    format = "messages"
    path = "/v1/messages"
    idle = 90.0

    def __init__(
        self, endpoint: Endpoint, info: ModelInfo, *, patience: float | None = None, idle: float | None = None
    ) -> None:
        super().__init__(endpoint, info, patience=patience, idle=idle)
        self._history = EncodedHistory(self._message)
        self._moved = EncodedHistory(self._without_thinking)
        self._prefix = RequestPrefix(self._render)

    def headers(self) -> dict[str, str]:
        return messages_headers(self.endpoint)

    def reader(self, assembly: Assembly, request: ModelRequest) -> MessagesReader:
        return MessagesReader(assembly, len(request.messages))

    def encode(self, request: ModelRequest) -> bytes:
        """Return the body. What changes from turn to turn comes last: messages, and cache marks on their end.

        There is never a `tool_choice`: a changed one invalidates the cached messages. There is no list of
        allowed tools either, and models that think refuse to be forced. The dispatch refuses other calls.
        """
        rows = _merge_roles(self._rows(request))
        # The newest message, and those marked before: a lookup walks back 20 blocks at most, and one turn with
        # ten parallel calls has more. The third is for a request that failed before anything of it was kept.
        users = (index for index in range(len(rows) - 1, -1, -1) if rows[index].startswith(_USER))
        for index in islice(users, _MESSAGE_MARKS):
            rows[index] = rows[index].removesuffix(_BLOCK_END) + _MARKED_BLOCK_END
        return b'%s"messages":[%s]}' % (self._prefix.of(request), b",".join(rows))

    def _rows(self, request: ModelRequest) -> list[bytes]:
        """Return each message's bytes. Thinking is tied to everything before it, so moved messages are sent
        without it."""
        if not request.moved:
            return self._history.encoded(request.messages)
        moved, rest = request.messages[: request.moved], request.messages[request.moved :]
        return [*self._moved.encoded(moved), *self._history.encoded(rest)]

    def _without_thinking(self, message: Message, position: int) -> bytes:
        """Encode a moved message. Models with a thinking budget do not tie thinking to the context, and require
        it back."""
        if self.info.thinking == "budget":
            return self._message(message, position)
        parts = tuple(part for part in message.parts if not isinstance(part, Thinking))
        return self._message(replace(message, parts=parts), position)

    def _render(self, request: ModelRequest) -> bytes:
        """Return everything before the messages."""
        max_tokens = min(request.max_output or self.info.max_output, self.info.max_output)
        body: dict[str, Any] = {"model": self.info.name, "max_tokens": max_tokens, "stream": True}
        thinking = _thinking(self.info, max_tokens)
        if thinking is not None:
            body["thinking"] = thinking
        if request.tools:
            body["tools"] = [self._tool(spec) for spec in request.tools]
        if request.system.strip():
            block = {"type": "text", "text": clean(request.system), "cache_control": {"type": "ephemeral"}}
            body["system"] = [block]
        return dumps(body)[:-1] + b","

    def _tool(self, spec: ToolSpec) -> dict[str, Any]:
        tool = {
            "name": spec.name,
            "description": spec.description,
            "input_schema": dict(spec.parameters),
        }
        return {**tool, "eager_input_streaming": True} if self.info.streams_tools else tool

    def _message(self, message: Message, position: int) -> bytes:
        """Return the encoded message, empty if nothing is left of it."""
        blocks = [block for part in message.parts if (block := self._block(part)) is not None]
        if message.role == "assistant":
            _trim_end(blocks)
        if not blocks:
            return b""
        start = _ASSISTANT if message.role == "assistant" else _USER
        return start + _CONTENT + b",".join(dumps(block) for block in blocks) + _END

    def _block(self, part: Part) -> dict[str, Any] | None:
        """Return a content block, or `None` for what the API refuses: blank text, thinking without its
        signature, thinking of another model."""
        if isinstance(part, Text):
            return {"type": "text", "text": clean(part.text)} if part.text.strip() else None
        if isinstance(part, Thinking):
            return _own_thinking(part) if not is_foreign(part.extra, self.writer) else None
        if isinstance(part, Image):
            return self._image(part)
        if isinstance(part, ToolCall):
            return {
                "type": "tool_use",
                "id": fitting_id(part.id, _ID),
                "name": clean(part.name),
                "input": _input(part.arguments),
            }
        return self._result(part)

    def _image(self, image: Image) -> dict[str, Any]:
        if not self.info.vision:
            return {"type": "text", "text": clean(image_note(image))}
        data = base64.b64encode(image.data).decode()
        source = {"type": "base64", "media_type": image.media_type, "data": data}
        return {"type": "image", "source": source}

    def _result(self, part: ToolResult) -> dict[str, Any]:
        block: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": fitting_id(part.call_id, _ID),
            # Never empty: the block may get a cache mark, which empty ones must not have.
            "content": clean(part.content) if part.content.strip() else _NO_OUTPUT,
        }
        if part.images:
            text = {"type": "text", "text": block["content"]}
            block["content"] = [text, *(self._image(image) for image in part.images)]
        if part.is_error:
            block["is_error"] = True
        return block


def _thinking(info: ModelInfo, max_tokens: int) -> dict[str, Any] | None:
    """Return the thinking parameter. The text is requested as a summary: the newest models leave it out
    otherwise."""
    if info.thinking == "adaptive":
        return {"type": "adaptive", "display": "summarized"}
    budget = min(_BUDGET, max_tokens // 2)
    if info.thinking == "budget" and budget >= _MIN_BUDGET:
        return {"type": "enabled", "budget_tokens": budget}
    return None


def _own_thinking(part: Thinking) -> dict[str, Any] | None:
    if part.redacted is not None:
        return {"type": "redacted_thinking", "data": part.redacted}
    if part.signature is None:
        return None
    return {"type": "thinking", "thinking": part.text, "signature": part.signature}


def _trim_end(blocks: list[dict[str, Any]]) -> None:
    """Trim the end of the model's last text: the API refuses trailing white space."""
    if blocks and blocks[-1]["type"] == "text":
        blocks[-1]["text"] = blocks[-1]["text"].rstrip()


def _merge_roles(rows: list[bytes]) -> list[bytes]:
    """Return the messages to send, without empty ones, neighbours of one role merged."""
    merged: list[bytes] = []
    last_role = b""
    for row in rows:
        if not row:
            continue
        # The first letters tell the roles apart; this loop runs over the whole history every turn.
        role = row[: len(_USER)]
        if role == last_role:
            content = row.partition(_CONTENT)[2]
            merged[-1] = merged[-1].removesuffix(_END) + b"," + content
        else:
            merged.append(row)
            last_role = role
    return merged


def _input(raw: str) -> dict[str, Any]:
    """Return the arguments as an object. Invalid ones go under a key of their own, so that call and result stay
    a pair and the model sees what it wrote."""
    value = argument_object(raw)
    try:
        if value is not None:
            tree: dict[str, Any] = clean_tree(value)
            dumps(tree)
            return tree
    except (ValueError, RecursionError):
        pass  # a number beyond floating point: valid for the parser, not for the wire
    return {"INVALID_JSON": clean(raw)}


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
    """A `bot.providers.streaming.Reader`. Blocks are identified by `index`; several may be open. `turn` is for the ids
    of calls without one."""

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
