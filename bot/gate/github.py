"""A client for GitHub whose writes pass the gate. The only one that this program writes with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.gate.secrets import Finder
    from bot.github.client import GitHub
    from bot.github.retry import Pace


def connect(
    token: str,
    api_url: str,
    *,
    secrets: Mapping[str, str],
    server_url: str = "",
    pace: Pace | None = None,
) -> GitHub:
    """`secrets` are what may not leave, by name, `server_url` the host whose own addresses stay links."""
    from bot.gate.exit import Exit
    from bot.github import client

    made = client.connect(token, api_url, pace=pace)
    made.leaving = Exit({**secrets, "token": token}, server_url)
    return made


def know(client: GitHub, finder: Finder) -> None:
    """Tell the gate of `client` what a repository's own rules find."""
    from bot.gate.exit import Exit

    if isinstance(client.leaving, Exit):
        client.leaving.know(finder)
