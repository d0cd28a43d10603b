"""What the two formats of the `openai` package have in common."""

from typing import Any

from openai import OpenAI

from bot.contracts.model import ModelInfo, ModelRequest
from bot.providers.encoding import clean
from bot.providers.streaming import StreamingProvider


class OpenAIProvider(StreamingProvider):
    """The package's client."""

    # Longer than for the Messages API: there are no pings here, and a model that reasons is silent meanwhile.
    idle = 300.0

    def open(self, options: dict[str, Any]) -> OpenAI:
        return OpenAI(**options)


def refusal_words(refusal: str) -> str:
    """Return a model's own refusal as a clause for people; empty for none."""
    return f"it says: {clean(' '.join(refusal.split())[:300])}" if refusal else ""


def openai_choice(request: ModelRequest, info: ModelInfo, *, nested: bool, takes_named: bool = True) -> Any:
    """Return `tool_choice` for a model, `None` for the default. `nested` is the form of Chat Completions. What
    a vendor does not support is left to the dispatch. The Messages API gets none."""
    if not request.tools:
        return None
    names = None
    if request.allowed is not None:
        names = tuple(spec.name for spec in request.tools if spec.name in request.allowed)
    if request.tool_choice == "none" or names == ():
        return "none"
    required = request.tool_choice == "required" and info.forced_choice

    def tool(name: str) -> dict[str, Any]:
        return (
            {"type": "function", "function": {"name": name}} if nested else {"type": "function", "name": name}
        )

    if names is not None and required and len(names) == 1 and takes_named:
        return tool(names[0])
    if names is not None and info.allowed_tools:
        choice = {"mode": "required" if required else "auto", "tools": [tool(name) for name in names]}
        return {"type": "allowed_tools", **({"allowed_tools": choice} if nested else choice)}
    return "required" if required else None
