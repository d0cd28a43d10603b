"""Which tools may be called now, as each vendor can be told; what it cannot be told is left to the dispatch."""

from __future__ import annotations

from typing import Any

from bot.contracts.model import ModelRequest


def allowed_names(request: ModelRequest) -> tuple[str, ...] | None:
    """The names that are both allowed and there, in the order of the tools; `None` where all are allowed."""
    if request.allowed is None:
        return None
    wanted = frozenset(request.allowed)
    return tuple(spec.name for spec in request.tools if spec.name in wanted)


def openai_choice(request: ModelRequest, *, takes_allowed: bool, nested: bool) -> Any:
    """`tool_choice` for OpenAI's formats, `None` for the default. `nested` is how Chat Completions names a tool."""
    if not request.tools:
        return None
    names = allowed_names(request)
    if request.tool_choice == "none" or names == ():
        return "none"

    def tool(name: str) -> dict[str, Any]:
        return (
            {"type": "function", "function": {"name": name}} if nested else {"type": "function", "name": name}
        )

    if names is not None and request.tool_choice == "required" and len(names) == 1:
        return tool(names[0])
    if names is not None and takes_allowed:
        listed = {"mode": request.tool_choice, "tools": [tool(name) for name in names]}
        return {"type": "allowed_tools", **({"allowed_tools": listed} if nested else listed)}
    return "required" if request.tool_choice == "required" else None


def anthropic_choice(request: ModelRequest, *, forced: bool) -> dict[str, str] | None:
    """`tool_choice` for the Messages API, `None` for the default. It knows no list of allowed tools, and refuses
    to force a call while the model thinks: `forced` says whether it may be."""
    if not request.tools:
        return None
    names = allowed_names(request)
    if request.tool_choice == "none" or names == ():
        return {"type": "none"}
    if request.tool_choice != "required" or not forced:
        return None
    if names is not None and len(names) == 1:
        return {"type": "tool", "name": names[0]}
    return {"type": "any"}
