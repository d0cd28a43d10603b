"""The Messages API (Anthropic and compatible servers): requests for the `anthropic` package, and the reader that
collects its events."""

import base64
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import anthropic.resources.messages  # noqa: F401 - else the first request waits for it
from anthropic import Anthropic, AnthropicBedrock, AnthropicVertex

from bot.contracts.messages import Image, Part, Text, Thinking, ToolCall, ToolResult, Usage
from bot.contracts.model import Complete, ModelInfo, ModelRequest
from bot.contracts.tools import ToolSpec
from bot.providers.assembly import Block, Reader
from bot.providers.encoding import (
    JsonObject,
    argument_object,
    clean,
    clean_tree,
    count,
    dumps,
    dumps_or_empty,
    field,
    fitting_id,
    image_note,
    string,
)
from bot.providers.endpoint import Endpoint
from bot.providers.failures import StreamError
from bot.providers.models import effort_of
from bot.providers.streaming import StreamingProvider

Client = Anthropic | AnthropicBedrock | AnthropicVertex

_MARK = {"type": "ephemeral"}
_HOUR_MARK = {"type": "ephemeral", "ttl": "1h"}
# In tokens, for models that want a number; the API's least is 1,024.
_BUDGET = 16_384
_MIN_BUDGET = 1_024
# One is on the end of the system text; the API takes four.
_MESSAGE_MARKS = 3


class MessagesReader(Reader):
    """Blocks are identified by `index`; several may be open."""

    def end(self) -> Complete | None:
        for call in self.calls if self.finish else ():  # some servers end no block
            self._end(call)
        return super().end()

    def read(self, event: Any) -> None:
        index = field(event, "index")
        block = self.open.get(index) if isinstance(index, int) else None
        match field(event, "type"):
            case "content_block_delta" if block:
                self._delta(block, field(event, "delta"))
            case "content_block_start" if isinstance(index, int):
                self._start(index, field(event, "content_block"))
            case "content_block_stop" if block:
                self._end(block)
            case "message_start":
                self._count(field(event, "message", "usage"))
            case "message_delta":
                self._count(field(event, "usage"))
                self.finish = string(event, "delta", "stop_reason") or self.finish
                self.refusal = _refusal(field(event, "delta", "stop_details")) or self.refusal
            case "error":
                raise StreamError(field(event, "error") or event)

    def _start(self, index: int, content: Any) -> None:
        text = ""
        match field(content, "type"):
            case "text":
                block, text = Block("text"), string(content, "text")
            case "thinking":
                block = Block("thinking", signature=string(content, "signature"))
                text = string(content, "thinking")
            case "redacted_thinking":
                block = Block("thinking", redacted=string(content, "data"))
            case "tool_use":
                block = Block("call", string(content, "id"), string(content, "name"))
                block.input = field(content, "input")
            case _:
                return
        self.open[index] = self.add(block)
        self.append(block, text)

    def _delta(self, block: Block, delta: Any) -> None:
        name = {"text": "text", "call": "partial_json", "thinking": "thinking"}[block.kind]
        self.append(block, string(delta, name))
        if block.kind == "thinking":
            signature = string(delta, "signature")
            self.grow(len(signature))
            block.signature += signature

    def _end(self, block: Block) -> None:
        if block.input and isinstance(block.input, dict) and not block.pieces:
            self.append(block, dumps_or_empty(block.input))
        block.ended = True

    def _count(self, usage: Any) -> None:
        """Later figures replace earlier ones; a missing field keeps its value."""
        old = self.usage
        self.usage = Usage(
            count(field(usage, "input_tokens"), old.input),
            count(field(usage, "cache_read_input_tokens"), old.cache_read),
            count(field(usage, "cache_creation_input_tokens"), old.cache_write),
            count(field(usage, "output_tokens"), old.output),
            count(field(usage, "output_tokens_details", "thinking_tokens"), old.reasoning),
            count(field(usage, "cache_creation", "ephemeral_1h_input_tokens"), old.hour_write),
        )


_CATEGORIES = {
    "cyber": "it could help with attacks on computers; harmless security work may be taken for that",
    "bio": "it could help to do biological harm; harmless life science may be taken for that",
    "frontier_llm": "it could help to develop competing models; harmless machine learning may be taken for that",
    "reasoning_extraction": "it asks the model to repeat its reasoning in the answer",
    "general_harms": "it touches an area that the vendor counts as harmful; harmless work may be taken for that",
}


def _refusal(details: Any) -> str:
    """Return a clause for people with the category of a refusal, and the vendor's own words."""
    category = " ".join(string(details, "category").split())[:60]
    explanation = clean(" ".join(string(details, "explanation").split())[:300])
    named = f"category {clean(category)!r}" if category else ""
    meaning = _CATEGORIES.get(category, "")
    return "; ".join(filter(None, (named, meaning, explanation and f"the vendor says: {explanation}")))


class AnthropicMessages(StreamingProvider):
    """The Messages API through the `anthropic` package."""

    format = "messages"
    reader = MessagesReader
    idle = 90.0

    def __init__(
        self, endpoint: Endpoint, info: ModelInfo, client: Callable[..., Client] = Anthropic
    ) -> None:
        super().__init__(endpoint, info, partial(client, open_telemetry=False))

    def send(self, params: JsonObject) -> Any:
        limit = params["max_tokens"]
        return self.client.messages.create(
            model=self.info.name, max_tokens=limit, messages=[], stream=True, extra_body=params
        )

    def params(self, request: ModelRequest) -> JsonObject:
        """There is never a `tool_choice`: a changed one invalidates the cached messages. There is no list of allowed
        tools either, and models that think refuse to be forced. The dispatch refuses other calls.
        """
        max_tokens = min(request.max_output or self.info.max_output, self.info.max_output)
        params: JsonObject = {"max_tokens": max_tokens}
        # All of them: a mark must not last longer than one before it.
        mark = _HOUR_MARK if request.long_cache and self.info.hour_cache else _MARK
        messages = self._messages(request, mark)
        thinking = _thinking(self.info, max_tokens, messages)
        if thinking is not None:
            params["thinking"] = thinking
        if effort := effort_of(self.info, request.effort):
            params["output_config"] = {"effort": effort}
        if request.tools:
            params["tools"] = [self._tool(spec) for spec in request.tools]
        if request.system.strip():
            params["system"] = [{"type": "text", "text": request.system, "cache_control": mark}]
        return {**params, "messages": messages}

    def _messages(self, request: ModelRequest, mark: Mapping[str, str]) -> list[JsonObject]:
        """Return the messages, without empty ones, neighbours of one role merged, with cache marks at the end."""
        merged: list[JsonObject] = []
        for message in request.messages:
            role = "assistant" if message.role == "assistant" else "user"
            own = self.wrote(message)
            parts = (part for part in message.parts if own or not isinstance(part, Thinking))
            blocks = [block for part in parts if (block := self._block(part)) is not None]
            if role == "assistant" and blocks and blocks[-1]["type"] == "text":
                blocks[-1]["text"] = blocks[-1]["text"].rstrip()  # the API refuses trailing white space
            if blocks and merged and merged[-1]["role"] == role:
                merged[-1]["content"] += blocks
            elif blocks:
                merged.append({"role": role, "content": blocks})
        # The newest message, and those marked before: a lookup walks back 20 blocks at most, and one turn with
        # ten parallel calls has more. The third is for a request that failed before anything of it was kept.
        users = (row for row in reversed(merged) if row["role"] == "user")
        for row in islice(users, _MESSAGE_MARKS):
            row["content"][-1] = {**row["content"][-1], "cache_control": mark}
        return merged

    def _tool(self, spec: ToolSpec) -> JsonObject:
        tool = {"name": spec.name, "description": spec.description, "input_schema": dict(spec.parameters)}
        return {**tool, "eager_input_streaming": True} if self.info.streams_tools else tool

    def _block(self, part: Part) -> JsonObject | None:
        """Return a content block, or `None` for what the API refuses: blank text, thinking without its
        signature."""
        if isinstance(part, Text):
            return {"type": "text", "text": part.text} if part.text.strip() else None
        if isinstance(part, Thinking):
            if part.redacted is not None:
                return {"type": "redacted_thinking", "data": part.redacted}
            own = {"type": "thinking", "thinking": part.text, "signature": part.signature}
            return None if part.signature is None else own
        if isinstance(part, Image):
            return self._image(part)
        if isinstance(part, ToolCall):
            return {
                "type": "tool_use",
                "id": fitting_id(part.id),
                "name": part.name,
                "input": _input(part.arguments),
            }
        return self._result(part)

    def _image(self, image: Image) -> JsonObject:
        if not self.info.vision:
            return {"type": "text", "text": image_note(image)}
        data = base64.b64encode(image.data).decode()
        source = {"type": "base64", "media_type": image.media_type, "data": data}
        return {"type": "image", "source": source}

    def _result(self, part: ToolResult) -> JsonObject:
        # Never empty: the block may get a cache mark, which empty ones must not have.
        content = part.content if part.content.strip() else "(no output)"
        block = {"type": "tool_result", "tool_use_id": fitting_id(part.call_id), "content": content}
        return {**block, "is_error": True} if part.is_error else block


def _thinking(info: ModelInfo, max_tokens: int, messages: Sequence[JsonObject]) -> JsonObject | None:
    """Return the thinking parameter. The text is requested as a summary: the newest models leave it out
    otherwise. A budget is refused after calls without thinking, which another model wrote."""
    if info.thinking == "adaptive":
        return {"type": "adaptive", "display": "summarized"}
    budget = min(_BUDGET, max_tokens // 2)
    answers = (message["content"] for message in reversed(messages) if message["role"] == "assistant")
    kinds = [block["type"] for block in next(answers, ())]
    called_without = "tool_use" in kinds and kinds[0] not in ("thinking", "redacted_thinking")
    if info.thinking == "budget" and budget >= _MIN_BUDGET and not called_without:
        return {"type": "enabled", "budget_tokens": budget}
    return None


def _input(raw: str) -> JsonObject:
    """Return the arguments as an object. Invalid ones go under a key of their own, so that call and result stay
    a pair and the model sees what it wrote."""
    value = argument_object(raw)
    try:
        # A number beyond floating point is valid for the parser, not for the wire. Nested as deep as in the request.
        dumps(clean_tree([[[[value]]]]))
    except (ValueError, RecursionError):
        value = None
    return {"INVALID_JSON": raw} if value is None else value
