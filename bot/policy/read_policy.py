"""Read the policy file by its model (`bot.policy.settings`). For its JSON Schema see `schema.py`."""

from functools import cache

from pydantic import TypeAdapter

from bot.parsing.parser import Parser
from bot.policy.settings import Policy
from bot.policy.validate_document import read_document


def read_policy(text: str, source: str, parser: Parser | None) -> Policy:
    """Return the policy in `text`, with defaults for missing keys. Raises `PolicyError` with all problems."""
    return read_document(policy_adapter(), text, source, parser, {"source": source})


@cache
def policy_adapter() -> TypeAdapter[Policy]:
    """Cached: it takes 0.1 s."""
    return TypeAdapter(Policy)
