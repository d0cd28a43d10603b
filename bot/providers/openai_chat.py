"""Chat Completions (OpenAI, self-hosted servers, OpenRouter, Azure's `/openai/v1`): requests, and the reader that
translates chunks into the event grammar.

Bodies are bytes, and the history's are kept: no turn encodes the messages of earlier turns again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
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
from bot.providers.assembly import Assembly, CallBlock, TextBlock, ThinkingBlock
from bot.providers.encoding import (
    EncodedHistory,
    RequestPrefix,
    argument_object,
    clean,
    count,
    data_url,
    decode_extra,
    dumps,
    fitting_id,
    image_note,
    mapping,
    result_text,
    sendable_arguments,
    string,
)
from bot.providers.endpoint import Endpoint
from bot.providers.failures import StreamError
from bot.providers.http_wire import HttpWire
from bot.providers.openai_responses import cache_key
from bot.providers.presets import PLAIN, Dialect
from bot.providers.tool_choice import openai_choice

_ID = re.compile(r"[\x21-\x7e]{1,40}")


class OpenAIChat(HttpWire):
    """A `bot.providers.streaming.Wire`."""

    format = "chat"
    path = "/chat/completions"
    # Longer than for the Messages API: there are no pings here, and a model that reasons is silent meanwhile.
    idle = 300.0

    def __init__(
        self,
        endpoint: Endpoint,
        info: ModelInfo,
        dialect: Dialect = PLAIN,
        *,
        patience: float | None = None,
        idle: float | None = None,
    ) -> None:
        super().__init__(endpoint, info, patience=patience, idle=idle)
        self._dialect = dialect
        self._history = EncodedHistory(self._message)
        self._prefix = RequestPrefix(self._render)

    def reader(self, assembly: Assembly, request: ModelRequest) -> ChatReader:
        return ChatReader(assembly, len(request.messages))

    def encode(self, request: ModelRequest) -> bytes:
        """Return the body. What changes from turn to turn comes last: messages, then tool choice."""
        rows = b",".join(row for row in self._history.encoded(request.messages) if row)
        choice = openai_choice(request, self.info, nested=True, takes_named=self._dialect.named_choice)
        tail = b"" if choice is None else b',"tool_choice":' + dumps(choice)
        if request.messages[-1].role == "assistant":
            tail += b"".join(
                b",%s:%s" % (dumps(name), dumps(on)) for name, on in self._dialect.prefill_fields
            )
        return b"%s%s]%s}" % (self._prefix.of(request), rows, tail)

    def _render(self, request: ModelRequest) -> bytes:
        """Return everything before the first message of the history."""
        body: dict[str, Any] = {
            "model": self.info.name,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.session and self.endpoint.is_openai:
            # Other servers refuse what they do not know.
            body["prompt_cache_key"] = cache_key(request.session)
        if request.max_output:
            # The newer name, which OpenAI insists on; others know the older one only.
            name = "max_completion_tokens" if self.endpoint.is_openai else "max_tokens"
            body[name] = request.max_output
        if request.tools:
            body["tools"] = [_tool(spec) for spec in request.tools]
            if self._dialect.asks_parallel:
                body["parallel_tool_calls"] = True
        system = b""
        if request.system.strip():
            # With the comma: a conversation has at least one message.
            system = dumps({"role": "system", "content": clean(request.system)}) + b","
        return dumps(body)[:-1] + b',"messages":[' + system

    def _message(self, message: Message, position: int) -> bytes:
        """Return the wire messages, joined by commas: one, or one for each result; empty if nothing is left."""
        if message.role == "assistant":
            rows = self._assistant(message)
        else:
            rows = [_result(part) for part in message.parts if isinstance(part, ToolResult)]
            # A result is text alone, so the pictures of results follow all of them, as the user's.
            images = [
                image for part in message.parts if isinstance(part, ToolResult) for image in part.images
            ]
            rows += self._user([*images, *message.parts])
        return b",".join(dumps(row) for row in rows)

    def _user(self, parts: list[Part]) -> list[dict[str, Any]]:
        """Return one user message: a string if it is only text, which every server accepts."""
        content: list[dict[str, Any]] = []
        for part in parts:
            if isinstance(part, Image) and self.info.vision:
                content.append({"type": "image_url", "image_url": {"url": data_url(part)}})
            elif isinstance(part, Image):
                content.append({"type": "text", "text": clean(image_note(part))})
            elif isinstance(part, Text) and part.text.strip():
                content.append({"type": "text", "text": clean(part.text)})
        if not content:
            return []
        if all(item["type"] == "text" for item in content):
            return [{"role": "user", "content": "\n\n".join(item["text"] for item in content)}]
        return [{"role": "user", "content": content}]

    def _assistant(self, message: Message) -> list[dict[str, Any]]:
        text = clean(message.text)
        calls = [self._call(part) for part in message.calls]
        if not calls and not text.strip():
            return []
        row: dict[str, Any] = {"role": "assistant", "content": text or None}
        for part in message.parts:
            if isinstance(part, Thinking):
                own = decode_extra(part.extra, self.writer)
                if details := own.get("reasoning_details"):
                    row.setdefault("reasoning_details", []).extend(details)
                elif self._dialect.returns_reasoning and (name := own.get("field")) in REASONING:
                    row[name] = row.get(name, "") + clean(part.text)
        if calls:
            row["tool_calls"] = calls
        return [row]

    def _call(self, call: ToolCall) -> dict[str, Any]:
        function = {"name": clean(call.name), "arguments": sendable_arguments(call.arguments)}
        row = {"id": fitting_id(call.id, _ID), "type": "function", "function": function}
        own = decode_extra(call.extra, self.writer).get("extra_content")
        return {**row, "extra_content": own} if own else row


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return {"type": "function", "function": function}


def _result(part: ToolResult) -> dict[str, Any]:
    return {
        "role": "tool",
        "tool_call_id": fitting_id(part.call_id, _ID),
        "content": clean(result_text(part)),
    }


REASONING = ("reasoning_content", "reasoning", "reasoning_text")
_FINISH = {
    "stop": FinishReason.END_TURN,
    "tool_calls": FinishReason.TOOL_USE,
    "function_call": FinishReason.TOOL_USE,
    "length": FinishReason.MAX_TOKENS,
}


class ChatReader:
    """A `bot.providers.streaming.Reader`. Parallel calls are identified by their `index`."""

    def __init__(self, assembly: Assembly, turn: int) -> None:
        self._assembly = assembly
        self._turn = turn
        self._calls: dict[int, CallBlock] = {}
        self._finish = ""
        self._refused = False

    def end(self) -> Complete | None:
        if not self._finish:
            return None
        if self._refused:
            return self._assembly.complete(FinishReason.ERROR, "refusal")
        return self._assembly.complete(_FINISH.get(self._finish, FinishReason.ERROR), self._finish)

    def read(self, event: str, data: Any) -> Iterator[Event]:
        data = mapping(data)
        if data.get("error"):
            raise StreamError(data["error"])
        self._count(mapping(data.get("usage")))
        choices = data.get("choices")
        if not isinstance(choices, list) or not choices:
            return
        choice = mapping(choices[0])
        yield from self._delta(mapping(choice.get("delta")))
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish and not self._finish:
            self._finish = finish
            for call in self._assembly.calls:
                yield from self._assembly.end_call(call)

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[Event]:
        # Some servers send the same reasoning under two names: the first that says something counts.
        name, reasoning = next(
            ((name, text) for name in REASONING if (text := string(delta.get(name)))), ("", "")
        )
        details = delta.get("reasoning_details")
        if reasoning or (isinstance(details, list) and details):
            last = self._assembly.last
            thinking = last if isinstance(last, ThinkingBlock) else self._assembly.add(ThinkingBlock())
            if name:
                thinking.extra["field"] = name
            yield from self._assembly.thinking(thinking, reasoning)
            for detail in details if isinstance(details, list) else ():
                _add_detail(thinking.extra.setdefault("reasoning_details", []), mapping(detail))
        refusal = string(delta.get("refusal"))
        self._refused = self._refused or bool(refusal)
        text = string(delta.get("content")) + refusal
        if text:
            last = self._assembly.last
            block = last if isinstance(last, TextBlock) else self._assembly.add(TextBlock())
            yield from self._assembly.text(block, text)
        calls = delta.get("tool_calls")
        for piece in calls if isinstance(calls, list) else ():
            yield from self._call(mapping(piece))

    def _call(self, piece: Mapping[str, Any]) -> Iterator[Event]:
        function = mapping(piece.get("function"))
        id, name = string(piece.get("id")), string(function.get("name"))
        index = piece.get("index")
        call = self._known(index if isinstance(index, int) else None, id, name)
        if call is None:
            key = index if isinstance(index, int) else len(self._assembly.calls)
            call, event = self._assembly.start_call(
                id or f"call_{self._turn}_{len(self._assembly.calls)}", name
            )
            self._calls[key] = call
            yield event
        if mapping(piece.get("extra_content")):
            # Gemini's signature, without which it refuses its own call.
            call.extra["extra_content"] = piece["extra_content"]
        yield from self._assembly.arguments(call, _as_text(function.get("arguments")))

    def _known(self, index: int | None, id: str, name: str) -> CallBlock | None:
        """Return the call that a piece continues, or `None` if it starts one.

        Some servers repeat id and name on every piece, some leave out the index, some count every call as 0: a
        new id with a name is a new call whatever the index is. Without an id, a name starts a call if the
        arguments of the previous one are complete.
        """
        if id and name:
            return next((call for call in self._assembly.calls if call.id == id), None)
        if index is not None:
            call = self._calls.get(index)
            return None if call and name and _is_whole(call) else call
        calls = self._assembly.calls
        return calls[-1] if calls and not name else None

    def _count(self, usage: Mapping[str, Any]) -> None:
        """`prompt_tokens` includes cached tokens, `completion_tokens` the reasoning. A field that a later chunk
        leaves out keeps its value."""
        old = self._assembly.usage
        prompt = mapping(usage.get("prompt_tokens_details"))
        completion = mapping(usage.get("completion_tokens_details"))
        read = count(prompt.get("cached_tokens"), old.cache_read)
        written = count(prompt.get("cache_write_tokens"), old.cache_write)
        whole = count(usage.get("prompt_tokens"), old.input + old.cache_read + old.cache_write)
        self._assembly.usage = Usage(
            max(0, whole - read - written),
            read,
            written,
            count(usage.get("completion_tokens"), old.output),
            count(completion.get("reasoning_tokens"), old.reasoning),
        )


def _as_text(arguments: Any) -> str:
    """Return the arguments as text: some servers send the parsed value."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def _is_whole(call: CallBlock) -> bool:
    text = "".join(call.pieces)
    return bool(text.strip()) and argument_object(text) is not None


def _add_detail(details: list[dict[str, Any]], piece: Mapping[str, Any]) -> None:
    """Append a piece of OpenRouter's reasoning; pieces of one block are joined, as it wants them back."""
    last = details[-1] if details else {}
    if not piece:
        return
    if last.get("type") != piece.get("type") or last.get("index") != piece.get("index"):
        details.append(dict(piece))
        return
    for name, value in piece.items():
        grows = name in ("text", "summary") and isinstance(value, str) and isinstance(last.get(name), str)
        last[name] = last[name] + value if grows else (last.get(name) if value is None else value)
