"""The policy file's keys about rights and limits: `tiers`, `budget`, `bots`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import yaml

from bot.contracts.request import Tier, Verb
from bot.policy import nodes
from bot.policy.egress import PRESETS
from bot.policy.key_kinds import Key, Kind, Table, choice, decimal, list_of, literal, whole
from bot.policy.nodes import Problems
from bot.policy.tiers import ALL_VERBS, default_tiers
from bot.policy.values import Budget, TierPolicy

MAX_USD = 1000
MAX_TURNS = 1000
MAX_MINUTES = 360
MAX_RUNS = 100_000
MAX_TOKENS = 1_000_000_000
MAX_COMMANDS = 100_000
MAX_OUTPUT = 100_000
_MOST_BOTS = 10**15

VERBS: Kind[frozenset[Verb]] = literal(
    "all",
    ALL_VERBS,
    list_of(choice([verb.value for verb in Verb]), words="list of verbs").into(
        lambda names: frozenset(map(Verb, names))
    ),
    "a list of verbs, or the word all",
)
EGRESS: Kind[tuple[str, ...]] = literal(
    "none",
    (),
    list_of(choice(PRESETS), once=True, words=f"list of {', '.join(PRESETS)}"),
    f"none, or a list of presets: {', '.join(PRESETS)}",
)

TIER = Table(
    (
        Key("verbs", VERBS, "What may be asked for."),
        Key("usd", decimal(MAX_USD), "What one run may cost, in USD."),
        Key("turns", whole(0, MAX_TURNS), "How often one run may ask the model."),
        Key("minutes", decimal(MAX_MINUTES), "How long one run may take."),
        Key("tokens", whole(0, MAX_TOKENS), "Tokens of one run: input, cache and output together."),
        Key("commands", whole(0, MAX_COMMANDS), "How many commands the agent may run in one run."),
        Key("output", decimal(MAX_OUTPUT), "What the agent's commands may print in one run, in MiB."),
        Key("runs_a_day", whole(0, MAX_RUNS), "Runs that one person may start within a day."),
        Key("usd_a_day", decimal(MAX_USD), "What one person's runs may cost within a day, in USD."),
        Key("egress", EGRESS, "Package registries that the sandbox may reach, by preset."),
    )
)
BUDGET = Table(
    (
        Key("usd", decimal(MAX_USD), "The most that any run may cost, in USD."),
        Key("turns", whole(1, MAX_TURNS), "How often any run may ask the model at most."),
        Key("minutes", decimal(MAX_MINUTES), "How long any run may take at most."),
        Key("tokens", whole(1, MAX_TOKENS), "Tokens of any run at most: input, cache and output together."),
        Key("commands", whole(0, MAX_COMMANDS), "How many commands the agent may run in any run."),
        Key("output", decimal(MAX_OUTPUT), "What the agent's commands may print in any run, in MiB."),
        Key("runs_a_day", whole(0, MAX_RUNS), "Runs of everybody together within a day."),
        Key(
            "check_minutes",
            decimal(MAX_MINUTES),
            "How long the checks of a run may take, all rounds together.",
        ),
    )
)
_BOT = Table(
    (
        Key("id", whole(1, _MOST_BOTS), "The account's id, a number.", missing="this bot has no `id`"),
        Key("verbs", VERBS, "What it may ask for; by default what the tier `bot` may."),
    )
)


def tier_names() -> list[str]:
    return [tier.value for tier in Tier if tier is not Tier.LOCAL]


def _read_tiers(node: yaml.Node, problems: Problems) -> Mapping[Tier, TierPolicy]:
    tiers = dict(default_tiers())
    for name, value in nodes.entries(node, tier_names(), problems).items():
        tiers[Tier(name)] = TIER.onto(tiers[Tier(name)], TIER.read(value, problems))
    tiers[Tier.LOCAL] = tiers[Tier.MAINTAINER]
    return MappingProxyType(tiers)


def _tiers_schema() -> dict[str, Any]:
    defaults = default_tiers()
    properties = {name: TIER.schema(defaults[Tier(name)]) for name in tier_names()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


TIERS: Kind[Mapping[Tier, TierPolicy]] = Kind(_read_tiers, _tiers_schema(), "mapping by tier")


def read_budget(node: yaml.Node, problems: Problems) -> Budget:
    return BUDGET.onto(Budget(), BUDGET.read(node, problems))


def _read_bots(node: yaml.Node, problems: Problems) -> Mapping[int, frozenset[Verb] | None]:
    """Read account ids, whose value is `None` for the tier's verbs, or `{id, verbs}`. There is no wildcard."""
    bots: dict[int, frozenset[Verb] | None] = {}
    bare, verbs = _BOT.keys
    for item in nodes.items(node, problems):
        number, allowed = item, None
        if isinstance(item, yaml.MappingNode):
            section = _BOT.read(item, problems)
            account, allowed = section.values.get(bare.name), section.values.get(verbs.name)
            number = section.nodes.get(bare.name, item)
        else:
            account = bare.kind.read(item, problems)
        if account in bots:
            problems.add(number, f"{account} is listed twice")
        elif account is not None:
            bots[account] = allowed
    return MappingProxyType(bots)


BOTS: Kind[Mapping[int, frozenset[Verb] | None]] = Kind(
    _read_bots,
    {"type": "array", "items": {"anyOf": [_BOT.keys[0].kind.schema, _BOT.schema()]}},
    "list of account ids, or of `{id, verbs}`",
)
