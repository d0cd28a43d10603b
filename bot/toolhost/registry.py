"""The function of each tool: `run` of `tools/NAME.py`. `bot/contracts/workspace_tools.py` has the recipe; what only the
supervisor calls is not described there."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.toolhost.context import Context

Run = Callable[[Mapping[str, Any], Context], ToolOutcome]


def tool(name: str) -> Run:
    """Its module is imported when it is first named."""
    run: Run = importlib.import_module(f"bot.toolhost.tools.{name}").run
    return run
