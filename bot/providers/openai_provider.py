"""What the two formats of the `openai` package have in common."""

import base64
from collections.abc import Callable
from typing import Any

from openai import OpenAI

from bot.contracts.messages import Image, Message, Text, Usage
from bot.contracts.model import ModelInfo, ModelRequest
from bot.contracts.tools import ToolSpec
from bot.providers.encoding import JsonObject, count, field, image_note
from bot.providers.endpoint import Endpoint
from bot.providers.streaming import StreamingProvider


class OpenAIProvider(StreamingProvider):
    """The package's client."""

    # Longer than for the Messages API: there are no pings here, and a model that reasons is silent meanwhile.
    idle = 300.0

    def __init__(self, endpoint: Endpoint, info: ModelInfo) -> None:
        super().__init__(endpoint, info, OpenAI)

    def content(self, message: Message, kind: str, picture: Callable[[str], JsonObject]) -> list[Any]:
        """Return the user's texts and pictures. `kind` is the format's for a text, `picture` makes one of its URL."""
        content: list[Any] = []
        for part in message.parts:
            if isinstance(part, Image) and self.info.vision:
                data = base64.b64encode(part.data).decode()
                content.append(picture(f"data:{part.media_type};base64,{data}"))
            elif isinstance(part, Image):
                content.append({"type": kind, "text": image_note(part)})
            elif isinstance(part, Text) and part.text.strip():
                content.append({"type": kind, "text": part.text})
        return content


def openai_usage(usage: Any, old: Usage, prompt: str, answer: str) -> Usage:
    """Return the tokens of a response, by the format's names for its prompt, which includes cached tokens, and its
    answer, which includes the reasoning. A field that a later event leaves out keeps its value."""
    details = field(usage, f"{prompt}_tokens_details")
    read = count(field(details, "cached_tokens"), old.cache_read)
    written = count(field(details, "cache_write_tokens"), old.cache_write)
    whole = count(field(usage, f"{prompt}_tokens"), old.input + old.cache_read + old.cache_write)
    reasoning = count(field(usage, f"{answer}_tokens_details", "reasoning_tokens"), old.reasoning)
    output = count(field(usage, f"{answer}_tokens"), old.output)
    return Usage(max(0, whole - read - written), read, written, output, reasoning)


def openai_tool(spec: ToolSpec) -> JsonObject:
    """Return the description of a tool's function."""
    return {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}


def openai_choice(request: ModelRequest, info: ModelInfo, *, nested: bool, takes_named: bool = True) -> Any:
    """Return `tool_choice` for a model, `None` for the default. `nested` is the form of Chat Completions. What
    a vendor does not support is left to the dispatch. The Messages API gets none."""
    if not request.tools:
        return None
    names = None
    if request.allowed is not None:
        names = tuple(spec.name for spec in request.tools if spec.name in request.allowed)
    if names == ():
        return "none"
    required = request.required and info.forced_choice

    def tool(name: str) -> JsonObject:
        return (
            {"type": "function", "function": {"name": name}} if nested else {"type": "function", "name": name}
        )

    if names is not None and required and len(names) == 1 and takes_named:
        return tool(names[0])
    if names is not None and info.allowed_tools:
        choice = {"mode": "required" if required else "auto", "tools": [tool(name) for name in names]}
        return {"type": "allowed_tools", **({"allowed_tools": choice} if nested else choice)}
    return "required" if required else None
