"""The table of the policy file's keys, the reader that uses it, and the JSON Schema made from it.

A key's kind has its reader and its schema. A new key goes into `ROOT`, `bot.policy.values` and `docs/policy.md`, whose
table `make schema` writes anew.
"""

from __future__ import annotations

import json
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal

import yaml

from bot.contracts.request import Tier
from bot.policy import keys_agent, keys_commands, keys_publishing, keys_tiers, nodes
from bot.policy.key_kinds import Key, Kind, Table, choice, literal, truth, whole
from bot.policy.load import Problem
from bot.policy.nodes import Problems
from bot.policy.read_rules import RULES
from bot.policy.tiers import default_policy
from bot.policy.values import Budget, Policy

VERSION = "1"


def _read_version(node: yaml.Node, problems: Problems) -> None:
    version = nodes.text(node, problems)
    if version is not None and version != VERSION:
        problems.add(node, f"version `{version[:20]}` is not known; this program reads version {VERSION}")


_VERSION: Kind[None] = Kind(_read_version, {"enum": [int(VERSION), VERSION]}, VERSION)
_HISTORY: Kind[int | Literal["full"]] = literal("full", "full", whole(1, 1_000_000))
_BOTS = Key("bots", keys_tiers.BOTS, "Accounts of bots that may ask, by id; there is no wildcard.")

ROOT = Table(
    (
        Key("version", _VERSION, "The version of this file's format."),
        Key("tiers", keys_tiers.TIERS, "Who may do what, and how much, if it differs from the defaults."),
        _BOTS,
        Key("budget", keys_tiers.BUDGET.over(Budget()), "Caps for every run, whoever asks."),
        Key("options", keys_agent.OPTIONS_KIND, "What the options of a command may ask for."),
        Key(
            "rules",
            RULES,
            "What tools may do where; the strictest rule that matches wins, whatever the order.",
        ),
        Key("dangerous", keys_commands.DANGEROUS_KIND, "Commands that are denied without a rule."),
        Key("on_deny", choice(("continue", "stop")), "Whether a run goes on after a call was denied."),
        Key("checks", keys_commands.CHECKS, "Commands run before and after a change; exit code 0 is a pass."),
        Key("setup", keys_commands.SETUP, "Commands run once, in the sandbox, before the first check."),
        Key(
            "bring",
            keys_commands.BRING,
            "Folders that earlier steps of the workflow prepared, brought into the sandbox.",
        ),
        Key("history", _HISTORY, "Commits that come along; full for tools that compute a version from git."),
        Key(
            "model",
            keys_agent.MODEL,
            "The model of runs in Actions, unless the request or the workflow names one.",
        ),
        Key(
            "models",
            keys_agent.MODELS,
            "What is known better here of models than in the program's own table.",
        ),
        Key(
            "model_settings",
            keys_agent.MODEL_SETTINGS_KIND,
            "Effort, fallback and small model, for all runs or single ones.",
        ),
        Key("agent", keys_agent.AGENT_KIND, "How the model is worked with."),
        Key(
            "attachments",
            keys_agent.ATTACHMENTS_KIND,
            "Whose pictures and files in a thread a model is shown.",
        ),
        Key(
            "diagnostics",
            keys_agent.DIAGNOSTICS_KIND,
            "What is looked for in code while it is edited, and after.",
        ),
        Key("pull_request", keys_publishing.PULL_REQUEST_KIND, "How pull requests are made."),
        Key("push_to_head", truth(), "Put a fix on a pull request onto its own branch, fast-forward only."),
        Key("forks", keys_publishing.FORKS, "What a fix on a fork's pull request becomes."),
        Key(
            "dispatch",
            keys_publishing.DISPATCH,
            "Workflows started on the bot's branch if none starts by itself.",
        ),
        Key("review", keys_publishing.REVIEW_KIND, "Reviews of pull requests."),
        Key(
            "thread_author",
            keys_publishing.THREAD_AUTHOR,
            "What outsiders may ask for in a thread that they opened.",
        ),
        Key("triggers", keys_publishing.TRIGGERS_KIND, "What starts a run beside a command."),
        Key("maintenance", keys_publishing.MAINTENANCE_KIND, "Limits of scheduled tasks."),
        Key(
            "writes",
            keys_publishing.WRITES_KIND,
            "Comments, labels and the like that a run may make; see maintenance.md.",
        ),
        Key("diff", keys_publishing.DIFF_KIND, "What a change may hold that a review does not show."),
        Key("sandbox", keys_commands.SANDBOX_KIND, "How much of the machine a command may take."),
        Key("detector", keys_agent.DETECTOR_KIND, "The secret detector."),
        Key("identity", keys_publishing.IDENTITY_KIND, "Who the commits are by."),
    )
)
KEYS = tuple(ROOT)


def read_policy(text: str, source: str) -> Policy:
    """Return the policy in `text`, with defaults for missing keys. Raises `PolicyError` with all problems."""
    return check_policy(text, source)[0]


def check_policy(text: str, source: str) -> tuple[Policy, tuple[Problem, ...]]:
    """Like `read_policy`, with warnings about rules that may allow more than intended."""
    problems = Problems(source)
    root = nodes.compose(text, problems)
    policy = replace(default_policy(), source=source)
    if root is not None:
        section = ROOT.read(root, problems)
        policy = ROOT.onto(policy, section, ignored=("version", "bots"))
        of_tier = policy.tiers[Tier.BOT].verbs
        listed = {one: of_tier if verbs is None else verbs for one, verbs in section.get(_BOTS, {}).items()}
        policy = replace(policy, bots=MappingProxyType(listed))
    problems.raise_any()
    return policy, problems.warnings


_SCHEMA_URL = "https://raw.githubusercontent.com/slash-agent/slash-agent/v0/docs/agent.schema.json"
EDITOR_LINE = f"# yaml-language-server: $schema={_SCHEMA_URL}"
"""The first line of a policy file, with which editors complete and check it."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12). The loader refuses what it refuses; an empty file is valid."""
    return {
        "$schema": _DIALECT,
        "$id": _SCHEMA_URL,
        "title": "Slash Agent policy",
        "description": "What the agent may do in a repository: .github/agent.yml, read from the base commit.",
        **ROOT.schema(default_policy()),
        "type": ["object", "null"],
    }


def schema_text() -> str:
    """Return the text of `docs/agent.schema.json`."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"
