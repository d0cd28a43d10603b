"""The tools of a workspace, in the order in which the model sees them."""

from __future__ import annotations

from bot.toolhost.specs import SPECS as TOOL_SPECS

__all__ = ["TOOL_SPECS"]
