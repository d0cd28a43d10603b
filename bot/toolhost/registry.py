"""The function of each tool.

To add a tool, describe it in `tool_descriptions.py`, write a module in `tools/` with `run`, and add it here. Then say
which runs get it (`bot/session/context/profiles.py`) and how path rules call it (`bot/policy/rule.py`). A name has a
`_` only if the part before it is the tool whose group it belongs to (`bash_output`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.toolhost import tool_descriptions
from bot.toolhost.context import Context
from bot.toolhost.tools import bash

Run = Callable[[Mapping[str, Any], Context], ToolOutcome]


def imported_at_first_call(module: str, function: str = "run") -> Run:
    """`function` of `tools/<module>.py`. At its start a workspace for checks needs `bash` alone; the others take a
    third of the start."""

    def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
        tool: Run = getattr(import_tool(module), function)
        return tool(arguments, context)

    return run


def import_tool(module: str) -> ModuleType:
    """Import `tools/<module>.py`."""
    return importlib.import_module(f"bot.toolhost.tools.{module}")


def import_tools_of_models() -> None:
    """Import what a model calls, so that its first call does not wait for it."""
    for module in ("view", "ls", "glob", "grep", "edit", "write", "patch", "bash_output"):
        import_tool(module)


RUN: Mapping[str, Run] = {
    tool_descriptions.VIEW.name: imported_at_first_call("view"),
    tool_descriptions.LS.name: imported_at_first_call("ls"),
    tool_descriptions.GLOB.name: imported_at_first_call("glob"),
    tool_descriptions.GREP.name: imported_at_first_call("grep"),
    tool_descriptions.EDIT.name: imported_at_first_call("edit"),
    tool_descriptions.WRITE.name: imported_at_first_call("write"),
    tool_descriptions.PATCH.name: imported_at_first_call("patch"),
    tool_descriptions.BASH.name: bash.run,
    tool_descriptions.BASH_OUTPUT.name: imported_at_first_call("bash_output"),
    tool_descriptions.BASH_KILL.name: imported_at_first_call("bash_output", "run_kill"),
    # The supervisor's own: no description of them is shown to a model.
    **{
        name: imported_at_first_call(name)
        for name in (
            "check_reports",
            "new_errors",
            "problems_of",
            "related_tests",
            "restore",
            "try_suggestion",
        )
    },
}
