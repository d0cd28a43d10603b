"""What the model sees of all skills from the start: the names, and a short line for each of the repository's own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from bot.skills.skill import Skill

LONGEST = 60
"""Characters of a description that are shown: its first sentence, since what follows mostly says when to use it."""

MAX_CHARACTERS = 300
"""Of all descriptions together, since they are sent with every request. Beyond that each is cut to an equal share, or
left out if little would be left of it."""

_SHORTEST = 20
_SENTENCE = re.compile(r"(?<=[.!?])\s(?=[A-Z])")


def catalogue(skills: Sequence[Skill]) -> str:
    """The same skills give the same text, in any order."""
    own = sorted((skill for skill in skills if skill.origin == "repository"), key=lambda skill: skill.name)
    longest = min(LONGEST, MAX_CHARACTERS // max(len(own), 1))
    described = own if longest >= _SHORTEST else []
    lines = [f"- {skill.name}: {_excerpt(skill.description, longest)}" for skill in described]
    names = sorted(skill.name for skill in skills if skill not in described)
    return "\n".join([*lines, *([f"- {', '.join(names)}"] if names else [])])


def _excerpt(description: str, longest: int) -> str:
    sentence = _SENTENCE.split(description, maxsplit=1)[0]
    shown = sentence if len(sentence) <= longest else f"{sentence[: longest - 1].rstrip()}…"
    return escape(shown, quote=False)  # a description cannot open or close a tag
