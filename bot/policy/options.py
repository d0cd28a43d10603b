"""The policy file's key `options`: the bounds of what the options of a command may ask for."""

from __future__ import annotations

import re

import yaml

from bot.policy import nodes
from bot.policy.nodes import Problems
from bot.policy.schema import OptionsPolicy

OPTION_KEYS = ("models",)
_MOST_MODELS = 50
# As a model's name, with stars; nothing else of it is special to the matcher.
_MODELS = re.compile(r"[A-Za-z0-9._*-]+/[A-Za-z0-9*][A-Za-z0-9._:/@+*-]{0,199}")


def read_options(node: yaml.Node, problems: Problems) -> OptionsPolicy:
    found = nodes.entries(node, OPTION_KEYS, problems)
    return OptionsPolicy(_read_models(found["models"], problems) if "models" in found else None)


def _read_models(node: yaml.Node, problems: Problems) -> tuple[str, ...]:
    models: list[str] = []
    for item in nodes.items(node, problems):
        name = nodes.line(item, problems)
        if name is None:
            continue
        if not _MODELS.fullmatch(name):
            problems.add(item, "expected provider/name, as in anthropic/claude-sonnet-4-5 or openai/*")
        elif name in models:
            problems.add(item, f"`{name}` is listed twice")
        elif len(models) == _MOST_MODELS:
            problems.add(item, f"at most {_MOST_MODELS} models are listed; `*` stands for any part of a name")
        else:
            models.append(name)
    return tuple(models)
