"""Whether a suggestion may be posted: it is applied as it stands, so it is held back whole and never rewritten."""

from __future__ import annotations

from bot.gate.rules import protection, refusal
from bot.gate.text import withhold_if_secret
from bot.gate.unseen import brings_in_unseen
from bot.policy.protected import ProtectedFiles


def held_back(path: str, text: str, suggestion: str, protected: ProtectedFiles) -> str:
    """Why a suggestion may not be posted, as a clause; empty where it may. A click makes a commit of it."""
    if reason := refusal(path):
        return f"the path {reason}"
    if reason := protection(path, protected):
        return reason
    if withhold_if_secret(suggestion):
        return "it holds what looks like a credential"
    if brings_in_unseen(text, suggestion):
        return "it would bring in characters that do not show"
    return ""
