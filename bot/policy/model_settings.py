"""The keys `model`, `models` and `model_settings`: which models runs ask, what is known of them, how they are used."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any

from pydantic import AfterValidator, Field, GetPydanticSchema

from bot.contracts.model import EFFORTS, ModelOverride, ThinkingKind
from bot.contracts.request import Tier
from bot.policy.field_types import FROZEN, ONCE, about, decimal, key, line, one_of, whole
from bot.policy.tiers_and_budget import FILE_TIERS, VerbName

Model = Annotated[
    str,
    line(
        "provider/name, as in anthropic/claude-sonnet-5-5", r"[A-Za-z0-9._-]+/[A-Za-z0-9][A-Za-z0-9._:/@+-]*"
    ),
]
_Price = Annotated[float, decimal(10_000)]
_Size = Annotated[int, whole(1, 100_000_000)]
_Effort = Annotated[str, one_of(EFFORTS)]


@dataclass(frozen=True)
class Prices:
    """USD per million tokens."""

    input: Annotated[_Price, about("USD per million input tokens.")]
    output: Annotated[_Price, about("USD per million output tokens.")]
    cache_read: _Price | None = key(None, "USD per million tokens read from the cache; by default `input`.")
    cache_write: _Price | None = key(None, "USD per million tokens written to the cache; by default `input`.")


@dataclass(frozen=True)
class ModelFacts:
    """The keys of `models`, which become a `ModelOverride`."""

    window: _Size | None = key(None, "The context window in tokens.")
    max_output: _Size | None = key(None, "Output tokens of one response at most.")
    price: Prices | None = key(None, "The price of the model.")
    vision: bool | None = key(None, "Whether the model accepts images.")
    thinking: ThinkingKind | None = key(None, "How requests turn on thinking.")
    streams_tools: bool | None = key(None, "Whether the model streams tool calls.")
    allowed_tools: bool | None = key(None, "Whether a request may name the tools that are allowed now.")
    forced_choice: bool | None = key(None, "Whether a request may force a tool.")
    timeout: Annotated[int, whole(1, 7_200)] | None = key(
        None, "Seconds to wait for the first byte of a response; by default 900."
    )
    efforts: Annotated[tuple[_Effort, ...], ONCE] | None = key(
        None, "The levels of effort that the model accepts."
    )


def _override(facts: ModelFacts) -> ModelOverride:
    """Without prices of the cache, cached tokens cost the full price, so that a cap takes effect early."""
    known = asdict(facts)
    price = known.pop("price") or {}
    prices = {f"{name}_price": price["input"] if own is None else own for name, own in price.items()}
    known |= {"context_window": known.pop("window"), **prices}
    return {name: value for name, value in known.items() if value is not None}


OVERRIDE = GetPydanticSchema(
    lambda _, handler: handler.generate_schema(Annotated[ModelFacts, AfterValidator(_override)])
)
"""The annotation of a `ModelOverride`: it is read as `ModelFacts`."""


_Fallback = Annotated[tuple[Model, ...], Field(max_length=5), ONCE]


@dataclass(frozen=True)
class ModelSettings:
    """How models are used. `None`: less specific settings decide."""

    effort: _Effort | None = key(
        None, "The level of effort; if the model lacks it, the next lower one is used."
    )
    fallback: _Fallback | None = key(
        None,
        "Models for the rest of the run if the model is unavailable or over a limit; the first that answers.",
    )
    small: Model | None = key(None, "The model that writes titles and summaries.")


_TASK = line("the name of a task, its file's name without .md", r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class ModelSettingsPolicy(ModelSettings):
    """The settings of all runs, and those of single verbs, tiers and tasks."""

    verbs: Annotated[Mapping[VerbName, ModelSettings], FROZEN] = key(
        None, "The same keys by verb; they override those of tiers.", factory=dict, title="a mapping by verb"
    )
    tiers: Annotated[Mapping[Annotated[Tier, one_of(FILE_TIERS)], ModelSettings], FROZEN] = key(
        None, "The same keys by tier.", factory=dict, title="a mapping by tier"
    )
    tasks: Annotated[Mapping[Annotated[str, _TASK], ModelSettings], FROZEN] = key(
        None, "The same keys by task; they override those of verbs.", factory=dict, title="a mapping by task"
    )

    def of(self, verb: str, tier: Tier, task: str) -> ModelSettings:
        """Return the settings of a run: a task's come before a verb's, those before a tier's, those before all."""
        own = Tier.MAINTAINER if tier is Tier.LOCAL else tier
        chosen: dict[str, Any] = {}
        for level in (self, self.tiers.get(own), self.verbs.get(verb), self.tasks.get(task)):
            for one in fields(ModelSettings):
                if (value := getattr(level, one.name, None)) is not None:
                    chosen[one.name] = value
        return ModelSettings(**chosen)

    @property
    def model_names(self) -> list[str]:
        """Return every model that the settings name, by level."""
        levels = (self, *self.tasks.values(), *self.verbs.values(), *self.tiers.values())
        return [name for one in levels for name in (*(one.fallback or ()), one.small) if name]
