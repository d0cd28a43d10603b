"""What `fix` and `review` give a run: the request of the person at the terminal, on their checkout."""

from __future__ import annotations

from pathlib import Path

from bot.contracts.plain_text import utf8
from bot.contracts.request import Actor, Request, Tier


def local_request(
    verb: str, instruction: str | None, repo: Path, options: dict[str, str] | None = None
) -> Request:
    """The request of the person at the terminal. Arguments and paths are bytes that need not be UTF-8; the journal and
    the bundle are, so what is not becomes U+FFFD here."""
    text, url = utf8(instruction or ""), utf8(repo)
    return Request(verb, text or None, Actor("you", 0, Tier.LOCAL), "", "", url, options=options or {})
