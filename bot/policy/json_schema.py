"""The JSON Schema of the policy file, from the tables that the loader reads by."""

from __future__ import annotations

import json
from typing import Any

from bot.policy.defaults import default_policy
from bot.policy.keys import ROOT

URL = "https://raw.githubusercontent.com/slash-agent/slash-agent/v0/docs/agent.schema.json"
EDITORS = f"# yaml-language-server: $schema={URL}"
"""The first line of a policy file, by which editors complete and check it."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """A draft 2020-12 schema. What it refuses the loader refuses; an empty file is a policy too."""
    return {
        "$schema": _DIALECT,
        "$id": URL,
        "title": "Slash Agent policy",
        "description": "What the agent may do in a repository: .github/agent.yml, read from the base commit.",
        **ROOT.schema(default_policy()),
        "type": ["object", "null"],
    }


def as_text() -> str:
    """The schema as `docs/agent.schema.json` has it."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"
