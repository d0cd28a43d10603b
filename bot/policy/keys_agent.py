"""The policy file's keys about the model and its surroundings: `agent`, `model`, `models`, `options`, `detector`,
`attachments`, `diagnostics`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from bot.contracts.checkers import CHECKER_NAMES, DIAGNOSTIC_TOOLS, MAX_WAIT, REMOVED_SERVERS
from bot.contracts.model import EFFORTS, ModelOverride
from bot.contracts.request import Tier, Verb
from bot.policy.key_kinds import (
    Key,
    Kind,
    Table,
    choice,
    decimal,
    line,
    list_of,
    literal,
    mapping_of,
    seconds,
    truth,
    whole,
)
from bot.policy.nodes import Problems
from bot.policy.values import (
    AgentPolicy,
    AttachmentsPolicy,
    DetectorPolicy,
    DiagnosticsPolicy,
    ModelSettings,
    ModelSettingsPolicy,
    OptionsPolicy,
    ServerPolicy,
    StopHookPolicy,
)

_MOST_INSTRUCTIONS = 10
_MOST_MODELS = 50
_FILE_NAME = re.compile(r"(?:(?!\.\.?/)[\w.-]{1,100}/){0,3}(?!\.\.?$)[\w.-]{1,100}")
# Only the loader checks characters beyond ASCII: \w differs between regular expression dialects.
_NAME_SCHEMA = r"[^\u0000-,/:-@\[-^`{-\u007f]{1,100}"
_FILE_NAME_SCHEMA = rf"(?:(?!\.\.?/){_NAME_SCHEMA}/){{0,3}}(?!\.\.?$){_NAME_SCHEMA}"
_MODEL = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9][A-Za-z0-9._:/@+-]*")
# A model's name with stars; nothing else is special to the matcher.
_MODELS = re.compile(r"[A-Za-z0-9._*-]+/[A-Za-z0-9*][A-Za-z0-9._:/@+*-]{0,199}")
_RULES_FILE = re.compile(r"(?!\.?/|.*//)(?!(?:.*/)?\.\.?(?:/|$))(?!\.git/)[^\\]*[^\\/]\.toml")

MODEL = line(_MODEL, "expected provider/name, as in anthropic/claude-sonnet-5-5", words="provider/name")

_MOST_FALLBACKS = 5
_TASK = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SETTINGS = (
    Key("effort", choice(EFFORTS), "How much the model thinks; the nearest lower level that it has."),
    Key(
        "fallback",
        list_of(
            MODEL,
            most=_MOST_FALLBACKS,
            over=f"at most {_MOST_FALLBACKS} models are listed",
            once=True,
            words="list of provider/name",
        ),
        "Models for the rest of a run whose model is down or over a limit, the first that answers.",
    ),
    Key("small", MODEL, "The model that writes titles and summaries."),
)
_SETTINGS_KIND: Kind[ModelSettings] = Table(_SETTINGS).over(ModelSettings())
_SETTING_TIERS = [tier.value for tier in Tier if tier is not Tier.LOCAL]
MODEL_SETTINGS = Table(
    (
        *_SETTINGS,
        Key(
            "verbs",
            mapping_of(choice([verb.value for verb in Verb]), _SETTINGS_KIND, words="mapping by verb"),
            "The same keys for single verbs; they come before those of tiers.",
        ),
        Key(
            "tiers",
            mapping_of(choice(_SETTING_TIERS), _SETTINGS_KIND, words="mapping by tier"),
            "The same keys for single tiers.",
        ),
        Key(
            "tasks",
            mapping_of(
                line(_TASK, "expected the name of a task, its file's name without .md", words="task"),
                _SETTINGS_KIND,
                words="mapping by task",
            ),
            "The same keys for single tasks; they come before those of verbs.",
        ),
    )
)
MODEL_SETTINGS_KIND: Kind[ModelSettingsPolicy] = MODEL_SETTINGS.over(ModelSettingsPolicy())

STOP_HOOK = Table(
    (
        Key("todos", truth(), "Tell the model of open items of its list when it says that it is done."),
        Key("diagnostics", truth(), "Tell it of files that no longer parse and of new errors."),
        Key("checks", truth(), "Tell it of checks that fail with its change."),
    )
)
AGENT = Table(
    (
        Key(
            "stop_hook",
            STOP_HOOK.over(StopHookPolicy()),
            "What the model is told when it is done, at most twice.",
        ),
        Key(
            "instructions",
            list_of(
                line(
                    _FILE_NAME,
                    "expected the name of a file, as in AGENTS.md or .github/copilot-instructions.md",
                    schema=_FILE_NAME_SCHEMA,
                    words="file names",
                ),
                most=_MOST_INSTRUCTIONS,
                over=f"at most {_MOST_INSTRUCTIONS} names are looked for",
                once=True,
            ),
            "Files of instructions, read from the base: the first with text in a folder, the nearest first.",
        ),
    )
)
OPTIONS = Table(
    (
        Key(
            "models",
            list_of(
                line(
                    _MODELS,
                    "expected provider/name, as in anthropic/claude-sonnet-5-5 or openai/*",
                    words="provider/name, with `*`",
                ),
                most=_MOST_MODELS,
                over=f"at most {_MOST_MODELS} models are listed; `*` stands for any part of a name",
                once=True,
            ),
            "What --model may ask for; by default any that the job's keys reach.",
        ),
    )
)
DETECTOR = Table(
    (
        Key(
            "rules",
            line(
                _RULES_FILE,
                "expected a .toml file of the repository, relative to its root",
                words="path of a .toml file",
            ),
            "Rules in gitleaks' TOML, beside the built-in patterns; a file of this repository.",
        ),
    )
)

AGENT_KIND: Kind[AgentPolicy] = AGENT.over(AgentPolicy())
OPTIONS_KIND: Kind[OptionsPolicy] = OPTIONS.over(OptionsPolicy())
DETECTOR_KIND: Kind[DetectorPolicy] = DETECTOR.over(DetectorPolicy())


# A schedule has no author of a text.
_AUTHORS = tuple(tier.value for tier in (Tier.MAINTAINER, Tier.CONTRIBUTOR, Tier.OUTSIDER, Tier.BOT))
_TIERS: Kind[frozenset[Tier]] = list_of(choice(_AUTHORS), once=True).into(
    lambda names: frozenset(Tier(name) for name in names)
)
ATTACHMENTS = Table(
    (Key("tiers", _TIERS, "Of whose texts; by the author's account, whoever gave the command."),)
)
ATTACHMENTS_KIND: Kind[AttachmentsPolicy] = ATTACHMENTS.over(AttachmentsPolicy())


SERVER = Table(
    (
        Key(
            "command", line(words="command"), "How it is started instead: words, as a shell would split them."
        ),
        Key("off", truth(), "Leave this one out."),
    )
)
_SERVERS: Kind[Mapping[str, ServerPolicy]] = mapping_of(
    choice(DIAGNOSTIC_TOOLS, REMOVED_SERVERS),
    SERVER.over(ServerPolicy()),
    words=f"mapping by name: {', '.join(DIAGNOSTIC_TOOLS)}",
)
_CHECKERS: Kind[tuple[str, ...]] = list_of(
    choice(CHECKER_NAMES),
    most=len(CHECKER_NAMES),
    over=f"there are {len(CHECKER_NAMES)} checkers",
    once=True,
)
DIAGNOSTICS = Table(
    (
        Key("off", truth(), "No language servers, and no checkers before and after."),
        Key("wait", seconds(MAX_WAIT), "How long an edit's result waits for what is found in it, at most."),
        Key("servers", _SERVERS, "Single language servers and parsers."),
        Key(
            "checkers",
            literal("none", (), _CHECKERS),
            "What runs before and after; what is there, if not said.",
        ),
    )
)
DIAGNOSTICS_KIND: Kind[DiagnosticsPolicy] = DIAGNOSTICS.over(DiagnosticsPolicy())


_MOST_TOKENS = 100_000_000
_MOST_USD = 10_000

PRICE = Table(
    (
        Key("input", decimal(_MOST_USD), "USD per million tokens sent.", "this price has no `input`"),
        Key("output", decimal(_MOST_USD), "USD per million tokens made.", "this price has no `output`"),
        Key(
            "cache_read",
            decimal(_MOST_USD),
            "USD per million tokens read from the cache; `input` if not said.",
        ),
        Key(
            "cache_write",
            decimal(_MOST_USD),
            "USD per million tokens put into the cache; `input` if not said.",
        ),
    )
)
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
        Key("prefill", truth(), "Whether the model continues a last message of its own."),
        Key("timeout", whole(1, 7_200), "Seconds to wait for the first byte of an answer; 900 if not said."),
        Key("efforts", list_of(choice(EFFORTS), once=True), "The levels of effort that it accepts."),
    )
)


def _read_model(node: yaml.Node, problems: Problems) -> Any:
    section = MODEL_FACTS.read(node, problems)
    values = {
        key.field or key.name: section.values.get(key.name)
        for key in MODEL_FACTS.keys
        if key.name in section.nodes
    }
    price = values.pop("price", None)
    if price is not None:
        # Without prices of the cache, cached tokens cost the full price, so that a cap takes effect early.
        for key in PRICE:
            values[f"{key}_price"] = price.get(key, price.get("input"))
    return ModelOverride(**values)


MODELS: Kind[Mapping[str, Any]] = mapping_of(
    MODEL, Kind(_read_model, MODEL_FACTS.schema(), ""), words="mapping by provider/name"
)
