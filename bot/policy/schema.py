"""The policy as values: what `.github/agent.yml` says, checked, with the defaults filled in.

The kinds of rules are in `bot.policy.rule`, so that a run without rules does not pay for them at its start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from bot.contracts.request import Tier, Verb

if TYPE_CHECKING:
    from bot.policy.rule import Rule


class Effect(StrEnum):
    """What a rule does with a call that it matches, from mild to strict. The strictest match decides."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    @property
    def rank(self) -> int:
        return tuple(Effect).index(self)


@dataclass(frozen=True, slots=True)
class TierPolicy:
    verbs: frozenset[Verb]
    usd: float
    turns: int
    minutes: float
    runs_a_day: int


@dataclass(frozen=True, slots=True)
class Budget:
    """Caps for every run, whoever asks. `None` caps nothing beyond the tier's own limit."""

    usd: float | None = None
    turns: int | None = None
    minutes: float | None = None


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """`timeout` is in seconds."""

    name: str
    command: str
    timeout: float


@dataclass(frozen=True, slots=True)
class SetupStep:
    """`timeout` is in seconds."""

    command: str
    timeout: float


@dataclass(frozen=True, slots=True)
class PullRequestPolicy:
    keyword: Literal["Fixes", "Refs"] = "Fixes"
    draft: bool = True
    sign_off: bool = False


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the commits are by. The default address cannot belong to anybody's account."""

    name: str = "slash-agent[bot]"
    email: str = "slash-agent@noreply.invalid"


@dataclass(frozen=True, slots=True)
class Policy:
    """`source` is the file's name, for messages. It and `model` are empty where there is none."""

    source: str
    tiers: Mapping[Tier, TierPolicy]
    rules: tuple[Rule, ...] = ()
    checks: tuple[CheckSpec, ...] = ()
    setup: tuple[SetupStep, ...] = ()
    bring: tuple[str, ...] = ()
    history: int | Literal["full"] = 1
    budget: Budget = Budget()
    on_deny: Literal["continue", "stop"] = "continue"
    pull_request: PullRequestPolicy = PullRequestPolicy()
    identity: Identity = Identity()
    bots: Mapping[int, frozenset[Verb]] = field(default_factory=dict)
    model: str = ""
