"""`tool_choice` for OpenAI's formats.

The Messages API gets none: `bot/providers/anthropic_messages.py` (`encode`) says why.
"""

from __future__ import annotations

from typing import Any

from bot.contracts.model import ModelInfo, ModelRequest


def allowed_names(request: ModelRequest) -> tuple[str, ...] | None:
    """Return the existing tools that are allowed, in the order of the tools; `None` if all are allowed."""
    if request.allowed is None:
        return None
    allowed = frozenset(request.allowed)
    return tuple(spec.name for spec in request.tools if spec.name in allowed)


def openai_choice(request: ModelRequest, info: ModelInfo, *, nested: bool, takes_named: bool = True) -> Any:
    """Return `tool_choice` for a model, `None` for the default. `nested` is the form of Chat Completions. What
    a vendor does not support is left to the dispatch."""
    if not request.tools:
        return None
    names = allowed_names(request)
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
