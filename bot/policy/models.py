"""The policy file's key `models`: what it knows better of a model than the table in `bot/providers/models.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

import yaml

from bot.contracts.model import ModelOverride, ThinkingKind
from bot.policy import nodes
from bot.policy.nodes import Problems

MODEL_KEYS = (
    "window", "max_output", "price", "vision", "thinking", "streams_tools", "min_cacheable", "allowed_tools",
    "forced_choice",
)  # fmt: skip
PRICE_KEYS = ("input", "output", "cache_read", "cache_write")
_THINKING = ("off", "adaptive", "budget", "effort")
_MOST_TOKENS = 100_000_000
_MOST_USD = 10_000


def read_models(
    node: yaml.Node, problems: Problems, read_name: Callable[[yaml.Node, Problems], str]
) -> Mapping[str, ModelOverride]:
    """By name, as `--model` takes it."""
    models: dict[str, ModelOverride] = {}
    for key, value in nodes.pairs(node, problems):
        name = read_name(key, problems)
        if name in models:
            problems.add(key, f"`{name[:60]}` is given twice")
        models[name] = _read_model(value, problems)
    return MappingProxyType(models)


def _read_model(node: yaml.Node, problems: Problems) -> ModelOverride:
    found = nodes.entries(node, MODEL_KEYS, problems)
    given: dict[str, Any] = {}
    for key, name in (
        ("window", "context_window"),
        ("max_output", "max_output"),
        ("min_cacheable", "min_cacheable"),
    ):
        if key in found:
            given[name] = nodes.whole(found[key], problems, 1, _MOST_TOKENS)
    for key in ("vision", "streams_tools", "allowed_tools", "forced_choice"):
        if key in found:
            given[key] = nodes.truth(found[key], problems)
    if "thinking" in found:
        given["thinking"] = cast("ThinkingKind | None", nodes.choice(found["thinking"], _THINKING, problems))
    if "price" in found:
        given |= _read_price(found["price"], problems)
    return ModelOverride(**given)


def _read_price(node: yaml.Node, problems: Problems) -> dict[str, float | None]:
    """USD per million tokens. Where the cache's are not given, nothing of it is cheaper: a cap binds early then."""
    found = nodes.entries(node, PRICE_KEYS, problems)
    prices = {key: nodes.decimal(value, problems, _MOST_USD) for key, value in found.items()}
    for key in ("input", "output"):
        if key not in prices:
            problems.add(node, f"this price has no `{key}`")
    prices.setdefault("cache_read", prices.get("input"))
    prices.setdefault("cache_write", prices.get("input"))
    return {f"{key}_price": value for key, value in prices.items()}
