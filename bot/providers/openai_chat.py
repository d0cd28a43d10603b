"""Chat Completions (OpenAI, self-hosted servers, OpenRouter, Azure's `/openai/v1`): requests for the `openai` package,
and the reader that collects chunks."""

import json
import re
from typing import Any

import openai.resources.chat.completions  # noqa: F401 - else the first request waits for it

from bot.contracts.messages import Message, Thinking, ToolCall, ToolResult
from bot.contracts.model import Complete, ModelRequest
from bot.providers.assembly import Block, Reader
from bot.providers.encoding import (
    JsonObject,
    dumps_or_empty,
    entries,
    field,
    filter_words,
    fitting_id,
    mapping,
    result_text,
    sendable_arguments,
    string,
)
from bot.providers.failures import StreamError, reported_error
from bot.providers.models import effort_of
from bot.providers.openai_provider import OpenAIProvider, openai_choice, openai_tool, openai_usage

_ID = re.compile(r"[\x21-\x7e]{1,40}")


REASONING = ("reasoning_content", "reasoning", "reasoning_text")
# The server has no room now.
_BUSY = frozenset({"insufficient_system_resource", "overloaded", "error"})


class ChatReader(Reader):
    """A call is known by its id first, then by its `index`."""

    def end(self) -> Complete | None:
        # Not when the reason comes: some servers send it beside reasoning, before a call.
        for call in self.calls if self.finish else ():
            call.ended = True
        return super().end()

    def read(self, event: Any) -> None:
        self.usage = openai_usage(field(event, "usage"), self.usage, "prompt", "completion")
        choices = entries(event, "choices")
        if not choices:
            if error := reported_error(event):
                raise StreamError(error)
            return
        if error := field(choices[0], "error"):
            raise StreamError(error)
        self._delta(field(choices[0], "delta"))
        self.refusal = filter_words(field(choices[0], "content_filter_results")) or self.refusal
        finish = string(choices[0], "finish_reason")
        if finish in _BUSY:
            raise StreamError({"type": "overloaded_error", "message": f"the answer ended with {finish!r}"})
        self.finish = self.finish or finish

    def _delta(self, delta: Any) -> None:
        content, thoughts = _content(field(delta, "content"))
        # Some servers send the same reasoning under two names: the first that says something counts.
        name, reasoning = next(
            ((name, text) for name in REASONING if (text := string(delta, name))), ("", thoughts)
        )
        details = entries(delta, "reasoning_details")
        if reasoning or details:
            thinking = self.last("thinking")
            if name:
                thinking.extra["field"] = name
            self.append(thinking, reasoning)
            for detail in details:
                self.grow(len(dumps_or_empty(detail)))
                _add_detail(thinking.extra.setdefault("reasoning_details", []), mapping(detail))
        refusal = string(delta, "refusal")
        self.said_refusal += refusal
        if text := content + refusal:
            self.append(self.last("text"), text)
        for piece in entries(delta, "tool_calls"):
            self._call(piece)

    def _call(self, piece: Any) -> None:
        id, name = string(piece, "id"), string(piece, "function", "name")
        index = field(piece, "index")
        key = str(index) if isinstance(index, int | str) else ""
        call = self._known(key, id, name)
        if call is None:
            call = self.add(Block("call", id, name))
        self.open[key] = call
        content = mapping(field(piece, "extra_content"))
        if content and (text := dumps_or_empty(content)):
            # Gemini's signature, without which it refuses its own call.
            self.grow(len(text))
            call.extra["extra_content"] = content
        arguments = field(piece, "function", "arguments")
        if not isinstance(arguments, str | None):  # some servers send the parsed value
            arguments = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
        self.append(call, arguments or "")

    def _known(self, index: str, id: str, name: str) -> Block | None:
        """Return the call that a piece continues, or `None` if it starts one.

        Some servers repeat id and name on every piece, some leave out the index, some count every call as 0: an id
        decides first, and with a name a new one starts a call. Without an id, a name starts a call if the arguments
        of the one with that index are complete.
        """
        calls = self.calls
        same = next((call for call in calls if id and call.id == id), None)
        if same is not None or (id and name):
            return same
        call = self.open.get(index, calls[-1] if calls and not index else None)
        return None if call and name and (not index or call.is_whole) else call


def _content(content: Any) -> tuple[str, str]:
    """Return the text and the thinking of a delta's content: some servers send a list of typed pieces."""
    if not isinstance(content, list):
        return string(content), ""
    text = "".join(string(piece) or string(piece, "text") for piece in content)
    inner = [field(piece, "thinking") for piece in content]
    return text, "".join(_content(piece)[0] for piece in inner)


def _add_detail(details: list[JsonObject], piece: JsonObject) -> None:
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


class OpenAIChat(OpenAIProvider):
    """Chat Completions through the `openai` package."""

    format = "chat"
    reader = ChatReader

    def send(self, params: JsonObject) -> Any:
        return self.client.chat.completions.create(
            model=self.info.name, messages=[], stream=True, extra_body=params
        )

    def params(self, request: ModelRequest) -> JsonObject:
        params: JsonObject = {"stream_options": {"include_usage": True}}
        if request.session and self.endpoint.is_openai:
            # Other servers refuse what they do not know.
            params["prompt_cache_key"] = request.session
        if request.max_output:
            # The newer name, which OpenAI insists on; others know the older one only.
            name = "max_completion_tokens" if self.endpoint.is_openai else "max_tokens"
            params[name] = request.max_output
        if effort := effort_of(self.info, request.effort):
            params["reasoning_effort"] = effort
        if request.tools:
            params["tools"] = [{"type": "function", "function": openai_tool(spec)} for spec in request.tools]
            if self.endpoint.vendor.asks_parallel:
                params["parallel_tool_calls"] = True
        choice = openai_choice(request, self.info, nested=True, takes_named=self.endpoint.vendor.named_choice)
        if choice is not None:
            params["tool_choice"] = choice
        messages: list[JsonObject] = []
        if request.system.strip():
            messages.append({"role": "system", "content": request.system})
        for rows in map(self._message, request.messages):
            messages += rows
        return {**params, "messages": messages}

    def _message(self, message: Message) -> list[JsonObject]:
        """Return the messages of the format: one, or one for each result; empty if nothing is left."""
        if message.role == "assistant":
            return self._assistant(message)
        rows: list[JsonObject] = [
            {"role": "tool", "tool_call_id": fitting_id(part.call_id, _ID), "content": result_text(part)}
            for part in message.parts
            if isinstance(part, ToolResult)
        ]
        # One user message: a string if it is only text, which every server accepts.
        content = self.content(message, "text", lambda url: {"type": "image_url", "image_url": {"url": url}})
        if not content:
            return rows
        if all(item["type"] == "text" for item in content):
            return [*rows, {"role": "user", "content": "\n\n".join(item["text"] for item in content)}]
        return [*rows, {"role": "user", "content": content}]

    def _assistant(self, message: Message) -> list[JsonObject]:
        text = message.text
        own = self.wrote(message)
        calls = [_call(part, own=own) for part in message.calls]
        if not calls and not text.strip():
            return []
        signature = self.endpoint.vendor.call_signature
        if self.info.name.startswith(("gemini-1", "gemini-2")):
            signature = ""
        if calls and signature and not any("extra_content" in call for call in calls):
            calls[0]["extra_content"] = {"google": {"thought_signature": signature}}
        row: JsonObject = {"role": "assistant", "content": text or None}
        for part in message.parts:
            if isinstance(part, Thinking) and own:
                if details := part.extra.get("reasoning_details"):
                    row.setdefault("reasoning_details", []).extend(details)
                elif self.endpoint.vendor.returns_reasoning and (name := part.extra.get("field")):
                    row[name] = row.get(name, "") + part.text
        if calls:
            row["tool_calls"] = calls
        return [row]


def _call(call: ToolCall, *, own: bool) -> JsonObject:
    function = {"name": call.name, "arguments": sendable_arguments(call.arguments)}
    row = {"id": fitting_id(call.id, _ID), "type": "function", "function": function}
    return {**row, **call.extra} if own else row
