"""Read the policy file by its model (`bot.policy.values`), and make the JSON Schema from the same model."""

import json
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from bot.parsing.parser import Parser
from bot.policy.json_schema import json_schema
from bot.policy.reading import read_document
from bot.policy.values import Policy


def read_policy(text: str, source: str, parser: Parser | None = None) -> Policy:
    """Return the policy in `text`, with defaults for missing keys. Raises `PolicyError` with all problems."""
    return read_document(_adapter(), text, source, parser, {"source": source})


@cache
def _adapter() -> TypeAdapter[Policy]:
    """Cached: it takes 0.1 s."""
    return TypeAdapter(Policy)


_SCHEMA_URL = "https://raw.githubusercontent.com/slash-agent/slash-agent/v0/docs/agent.schema.json"
EDITOR_LINE = f"# yaml-language-server: $schema={_SCHEMA_URL}"
"""The first line of a policy file, with which editors complete and check it."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12). The loader also reads quoted numbers; an empty file is valid."""
    return {
        "$schema": _DIALECT,
        "$id": _SCHEMA_URL,
        "title": "Slash Agent policy",
        "description": "What the agent may do in a repository: .github/agent.yml, read from the base commit.",
        **json_schema(_adapter()),
        "type": ["object", "null"],
    }


def schema_text() -> str:
    """Return the text of `docs/agent.schema.json`."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"
