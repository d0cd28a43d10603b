"""Whether a suggestion may be posted: it is applied as it stands, so it is held back whole and never rewritten."""

from __future__ import annotations

import unicodedata

from bot.gate.rules import refusal, withholding
from bot.gate.text import withhold_if_secret

_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def held_back(path: str, text: str, suggestion: str) -> str:
    """Why a suggestion may not be posted, as a clause; empty where it may. A click makes a commit of it."""
    if reason := refusal(path):
        return f"the path {reason}"
    if reason := withholding(path):
        return reason
    if withhold_if_secret(suggestion):
        return "it holds what looks like a credential"
    if _hidden(suggestion) - _hidden(text):
        return "it would bring in characters that do not show"
    return ""


def _hidden(text: str) -> frozenset[str]:
    return frozenset(c for c in text if unicodedata.category(c) in _INVISIBLE and c not in "\n\t\r")
