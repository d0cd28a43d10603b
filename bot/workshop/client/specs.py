"""The tools that a workshop offers, in the order in which the model sees them. Nothing of them runs here."""

from __future__ import annotations

from bot.workshop.host.specs import SPECS as TOOL_SPECS

__all__ = ["TOOL_SPECS"]
