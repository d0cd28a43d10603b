"""The policy file's key `models`: what it knows better of a model than the table in `bot/providers/models.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from bot.policy.agent import MODEL
from bot.policy.kinds import Kind, choice, decimal, mapping_of, truth, whole
from bot.policy.nodes import Problems
from bot.policy.table import Key, Table

_MOST_TOKENS = 100_000_000
_MOST_USD = 10_000

PRICE = Table(
    (
        Key("input", decimal(_MOST_USD), "USD per million tokens sent.", "this price has no `input`"),
        Key("output", decimal(_MOST_USD), "USD per million tokens made.", "this price has no `output`"),
        Key("cache_read", decimal(_MOST_USD), "USD per million tokens read from the cache; `input` if not said."),
        Key("cache_write", decimal(_MOST_USD), "USD per million tokens put into the cache; `input` if not said."),
    )
)  # fmt: skip
_PRICE: Kind[Mapping[str, float]] = Kind(
    lambda node, problems: PRICE.read(node, problems).values, PRICE.schema(), ""
)
MODEL_FACTS = Table(
    (
        Key("window", whole(1, _MOST_TOKENS), "Tokens that fit in a request.", field="context_window"),
        Key("max_output", whole(1, _MOST_TOKENS), "Tokens of one answer at most."),
        Key("price", _PRICE, "What it costs."),
        Key("vision", truth(), "Whether it sees images."),
        Key("thinking", choice(("off", "adaptive", "budget", "effort")), "How it is asked to think."),
        Key("streams_tools", truth(), "Whether it streams tool calls."),
        Key("min_cacheable", whole(1, _MOST_TOKENS), "Tokens that a prefix needs to be cached."),
        Key("allowed_tools", truth(), "Whether a request may name the tools that are allowed now."),
        Key("forced_choice", truth(), "Whether a request may force a tool."),
        Key("timeout", whole(1, 7_200), "Seconds to wait for the first byte of an answer; 900 if not said."),
    )
)


def _read_model(node: yaml.Node, problems: Problems) -> Any:
    from bot.contracts.model import ModelOverride  # most files have no need of the contracts of models

    found = MODEL_FACTS.read(node, problems)
    given = {
        key.field or key.name: found.values.get(key.name)
        for key in MODEL_FACTS.keys
        if key.name in found.nodes
    }
    price = given.pop("price", None)
    if price is not None:
        # Where the cache's are not given, nothing of it is cheaper: a cap binds early then.
        for key in PRICE:
            given[f"{key}_price"] = price.get(key, price.get("input"))
    return ModelOverride(**given)


MODELS: Kind[Mapping[str, Any]] = mapping_of(
    MODEL, Kind(_read_model, MODEL_FACTS.schema(), ""), words="mapping by provider/name"
)
