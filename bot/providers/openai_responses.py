"""The Responses API (OpenAI, Azure's `/openai/v1`) without state at the server: requests for the `openai` package, and
the reader that collects its events.

Nothing is stored there (`store: false`): reasoning comes encrypted and is sent back unchanged, before the item
that it led to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import chain
from typing import Any, Literal

import openai.resources.responses  # noqa: F401 - else the first request waits for it

from bot.contracts.messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Usage
from bot.contracts.model import Complete, ModelRequest
from bot.contracts.tools import ToolSpec
from bot.providers.assembly import Block, Reader
from bot.providers.encoding import (
    clean,
    count,
    data_url,
    dumps_or_empty,
    field,
    fitting_id,
    image_note,
    mapping,
    plain,
    result_text,
    sendable_arguments,
    string,
)
from bot.providers.failures import StreamError, reported_error
from bot.providers.models import effort_of
from bot.providers.openai_provider import OpenAIProvider, openai_choice, refusal_words

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
# The least the API takes for `max_output_tokens`.
_MIN_OUTPUT = 16


_KINDS: Mapping[str, Literal["text", "thinking", "call"]] = {
    "message": "text",
    "reasoning": "thinking",
    "function_call": "call",
}
_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
    "response.function_call_arguments.delta": "call",
}
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


class ResponsesReader(Reader):
    """Items are identified by `output_index`."""

    def __init__(self, writer: str, turn: int) -> None:
        super().__init__(writer, turn)
        self._open: dict[int, Block] = {}
        self._end = ""
        self._refusal = ""

    def end(self) -> Complete | None:
        if not self._end:
            return None
        word = "refusal" if self._refusal else self._end
        return self.complete(word, refusal_words(self._refusal))

    def read(self, event: Any) -> None:
        # As the JSON that was sent: an item goes back to the server as it came.
        data = mapping(plain(event))
        kind = string(data.get("type"))
        if kind in _DELTAS:
            self._delta(data, kind)
        elif kind == "response.output_item.added":
            self._start(data, mapping(data.get("item")))
        elif kind == "response.output_item.done":
            self._done(data, mapping(data.get("item")))
        elif kind in _ENDS:
            self._finish(kind, mapping(data.get("response")))
        elif error := reported_error(data):
            raise StreamError(error)

    def _start(self, data: Mapping[str, Any], item: Mapping[str, Any]) -> None:
        index, kind = _index(data), _KINDS.get(string(item.get("type")))
        if kind is None or index in self._open:
            return
        self._open[index] = self.add(Block(kind, string(item.get("call_id")), string(item.get("name"))))

    def _delta(self, data: Mapping[str, Any], kind: str) -> None:
        block, section = self._open.get(_index(data)), data.get("summary_index")
        text = string(data.get("delta"))
        if block is None or block.kind != _DELTAS[kind]:
            return
        if kind == "response.refusal.delta":
            self._refusal += text
        if isinstance(section, int):
            if section != block.section and block.pieces:
                self.append(block, "\n\n")
            block.section = section
        self.append(block, text)

    def _done(self, data: Mapping[str, Any], item: Mapping[str, Any]) -> None:
        """Read the complete item. Text without deltas is taken from here: some servers stream none."""
        self._start(data, item)
        block = self._open.get(_index(data))
        if block is None or block.kind != _KINDS.get(string(item.get("type"))):
            return
        if block.kind == "text":
            names = ("id", "status", "phase")
            block.extra.update({name: text for name in names if (text := string(item.get(name)))})
            content = item.get("content")
            pieces = content if isinstance(content, list) else []
            self._refusal = "".join(string(field(one, "refusal")) for one in pieces) or self._refusal
            texts = (string(field(one, "text")) + string(field(one, "refusal")) for one in pieces)
            self.set_final_text(block, "".join(texts))
        elif block.kind == "thinking":
            signature = dumps_or_empty({name: value for name, value in item.items() if value is not None})
            self.grow(len(signature))
            block.signature = signature
            if not block.pieces:
                self.append(block, _summary(item))
        else:
            if item.get("id"):
                block.extra["id"] = string(item["id"])
            self.set_final_text(block, string(item.get("arguments")))
            block.ended = block.ended or item.get("status") != "incomplete"

    def _finish(self, kind: str, response: Mapping[str, Any]) -> None:
        self._count(mapping(response.get("usage")))
        status = string(response.get("status")) or kind.removeprefix("response.")
        if status == "failed":
            raise StreamError(response.get("error") or {"message": "the response failed"})
        output = response.get("output")
        for index, item in enumerate(output if isinstance(output, list) else ()):
            if index not in self._open:
                self._done({"output_index": index}, mapping(item))
        self._end = string(field(response, "incomplete_details", "reason")) or status

    def _count(self, usage: Mapping[str, Any]) -> None:
        """`input_tokens` includes cached tokens, `output_tokens` the reasoning."""
        read = count(field(usage, "input_tokens_details", "cached_tokens"))
        written = count(field(usage, "input_tokens_details", "cache_write_tokens"))
        self.usage = Usage(
            max(0, count(usage.get("input_tokens")) - read - written),
            read,
            written,
            count(usage.get("output_tokens")),
            count(field(usage, "output_tokens_details", "reasoning_tokens")),
        )


def _index(data: Mapping[str, Any]) -> int:
    return count(data.get("output_index"), -1)


def _summary(item: Mapping[str, Any]) -> str:
    summary = item.get("summary")
    pieces = [string(field(piece, "text")) for piece in summary] if isinstance(summary, list) else []
    return "\n\n".join(piece for piece in pieces if piece)


class OpenAIResponses(OpenAIProvider):
    """The Responses API through the `openai` package."""

    format = "responses"
    reader = ResponsesReader

    def send(self, params: Mapping[str, Any]) -> Any:
        return self.client.responses.create(model=self.info.name, input=[], stream=True, extra_body=params)

    def params(self, request: ModelRequest) -> Mapping[str, Any]:
        params: dict[str, Any] = {"store": False}
        if self.info.thinking != "off" or not self.info.known:
            # Models known not to reason refuse to be asked for it.
            params["include"] = ["reasoning.encrypted_content"]
        if request.session:
            params["prompt_cache_key"] = request.session
        if request.max_output:
            params["max_output_tokens"] = max(request.max_output, _MIN_OUTPUT)
        if effort := effort_of(self.info, request.effort):
            params["reasoning"] = {"effort": effort}
        if request.tools:
            params["tools"] = [_tool(spec) for spec in request.tools]
        if request.system.strip():
            params["instructions"] = clean(request.system)
        choice = openai_choice(request, self.info, nested=False)
        if choice is not None:
            params["tool_choice"] = choice
        return {**params, "input": list(chain.from_iterable(map(self._items, request.messages)))}

    def _items(self, message: Message) -> list[dict[str, Any]]:
        """Return the input items of a message; empty if nothing is left."""
        if message.role == "assistant":
            return _assistant(message.parts, own=self.wrote(message))
        items = [_result(part) for part in message.parts if isinstance(part, ToolResult)]
        content = [item for part in message.parts if (item := self._content(part)) is not None]
        if content:
            items.append({"type": "message", "role": "user", "content": content})
        return items

    def _content(self, part: Part) -> dict[str, Any] | None:
        if isinstance(part, Image):
            if self.info.vision:
                return {"type": "input_image", "image_url": data_url(part)}
            return {"type": "input_text", "text": clean(image_note(part))}
        if isinstance(part, Text) and part.text.strip():
            return {"type": "input_text", "text": clean(part.text)}
        return None


def _assistant(parts: tuple[Part, ...], *, own: bool) -> list[dict[str, Any]]:
    """Return the model's own items. Reasoning is refused without the item it led to, so it is held until that."""
    items: list[dict[str, Any]] = []
    pending: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, Thinking):
            try:
                thought = mapping(json.loads(part.signature or ""))
            except (ValueError, RecursionError):
                continue
            if own and thought.get("type") == "reasoning" and thought.get("encrypted_content"):
                pending.append({**thought})
        elif isinstance(part, Text | ToolCall) and (item := _item(part)) is not None:
            items += [*pending, {**item, **part.extra} if own else item]
            pending = []
    return items


def _item(part: Text | ToolCall) -> dict[str, Any] | None:
    if isinstance(part, ToolCall):
        return {
            "type": "function_call",
            "call_id": fitting_id(part.id, _ID),
            "name": clean(part.name),
            "arguments": sendable_arguments(part.arguments),
        }
    if not part.text.strip():
        return None
    content = [{"type": "output_text", "text": clean(part.text), "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": dict(spec.parameters),
        "strict": False,
    }


def _result(part: ToolResult) -> dict[str, Any]:
    output = clean(result_text(part))
    return {"type": "function_call_output", "call_id": fitting_id(part.call_id, _ID), "output": output}
