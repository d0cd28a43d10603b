"""The Responses API (OpenAI, Azure's `/openai/v1`) over the `openai` package, without state at the server.

Nothing is stored there (`store: false`): reasoning comes encrypted and is sent back unchanged, before the item
that it led to. Bodies are bytes, for the reason given in `openai_chat.py`.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from bot.contracts.messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from bot.contracts.model import ModelInfo, ModelRequest
from bot.contracts.tools import ToolSpec
from bot.providers.assembly import Assembly
from bot.providers.encoding import (
    EncodedHistory,
    RequestPrefix,
    clean,
    data_url,
    decode_extra,
    dumps,
    fitting_id,
    image_note,
    is_foreign,
    mapping,
    result_text,
    sendable_arguments,
)
from bot.providers.endpoint import Endpoint
from bot.providers.openai_client import IDLE, OpenAIWire, openai_choice
from bot.providers.responses_reader import ResponsesReader

if TYPE_CHECKING:
    import httpx2

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MAX_KEY = 64
# The least the API takes for `max_output_tokens`.
_MIN_OUTPUT = 16


class OpenAIResponses(OpenAIWire):
    """A `bot.providers.streaming.Wire`."""

    def __init__(
        self, endpoint: Endpoint, info: ModelInfo, *, patience: float | None = None, idle: float = IDLE
    ) -> None:
        super().__init__("responses", endpoint, info, patience=patience, idle=idle)
        self._history = EncodedHistory(self._message)
        self._prefix = RequestPrefix(self._render)

    def send(self, body: bytes) -> httpx2.Response:
        return self._post("/responses", body)

    def reader(self, assembly: Assembly, request: ModelRequest) -> ResponsesReader:
        return ResponsesReader(assembly, len(request.messages))

    def encode(self, request: ModelRequest) -> bytes:
        """Return the body. What changes from turn to turn comes last: the input, then tool choice."""
        rows = b",".join(row for row in self._history.encoded(request.messages) if row)
        choice = openai_choice(request, self.info, nested=False)
        tail = b"" if choice is None else b',"tool_choice":' + dumps(choice)
        return b"%s%s]%s}" % (self._prefix.of(request), rows, tail)

    def _render(self, request: ModelRequest) -> bytes:
        body: dict[str, Any] = {"model": self.info.name, "stream": True, "store": False}
        if self.info.thinking != "off" or not self.info.known:
            # Models known not to reason refuse to be asked for it.
            body["include"] = ["reasoning.encrypted_content"]
        if request.session:
            body["prompt_cache_key"] = cache_key(request.session)
        if request.max_output:
            body["max_output_tokens"] = max(request.max_output, _MIN_OUTPUT)
        if request.tools:
            body["tools"] = [_tool(spec) for spec in request.tools]
        if request.system.strip():
            body["instructions"] = clean(request.system)
        return dumps(body)[:-1] + b',"input":['

    def _message(self, message: Message, position: int) -> bytes:
        """Return the input items, joined by commas; empty if nothing is left."""
        if message.role == "assistant":
            items = self._assistant(message.parts)
        else:
            items = [_result(part) for part in message.parts if isinstance(part, ToolResult)]
            images = [
                image for part in message.parts if isinstance(part, ToolResult) for image in part.images
            ]
            content = [
                item for part in (*images, *message.parts) if (item := self._content(part)) is not None
            ]
            if content:
                items.append(_user(content))
        return b",".join(items)

    def _content(self, part: Part) -> dict[str, Any] | None:
        if isinstance(part, Image):
            if self.info.vision:
                return {"type": "input_image", "image_url": data_url(part)}
            return {"type": "input_text", "text": clean(image_note(part))}
        if isinstance(part, Text) and part.text.strip():
            return {"type": "input_text", "text": clean(part.text)}
        return None

    def _assistant(self, parts: tuple[Part, ...]) -> list[bytes]:
        """Return the model's own items. Reasoning is refused without the item it led to, so it is held until
        that."""
        items: list[bytes] = []
        pending: list[bytes] = []
        for part in parts:
            if isinstance(part, Thinking):
                reasoning = self._reasoning(part)
                pending += [reasoning] if reasoning else []
                continue
            item = self._item(part)
            if item is not None:
                items += [*pending, dumps(item)]
                pending = []
        return items

    def _reasoning(self, part: Thinking) -> bytes:
        """Return the item unchanged, if this model wrote it and its content is included."""
        if part.signature is None or is_foreign(part.extra, self.writer):
            return b""
        try:
            item = json.loads(part.signature)
        except (ValueError, RecursionError):
            return b""
        complete = mapping(item).get("type") == "reasoning" and mapping(item).get("encrypted_content")
        return part.signature.encode("utf-8", "replace") if complete else b""

    def _item(self, part: Part) -> dict[str, Any] | None:
        if isinstance(part, Text) and part.text.strip():
            known = decode_extra(part.extra, self.writer)
            content = [{"type": "output_text", "text": clean(part.text), "annotations": []}]
            item: dict[str, Any] = {"type": "message", "role": "assistant", "content": content}
            return {**item, **{name: known[name] for name in ("id", "status", "phase") if known.get(name)}}
        if isinstance(part, ToolCall):
            known = decode_extra(part.extra, self.writer)
            call = {
                "type": "function_call",
                "call_id": fitting_id(part.id, _ID),
                "name": clean(part.name),
                "arguments": sendable_arguments(part.arguments),
            }
            return {**call, **({"id": known["id"]} if known.get("id") else {})}
        return None


def cache_key(session: str) -> str:
    """Return the session's id as a `prompt_cache_key` of at most 64 characters."""
    return session if len(session) <= _MAX_KEY else sha256(session.encode()).hexdigest()


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": dict(spec.parameters),
        "strict": False,
    }


def _user(content: list[dict[str, Any]]) -> bytes:
    return dumps({"type": "message", "role": "user", "content": content})


def _result(part: ToolResult) -> bytes:
    output = clean(result_text(part))
    return dumps({"type": "function_call_output", "call_id": fitting_id(part.call_id, _ID), "output": output})
