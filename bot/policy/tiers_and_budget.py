"""Rights and limits: the keys `tiers`, `bots` and `budget`, as models and frozen values."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BeforeValidator

from bot.contracts.request import Tier
from bot.policy.field_types import ONCE, about, decimal, key, one_of, raise_problems, repeated, whole, word
from bot.policy.registry_mirrors import PRESETS
from bot.verbs.registry import NAMES, verbs_of

MINUTES = 10.0
"""The budget if the policy sets none."""

Limit = TypeVar("Limit", int, float)

Usd = Annotated[float, decimal(1000)]
Minutes = Annotated[float, decimal(360)]
Tokens = Annotated[int, whole(0, 1_000_000_000)]
Commands = Annotated[int, whole(0, 100_000)]
Output = Annotated[float, decimal(100_000)]
VerbName = Annotated[str, one_of(NAMES)]
Verbs = Annotated[frozenset[VerbName], word("all", frozenset(NAMES))]
Egress = Annotated[tuple[Annotated[str, one_of(PRESETS)], ...], ONCE, word("none", ())]
BotId = Annotated[int, whole(1, 10**15)]
_SomeTurns = Annotated[int, whole(1, 1000)]
_SomeTokens = Annotated[int, whole(1, 1_000_000_000)]


@dataclass(frozen=True)
class TierPolicy:
    """Limits of one run; `runs_a_day` of one person within a day. The first five are never `None`, which is no limit.
    `egress` are names of presets, whose hosts the workspace may reach."""

    verbs: Verbs = key(None, "The verbs that the tier may use.")
    usd: Usd = key(None, "Cost of one run at most, in USD.")
    turns: Annotated[int, whole(0, 1000)] = key(None, "Model requests of one run at most.")
    minutes: Minutes = key(None, "The longest duration of one run.")
    runs_a_day: Annotated[int, whole(0, 100_000)] = key(None, "Runs of one person within a day at most.")
    tokens: Tokens | None = key(None, "Tokens of one run at most: input, cache and output together.")
    commands: Commands | None = key(None, "Commands of the agent in one run at most.")
    output: Output | None = key(None, "Output of the agent's commands in one run at most, in MiB.")
    egress: Egress = key((), "Package registries that the sandbox can reach, by preset.")

    @property
    def runs_commands(self) -> bool:
        """Whether the model may run commands."""
        return self.commands != 0 and self.output != 0


def default_tiers() -> Mapping[Tier, TierPolicy]:
    """Return the limits of one run by tier, and the runs a day. A person at their own terminal has a maintainer's.

    An outsider's limits take effect only if a policy gives outsiders a verb that starts a model.
    """
    tiers = {
        Tier.MAINTAINER: TierPolicy(verbs_of(Tier.MAINTAINER), 5, 80, 30, 50, commands=500, output=256),
        Tier.CONTRIBUTOR: TierPolicy(verbs_of(Tier.CONTRIBUTOR), 1, 30, 10, 10, commands=150, output=64),
        Tier.OUTSIDER: TierPolicy(verbs_of(Tier.OUTSIDER), 0.5, 20, 10, 3, commands=100, output=64),
        Tier.BOT: TierPolicy(verbs_of(Tier.BOT), 1, 30, 10, 10, commands=150, output=64),
        Tier.SCHEDULE: TierPolicy(verbs_of(Tier.SCHEDULE), 2, 60, 30, 20, commands=300, output=256),
    }
    return MappingProxyType({**tiers, Tier.LOCAL: tiers[Tier.MAINTAINER]})


FILE_TIERS = tuple(tier.value for tier in Tier if tier is not Tier.LOCAL)


def _over_defaults(value: object) -> object:
    if not isinstance(value, dict):
        return value
    defaults = {tier.value: asdict(limits) for tier, limits in default_tiers().items()}
    return {
        name: {**defaults.get(name, defaults[Tier.LOCAL]), **own} if isinstance(own, dict) else own
        for name, own in value.items()
    }


def _with_local(tiers: Mapping[Tier, TierPolicy]) -> Mapping[Tier, TierPolicy]:
    tiers = {**default_tiers(), **tiers}
    return MappingProxyType({**tiers, Tier.LOCAL: tiers[Tier.MAINTAINER]})


Tiers = Annotated[
    Mapping[Annotated[Tier, one_of(FILE_TIERS)], TierPolicy],
    BeforeValidator(_over_defaults),
    AfterValidator(_with_local),
]
"""The type of the key `tiers`: the file's keys of a tier replace its defaults."""


@dataclass(frozen=True)
class Bot:
    """An account that may ask. Without `verbs` it may ask for what the tier `bot` may."""

    id: Annotated[BotId, about("The numeric id of the account.")]
    verbs: Verbs | None = key(None, "The verbs that it may use; by default those of the tier `bot`.")


def once_by_id(bots: tuple[Bot, ...]) -> tuple[Bot, ...]:
    raise_problems(((n, "id"), f"{one} is listed twice") for n, one in repeated(bot.id for bot in bots))
    return bots


@dataclass(frozen=True)
class Budget:
    """Caps for the runs of all tiers. `None` caps nothing beyond the tier's own limit.

    `check_minutes` is for all rounds of checks of a run together; `None` is ten.
    """

    usd: Usd | None = key(None, "Cost of any run at most, in USD.")
    turns: _SomeTurns | None = key(None, "Model requests of any run at most.")
    minutes: Minutes | None = key(None, "The longest duration of any run.")
    tokens: _SomeTokens | None = key(None, "Tokens of any run at most: input, cache and output together.")
    commands: Commands | None = key(None, "Commands of the agent in any run at most.")
    output: Output | None = key(None, "Output of the agent's commands in any run at most, in MiB.")
    check_minutes: Minutes | None = key(None, "The longest duration of a run's checks, all rounds together.")


def least(one: Limit | None, other: Limit | None) -> Limit | None:
    """Return the smaller limit, where `None` is no limit."""
    return min((limit for limit in (one, other) if limit is not None), default=None)
