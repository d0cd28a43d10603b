"""Clients for GitHub, each with the gate at its writes: what the job's environment holds may not leave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bot.gate.github import connect
from bot.run.github_env import GitHubEnvironment
from bot.run.secrets import known_secrets

if TYPE_CHECKING:
    from bot.github.client import GitHub


def client_for(where: GitHubEnvironment, environment: Mapping[str, str], token: str = "") -> GitHub:
    """A client with `token`, by default that of `where`. Not for two threads at once: each has its own."""
    secrets = {**known_secrets(environment), **where.made}
    return connect(token or where.token, where.api_url, secrets=secrets, server_url=where.server_url)
