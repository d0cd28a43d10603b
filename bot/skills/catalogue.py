"""What the model sees of all skills from the start: name and description, sorted, escaped, and never too long."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bot.skills.skill import Skill

MAX_CHARACTERS = 4_000
"""Of all descriptions together, about 1,000 tokens. Beyond that each is cut to an equal share."""

_SHORTEST = 40


def catalogue(skills: Sequence[Skill]) -> str:
    """One line a skill, by name. The same skills give the same text."""
    ordered = sorted(skills, key=lambda skill: skill.name)
    share = _share([len(skill.description) for skill in ordered])
    return "\n".join(_line(skill, share) for skill in ordered)


def _line(skill: Skill, share: int) -> str:
    shown = skill.description
    if len(shown) > share:
        shown = shown[: share - 1].rstrip() + "…"
    return f'<skill name="{escape(skill.name)}">{escape(shown, quote=False)}</skill>'


def _share(lengths: Sequence[int]) -> int:
    """The longest that a description may be for all of them to fit; what short ones leave goes to the others."""
    room, share = MAX_CHARACTERS, 0
    for position, length in enumerate(sorted(lengths)):
        share = room // (len(lengths) - position)
        if length > share:
            return max(share, _SHORTEST)
        room -= length
    return max(lengths, default=0)
