"""When a vendor ends a model, and what to use instead, as the vendors listed it in November 2026
(platform.claude.com/docs/en/about-claude/model-deprecations, developers.openai.com/api/docs/deprecations).

The dates hold for the vendors' own servers: clouds and other servers keep models for longer.
"""

import re
from datetime import date
from typing import NamedTuple

from bot.providers.models import listed_name


class End(NamedTuple):
    """`instead` is the model that replaces it, without the provider."""

    day: date
    instead: str


# By the name without a snapshot's date, from the most exact pattern on.
_ENDS = tuple(
    (re.compile(pattern), End(date.fromisoformat(day), instead))
    for pattern, day, instead in (
        ("claude-(1|2|instant).*", "2025-07-21", "claude-sonnet-5-5"),
        ("claude-3-opus", "2026-01-05", "claude-opus-5-5"),
        ("claude-3(-[57])?-sonnet", "2026-02-19", "claude-sonnet-5-5"),
        ("claude-3(-5)?-haiku", "2026-04-20", "claude-haiku-5-5"),
        ("claude-opus-4(-0)?", "2026-06-15", "claude-opus-5-5"),
        ("claude-sonnet-4(-0)?", "2026-06-15", "claude-sonnet-5-5"),
        ("claude-mythos-preview", "2026-06-30", "claude-mythos-5-2"),
        ("claude-opus-4-1", "2026-08-05", "claude-opus-5-5"),
        ("claude-sonnet-4-5", "2026-11-30", "claude-sonnet-5-5"),
        ("claude-opus-4-5", "2027-01-22", "claude-opus-5-5"),
        ("gpt-3\\.5-.*", "2026-10-23", "gpt-6.1-terra"),
        ("gpt-4-32k.*|gpt-4-vision-preview", "2025-06-06", "gpt-6.2-sol"),
        ("gpt-4(-.*)?|gpt-4o-2024-05-13", "2026-10-23", "gpt-6.2-sol"),
        ("chatgpt-4o", "2026-02-17", "gpt-6.2-sol"),
        ("gpt-4o-(mini-)?audio-preview", "2026-05-07", "gpt-6.2-sol"),
        ("gpt-4o-(mini-)?search-preview", "2026-07-23", "gpt-6.2-sol"),
        ("gpt-4\\.1-nano", "2026-10-23", "gpt-6-luna"),
        ("gpt-4\\.1(-mini)?|gpt-4o(-mini)?", "2027-01-14", "gpt-6-luna"),
        ("gpt-5(\\.1)?-(chat|codex)", "2026-07-23", "gpt-6.2-sol"),
        ("gpt-5\\.[23]-chat", "2026-08-10", "gpt-6.2-sol"),
        ("gpt-5(-pro)?|o3(-pro)?", "2026-12-11", "gpt-6.1-sol"),
        ("gpt-5-mini", "2026-12-11", "gpt-6.1-terra"),
        ("gpt-5-nano", "2026-12-11", "gpt-6-luna"),
        ("gpt-5\\.1", "2027-04-01", "gpt-6.1-sol"),
        ("gpt-5\\.4-nano", "2027-04-01", "gpt-6-luna"),
        ("o1-preview", "2025-07-28", "gpt-6.2-sol"),
        ("o1-mini", "2025-10-27", "gpt-6.1-terra"),
        ("o1(-pro)?|o3-mini", "2026-10-23", "gpt-6.2-sol"),
        ("o4-mini", "2026-10-23", "gpt-6.1-terra"),
        ("codex-mini", "2026-02-12", "gpt-6.2-sol"),
    )
)

CLOSED_PROVIDERS = {
    "github": "GitHub Models was closed on 2026-07-30. Use anthropic/, openai/, azure/, openrouter/ or gemini/ with "
    "the key of that provider."
}


def end_of(name: str) -> End | None:
    """Return when the vendor ends the model, and `None` if it has announced no date."""
    for candidate in (name.rpartition("/")[2], listed_name(name)):
        for pattern, end in _ENDS:
            if pattern.fullmatch(candidate):
                return end
    return None
