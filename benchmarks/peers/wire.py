"""One scripted model in every wire format that the peers speak: a command a turn through the agent's own shell tool.

Which shell tool and how to call it is read from the request itself, so that a new version of a peer mostly works
as the old one did.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.model_script import Call, Raw, Say, ScriptRequest, Step

_SHELLS = (
    "bash",
    "shell",
    "exec_command",
    "shell_command",
    "run_shell_command",
    "execute_command",
    "terminal",
)
_COMMANDS = ("command", "cmd", "script")
_JSON = "application/json"

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Conversation:
    """A model request as every format has it: the messages so far, what stands before them, and the tools."""

    messages: tuple[Any, ...]
    opening: Any
    tools: Mapping[str, Json]

    def continues(self, earlier: Conversation) -> bool:
        """Whether `earlier` is a prefix of this one, so that a model's cache of it can be used."""
        same = self.messages[: len(earlier.messages)] == earlier.messages
        return same and (self.opening, self.tools) == (earlier.opening, earlier.tools)


def conversation(path: str, body: Json) -> Conversation | None:
    """`None` for what is not a model request: a list of models, a count of tokens, telemetry."""
    path = path.split("?")[0]
    if path.endswith("/responses"):
        messages = body.get("input", [])
        return Conversation(_plain(messages), body.get("instructions"), _functions(body.get("tools", [])))
    if path.endswith(("/chat/completions", "/messages")):
        return Conversation(
            _plain(body.get("messages", [])), _bare(body.get("system")), _functions(body.get("tools", []))
        )
    if "generateContent" in path or "streamGenerateContent" in path:
        declared = [each for group in body.get("tools", []) for each in group.get("functionDeclarations", [])]
        opening = body.get("systemInstruction")
        return Conversation(_plain(body.get("contents", [])), opening, _functions(declared))
    return None


class Script:
    """Answers a shell command for each of `turns` requests that offer a shell, then a last word. `last` is a command
    that ends the session, for an agent that ends in no other way."""

    def __init__(self, turns: int, last: str = "") -> None:
        self._turns = turns
        self._last = last
        self._asked = 0

    def __call__(self, request: ScriptRequest) -> Step:
        parsed = conversation(request.path, request.body)
        if parsed is None:
            return Raw(b'{"data":[],"models":[],"totalTokens":1}', _JSON)
        shell = next((name for name in _SHELLS if name in parsed.tools), None)
        if shell is None:
            return answer(request, Say("Shapes"))
        number, self._asked = self._asked, self._asked + 1
        command = f"echo hi # {number}" if number < self._turns else self._last
        if number > self._turns or not command:
            return answer(request, Say("Done."))
        arguments = fill(parsed.tools[shell], command)
        return answer(request, Call(shell, arguments, id=f"call_{number}"))


def fill(schema: Json, command: str) -> dict[str, Any]:
    """Arguments for a shell tool: the command where it belongs, something harmless where more is required."""
    properties: Json = schema.get("properties", {})
    arguments: dict[str, Any] = {}
    for name in dict.fromkeys([*schema.get("required", []), *(n for n in _COMMANDS if n in properties)]):
        kind = str(properties.get(name, {}).get("type", "string")).lower()
        if name in _COMMANDS:
            arguments[name] = ["bash", "-c", command] if kind == "array" else command
        else:
            arguments[name] = {"integer": 1000, "number": 1000, "boolean": False, "array": []}.get(
                kind, "Say hi"
            )
    return arguments


def answer(request: ScriptRequest, *parts: Say | Call) -> Step:
    """The parts in the format of the request's path; only Messages and Chat Completions take more than one."""
    path = request.path.split("?")[0]
    if path.endswith("/messages") or (path.endswith("/chat/completions") and request.body.get("stream")):
        return parts
    if path.endswith("/chat/completions"):
        return Raw(json.dumps(_completion(parts, request.number)).encode(), _JSON)
    (part,) = parts
    if path.endswith("/responses"):
        return Raw(_responses(part, request.number))
    generated = json.dumps(_generated(part))
    if "streamGenerateContent" in path:
        return Raw(f"data: {generated}\n\n".encode())
    return Raw(generated.encode(), _JSON)


def _responses(part: Say | Call, number: int) -> bytes:
    """OpenAI's Responses API, streamed."""
    item: dict[str, Any]
    if isinstance(part, Call):
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": part.id}
        item |= {"name": part.name, "arguments": part.text}
    else:
        content = [{"type": "output_text", "text": part.text, "annotations": []}]
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 15,
    }
    answer = {"id": f"resp_{number}", "object": "response", "model": "scripted"}
    finished = {**answer, "status": "completed", "output": [item], "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**answer, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": finished},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def _completion(parts: Sequence[Say | Call], number: int) -> dict[str, Any]:
    """Chat Completions, in one piece."""
    texts = [part.text for part in parts if isinstance(part, Say)]
    message: dict[str, Any] = {"role": "assistant", "content": "".join(texts) or None}
    calls = [
        {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": part.text}}
        for part in parts
        if isinstance(part, Call)
    ]
    if calls:
        message["tool_calls"] = calls
    finish = "tool_calls" if calls else "stop"
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def _generated(part: Say | Call) -> dict[str, Any]:
    """Gemini's generateContent."""
    content: dict[str, Any] = {"text": part.text}
    if isinstance(part, Call):
        content = {"functionCall": {"name": part.name, "args": json.loads(part.text), "id": part.id}}
    return {
        "candidates": [
            {"content": {"role": "model", "parts": [content]}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": "scripted",
    }


def _functions(tools: Any) -> dict[str, Json]:
    """Name to parameter schema, of any of the formats."""
    parsed: dict[str, Json] = {}
    for tool in tools:
        function = tool.get("function", tool)
        schemas = ("parameters", "input_schema", "parametersJsonSchema")
        parsed[function.get("name", function.get("type", ""))] = next(
            (function[key] for key in schemas if key in function), {}
        )
    return parsed


def _plain(messages: Any) -> tuple[Any, ...]:
    return tuple(_bare(message) for message in messages) if isinstance(messages, list) else (messages,)


def _bare(value: Any) -> Any:
    """Without cache marks, which move along and are no part of the prefix; text is text, bare or in a block."""
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], dict) and value[0].get("type") == "text":
            return value[0].get("text")
        return [_bare(item) for item in value]
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items() if key != "cache_control"}
    return value
