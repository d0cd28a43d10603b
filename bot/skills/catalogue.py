"""What the model sees of all skills from the start: a short line each, by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from bot.skills.skill import Skill

LONGEST = 60
"""Characters of a description that are shown: its first sentence, since what follows mostly says when to use it."""

MAX_CHARACTERS = 4_000
"""Of all descriptions together. Beyond that each is cut to an equal share."""

_SHORTEST = 20
_SENTENCE = re.compile(r"(?<=[.!?])\s(?=[A-Z])")


def catalogue(skills: Sequence[Skill]) -> str:
    """The same skills give the same text, in any order."""
    longest = max(min(LONGEST, MAX_CHARACTERS // max(len(skills), 1)), _SHORTEST)
    ordered = sorted(skills, key=lambda skill: skill.name)
    return "\n".join(f"- {skill.name}: {_shown(skill.description, longest)}" for skill in ordered)


def _shown(description: str, longest: int) -> str:
    sentence = _SENTENCE.split(description, maxsplit=1)[0]
    shown = sentence if len(sentence) <= longest else f"{sentence[: longest - 1].rstrip()}…"
    return escape(shown, quote=False)  # a description cannot open or close a tag
