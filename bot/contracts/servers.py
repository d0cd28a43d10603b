"""What looks on while files are edited, by the names that a policy and a journal have for them. How each is started is
in `bot/workshop/host/lsp/registry.py`."""

from __future__ import annotations

LANGUAGE_SERVERS = ("ty", "ruff", "typescript", "gopls", "clangd", "biome", "oxlint", "cargo")
ON_EDIT = ("shellcheck", "bash", "python", "json", "toml", "yaml")
"""No servers: programs and parsers that are run over a changed file."""

NAMES = (*LANGUAGE_SERVERS, *ON_EDIT)

MOST_WAIT = 30
"""Seconds. What an edit may be kept waiting where the policy says so; 3 where it says nothing."""
