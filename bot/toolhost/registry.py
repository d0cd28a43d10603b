"""The function of each tool: `run` of `tools/NAME.py`. `bot/contracts/workspace_tools.py` has the recipe."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.contracts.workspace_tools import TOOL_SPECS
from bot.toolhost.context import Context

Run = Callable[[Mapping[str, Any], Context], ToolOutcome]

_SUPERVISOR_TOOLS = (
    "check_reports",
    "problems_of",
    "related_tests",
    "try_suggestion",
)
"""Called by the supervisor: no description of them is shown to a model."""


def import_tool(name: str) -> ModuleType:
    return importlib.import_module(f"bot.toolhost.tools.{name}")


def import_tools_of_models() -> None:
    """Import what a model calls, so that its first call does not wait for it."""
    for spec in TOOL_SPECS:
        import_tool(spec.name)


def _imported_at_first_call(name: str) -> Run:
    """At its start a workspace for checks needs `bash` alone; the others take a third of the start."""

    def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
        tool: Run = import_tool(name).run
        return tool(arguments, context)

    return run


RUN: Mapping[str, Run] = {
    name: _imported_at_first_call(name) for name in (*(spec.name for spec in TOOL_SPECS), *_SUPERVISOR_TOOLS)
}
