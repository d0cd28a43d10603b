"""The Responses API (OpenAI, Azure's `/openai/v1`) without state at the server: requests for the `openai` package, and
the reader that collects its events.

Nothing is stored there (`store: false`): reasoning comes encrypted and is sent back unchanged, before the item
that it led to.
"""

import json
from collections.abc import Mapping
from itertools import chain
from typing import Any, Literal

import openai.resources.responses  # noqa: F401 - else the first request waits for it

from bot.contracts.messages import Message, Part, Text, Thinking, ToolCall, ToolResult
from bot.contracts.model import ModelRequest
from bot.providers.assembly import Block, Reader
from bot.providers.encoding import (
    JsonObject,
    count,
    dumps_or_empty,
    entries,
    fitting_id,
    mapping,
    result_text,
    sendable_arguments,
    string,
)
from bot.providers.failures import StreamError, reported_error
from bot.providers.models import effort_of
from bot.providers.openai_provider import OpenAIProvider, openai_choice, openai_tool, openai_usage

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

    def read(self, event: Any) -> None:
        # As the JSON that was sent: an item goes back to the server as it came.
        data = mapping(event)
        kind, index = string(data, "type"), count(data.get("output_index"), -1)
        if kind in _DELTAS:
            self._delta(self.open.get(index), kind, data)
        elif kind == "response.output_item.added":
            self._block(index, mapping(data.get("item")))
        elif kind == "response.output_item.done":
            self._done(index, mapping(data.get("item")))
        elif kind in _ENDS:
            self._end(kind, mapping(data.get("response")))
        elif error := reported_error(data):
            raise StreamError(error)

    def _block(self, index: int, item: JsonObject) -> Block | None:
        """Return the block of an item, a new one if necessary; `None` if the item is no part of the answer."""
        kind = _KINDS.get(string(item, "type"))
        if kind and index not in self.open:
            self.open[index] = self.add(Block(kind, string(item, "call_id"), string(item, "name")))
        block = self.open.get(index)
        return block if block and block.kind == kind else None

    def _delta(self, block: Block | None, kind: str, data: JsonObject) -> None:
        text, section = string(data, "delta"), data.get("summary_index")
        if block is None or block.kind != _DELTAS[kind]:
            return
        if kind == "response.refusal.delta":
            self.said_refusal += text
        if isinstance(section, int):
            if section != block.section and block.pieces:
                self.append(block, "\n\n")
            block.section = section
        self.append(block, text)

    def _done(self, index: int, item: JsonObject) -> None:
        """Read the complete item. Text without deltas is taken from here: some servers stream none."""
        block = self._block(index, item)
        if block is None:
            return
        if block.kind == "text":
            names = ("id", "status", "phase")
            block.extra.update({name: text for name in names if (text := string(item, name))})
            pieces = entries(item, "content")
            self.said_refusal = "".join(string(one, "refusal") for one in pieces) or self.said_refusal
            texts = (string(one, "text") + string(one, "refusal") for one in pieces)
            self.set_final_text(block, "".join(texts))
        elif block.kind == "thinking":
            signature = dumps_or_empty({name: value for name, value in item.items() if value is not None})
            self.grow(len(signature))
            block.signature = signature
            if not block.pieces:
                summary = (string(piece, "text") for piece in entries(item, "summary"))
                self.append(block, "\n\n".join(filter(None, summary)))
        else:
            if item.get("id"):
                block.extra["id"] = string(item, "id")
            self.set_final_text(block, string(item, "arguments"))
            block.ended = block.ended or item.get("status") != "incomplete"

    def _end(self, kind: str, response: JsonObject) -> None:
        self.usage = openai_usage(response.get("usage"), self.usage, "input", "output")
        status = string(response, "status") or kind.removeprefix("response.")
        if status == "failed":
            raise StreamError(response.get("error") or {"message": "the response failed"})
        for index, item in enumerate(entries(response, "output")):
            if index not in self.open:
                self._done(index, mapping(item))
        self.finish = string(response, "incomplete_details", "reason") or status


class OpenAIResponses(OpenAIProvider):
    """The Responses API through the `openai` package."""

    format = "responses"
    reader = ResponsesReader

    def send(self, params: JsonObject) -> Any:
        return self.client.responses.create(model=self.info.name, input=[], stream=True, extra_body=params)

    def params(self, request: ModelRequest) -> JsonObject:
        params: JsonObject = {"store": False}
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
            params["tools"] = [
                {"type": "function", **openai_tool(spec), "strict": False} for spec in request.tools
            ]
        if request.system.strip():
            params["instructions"] = request.system
        choice = openai_choice(request, self.info, nested=False)
        if choice is not None:
            params["tool_choice"] = choice
        return {**params, "input": list(chain.from_iterable(map(self._items, request.messages)))}

    def _items(self, message: Message) -> list[JsonObject]:
        """Return the input items of a message; empty if nothing is left."""
        if message.role == "assistant":
            return _assistant(message.parts, own=self.wrote(message))
        items = [_result(part) for part in message.parts if isinstance(part, ToolResult)]
        content = self.content(message, "input_text", lambda url: {"type": "input_image", "image_url": url})
        if content:
            items.append({"type": "message", "role": "user", "content": content})
        return items


def _assistant(parts: tuple[Part, ...], *, own: bool) -> list[JsonObject]:
    """Return the model's own items. Reasoning is refused without the item it led to, so it is held until that."""
    items: list[JsonObject] = []
    pending: list[JsonObject] = []
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


def _item(part: Text | ToolCall) -> JsonObject | None:
    if isinstance(part, ToolCall):
        return {
            "type": "function_call",
            "call_id": fitting_id(part.id),
            "name": part.name,
            "arguments": sendable_arguments(part.arguments),
        }
    if not part.text.strip():
        return None
    content = [{"type": "output_text", "text": part.text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content}


def _result(part: ToolResult) -> JsonObject:
    output = result_text(part)
    return {"type": "function_call_output", "call_id": fitting_id(part.call_id), "output": output}
