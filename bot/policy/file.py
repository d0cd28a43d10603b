"""The policy file's sections, each read into its values. Rules, and what is done on GitHub, have their own modules."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeVar

import yaml

from bot.contracts.request import Tier, Verb
from bot.policy import github, nodes
from bot.policy.agent import read_agent
from bot.policy.defaults import ALL_VERBS, CHECK_TIMEOUT, SETUP_TIMEOUT, default_policy
from bot.policy.nodes import Problems
from bot.policy.options import read_options
from bot.policy.rules import read_rules
from bot.policy.schema import (
    Budget,
    CheckSpec,
    Identity,
    Policy,
    SetupStep,
    TierPolicy,
)

if TYPE_CHECKING:
    from bot.contracts.model import ModelOverride

VERSION = "1"
KEYS = (
    "version", "tiers", "rules", "checks", "setup", "bring", "budget", "history", "on_deny", "pull_request",
    "identity", "bots", "model", "push_to_head", "forks", "dispatch", "thread_author", "review",
    "triggers", "maintenance", "writes", "agent", "models", "options",
)  # fmt: skip

MAX_USD = 1000
MAX_TURNS = 1000
MAX_MINUTES = 360
MAX_RUNS = 100_000
MAX_TIMEOUT = 6 * 3600
_MODEL = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9][A-Za-z0-9._:/@+-]*")
_EMAIL = re.compile(r"[^\s<>@\"]+@[^\s<>@\"]+")

Value = TypeVar("Value")


def read_policy(text: str, source: str) -> Policy:
    """The policy in `text`, the defaults where it says nothing. Raises `PolicyError` with all problems."""
    problems = Problems(source)
    root = nodes.compose(text, problems)
    policy = replace(default_policy(), source=source)
    if root is not None:
        policy = _read_sections(nodes.entries(root, KEYS, problems), policy, problems)
    problems.raise_any()
    return policy


def _read_sections(found: Mapping[str, yaml.Node], default: Policy, problems: Problems) -> Policy:
    def section(name: str, read: Callable[[yaml.Node, Problems], Value], otherwise: Value) -> Value:
        return read(found[name], problems) if name in found else otherwise

    section("version", _read_version, None)
    tiers = section("tiers", _read_tiers, default.tiers)
    return replace(
        default,
        tiers=tiers,
        bots=_read_bots(found["bots"], tiers[Tier.BOT].verbs, problems) if "bots" in found else default.bots,
        rules=section("rules", read_rules, default.rules),
        checks=section("checks", read_checks, default.checks),
        setup=section("setup", _read_setup, default.setup),
        bring=section("bring", read_bring, default.bring),
        budget=section("budget", read_budget, default.budget),
        history=section("history", _read_history, default.history),
        on_deny=section("on_deny", _read_on_deny, default.on_deny),
        pull_request=section("pull_request", github.read_pull_request, default.pull_request),
        identity=section("identity", _read_identity, default.identity),
        model=section("model", _read_model, default.model),
        push_to_head=section("push_to_head", github.read_flag, default.push_to_head),
        forks=section("forks", github.read_forks, default.forks),
        dispatch=section("dispatch", github.read_dispatch, default.dispatch),
        thread_author=section("thread_author", github.read_thread_author, default.thread_author),
        review=section("review", github.read_review, default.review),
        triggers=section("triggers", github.read_triggers, default.triggers),
        maintenance=section("maintenance", github.read_maintenance, default.maintenance),
        writes=section("writes", github.read_writes, default.writes),
        agent=section("agent", read_agent, default.agent),
        models=section("models", _read_models, default.models),
        options=section("options", read_options, default.options),
    )


def _read_version(node: yaml.Node, problems: Problems) -> None:
    version = nodes.text(node, problems)
    if version is not None and version != VERSION:
        problems.add(node, f"version `{version[:20]}` is not known; this program reads version {VERSION}")


def _read_tiers(node: yaml.Node, problems: Problems) -> Mapping[Tier, TierPolicy]:
    tiers = dict(default_policy().tiers)
    names = [tier.value for tier in Tier if tier is not Tier.LOCAL]
    for name, value in nodes.entries(node, names, problems).items():
        tiers[Tier(name)] = _read_tier(value, tiers[Tier(name)], problems)
    tiers[Tier.LOCAL] = tiers[Tier.MAINTAINER]
    return MappingProxyType(tiers)


def _read_tier(node: yaml.Node, tier: TierPolicy, problems: Problems) -> TierPolicy:
    found = nodes.entries(node, ("verbs", "usd", "turns", "minutes", "runs_a_day"), problems)
    if "verbs" in found:
        tier = replace(tier, verbs=read_verbs(found["verbs"], problems))
    if "usd" in found:
        tier = replace(tier, usd=_or(nodes.decimal(found["usd"], problems, MAX_USD), tier.usd))
    if "turns" in found:
        tier = replace(tier, turns=_or(nodes.whole(found["turns"], problems, 0, MAX_TURNS), tier.turns))
    if "minutes" in found:
        tier = replace(
            tier, minutes=_or(nodes.decimal(found["minutes"], problems, MAX_MINUTES), tier.minutes)
        )
    if "runs_a_day" in found:
        runs = nodes.whole(found["runs_a_day"], problems, 0, MAX_RUNS)
        tier = replace(tier, runs_a_day=_or(runs, tier.runs_a_day))
    return tier


def read_verbs(node: yaml.Node, problems: Problems) -> frozenset[Verb]:
    if isinstance(node, yaml.ScalarNode):
        if node.value == "all":
            return ALL_VERBS
        problems.add(node, "expected a list of verbs, or the word all")
        return frozenset()
    known = [verb.value for verb in Verb]
    read = (nodes.choice(item, known, problems) for item in nodes.items(node, problems))
    return frozenset(Verb(verb) for verb in read if verb is not None)


def _read_bots(node: yaml.Node, verbs: frozenset[Verb], problems: Problems) -> Mapping[int, frozenset[Verb]]:
    """Each a bare account id, with the tier's verbs, or `{id, verbs}`. There is no wildcard."""
    bots: dict[int, frozenset[Verb]] = {}
    for item in nodes.items(node, problems):
        number, allowed = item, verbs
        if isinstance(item, yaml.MappingNode):
            found = nodes.entries(item, ("id", "verbs"), problems)
            if "id" not in found:
                problems.add(item, "this bot has no `id`")
                continue
            number = found["id"]
            allowed = read_verbs(found["verbs"], problems) if "verbs" in found else verbs
        account = nodes.whole(number, problems, 1, 10**15)
        if account in bots:
            problems.add(number, f"{account} is listed twice")
        elif account is not None:
            bots[account] = allowed
    return MappingProxyType(bots)


def read_checks(node: yaml.Node, problems: Problems) -> tuple[CheckSpec, ...]:
    """Each a command, or `{name, command, timeout}`. The name is the command where none is given."""
    checks: dict[str, CheckSpec] = {}
    for item in nodes.items(node, problems):
        command, timeout, name = _read_step(item, CHECK_TIMEOUT, ("name", "command", "timeout"), problems)
        if command is None:
            continue
        name = name or " ".join(command.split())[:80]
        if name in checks:
            problems.add(item, f"a second check has the name `{name}`")
        checks[name] = CheckSpec(name, command, timeout)
    return tuple(checks.values())


def _read_setup(node: yaml.Node, problems: Problems) -> tuple[SetupStep, ...]:
    """Each a command, or `{command, timeout}`."""
    read = (
        _read_step(item, SETUP_TIMEOUT, ("command", "timeout"), problems)
        for item in nodes.items(node, problems)
    )
    return tuple(SetupStep(command, timeout) for command, timeout, _ in read if command is not None)


def _read_step(
    node: yaml.Node, default: float, keys: tuple[str, ...], problems: Problems
) -> tuple[str | None, float, str | None]:
    if isinstance(node, yaml.ScalarNode):
        return nodes.script(node, problems), default, None
    found = nodes.entries(node, keys, problems)
    timeout = nodes.seconds(found["timeout"], problems, MAX_TIMEOUT) if "timeout" in found else default
    name = nodes.line(found["name"], problems) if "name" in found else None
    if "command" not in found:
        problems.add(node, "this has no `command`")
        return None, default, name
    return nodes.script(found["command"], problems), _or(timeout, default), name


def read_bring(node: yaml.Node, problems: Problems) -> tuple[str, ...]:
    """Folders, relative to the repository, that earlier steps prepared."""
    brought: list[str] = []
    for item in nodes.items(node, problems):
        folder = nodes.line(item, problems)
        if folder is None:
            continue
        plain = posixpath.normpath(folder)
        if plain.startswith("/") or plain == "." or ".." in plain.split("/"):
            problems.add(item, "expected a folder inside the repository, relative to its root")
        elif plain.split("/")[0] == ".git":
            problems.add(item, "the repository's .git is never brought in")
        else:
            brought.append(plain)
    return tuple(brought)


def read_budget(node: yaml.Node, problems: Problems) -> Budget:
    found = nodes.entries(node, ("usd", "turns", "minutes", "runs_a_day"), problems)
    return Budget(
        usd=nodes.decimal(found["usd"], problems, MAX_USD) if "usd" in found else None,
        turns=nodes.whole(found["turns"], problems, 1, MAX_TURNS) if "turns" in found else None,
        minutes=nodes.decimal(found["minutes"], problems, MAX_MINUTES) if "minutes" in found else None,
        runs_a_day=nodes.whole(found["runs_a_day"], problems, 0, MAX_RUNS) if "runs_a_day" in found else None,
    )


def _read_history(node: yaml.Node, problems: Problems) -> int | Literal["full"]:
    if isinstance(node, yaml.ScalarNode) and node.value == "full":
        return "full"
    return _or(nodes.whole(node, problems, 1, 1_000_000), 1)


def _read_on_deny(node: yaml.Node, problems: Problems) -> Literal["continue", "stop"]:
    return "stop" if nodes.choice(node, ("continue", "stop"), problems) == "stop" else "continue"


def _read_identity(node: yaml.Node, problems: Problems) -> Identity:
    found = nodes.entries(node, ("name", "email"), problems)
    identity = Identity()
    if "name" in found:
        name = nodes.line(found["name"], problems)
        if name is not None and set(name) & set("<>"):
            problems.add(found["name"], "git allows no < or > in a name")
        identity = replace(identity, name=_or(name, identity.name))
    if "email" in found:
        email = nodes.line(found["email"], problems)
        if email is not None and not _EMAIL.fullmatch(email):
            problems.add(found["email"], "expected an address as in bot@example.org")
        identity = replace(identity, email=_or(email, identity.email))
    return identity


def _read_model(node: yaml.Node, problems: Problems) -> str:
    name = nodes.line(node, problems) or ""
    if name and not _MODEL.fullmatch(name):
        problems.add(node, "expected provider/name, as in anthropic/claude-sonnet-4-5")
    return name


def _read_models(node: yaml.Node, problems: Problems) -> Mapping[str, ModelOverride]:
    from bot.policy.models import read_models  # it needs the contracts of models, which most files do not

    return read_models(node, problems, _read_model)


def _or(value: Value | None, otherwise: Value) -> Value:
    return otherwise if value is None else value
