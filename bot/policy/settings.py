"""The policy: the model of its file, with every key's type, default and help text, and the frozen values of a run.

pydantic reads these dataclasses (`bot.policy.read_policy`); the JSON Schema for editors and the table in docs/policy.md
come from them too (`make schema`). Code makes them by hand, unchecked. A new key begins
here, or in the module of its section.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, GetPydanticSchema, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema
from pydantic_core.core_schema import int_schema

from bot.contracts.model import ModelOverride
from bot.contracts.request import Tier
from bot.policy.agent_settings import (
    AgentPolicy,
    AttachmentsPolicy,
    DangerousPolicy,
    DiagnosticsPolicy,
    SandboxPolicy,
)
from bot.policy.check_settings import Checks, Folders, ServiceSpec, SetupStep
from bot.policy.field_types import FROZEN, ONCE, Script, key, line, one_of, short, word
from bot.policy.follow_up import FollowUpPolicy
from bot.policy.model_settings import OVERRIDE, Model, ModelSettingsPolicy
from bot.policy.publish_settings import DiffPolicy, Identity, PullRequestPolicy, WritesPolicy
from bot.policy.read_rules import Rules
from bot.policy.review_settings import ReviewPolicy
from bot.policy.tiers_and_budget import (
    Bot,
    BotId,
    Budget,
    TierPolicy,
    Tiers,
    default_tiers,
    least,
    once_by_id,
)
from bot.policy.triggers import MaintenancePolicy, TriggersPolicy
from bot.verbs.registry import READ_ONLY

_Models = Annotated[
    str,
    line(
        "provider/name, as in anthropic/claude-sonnet-5-5 or openai/*",
        r"[A-Za-z0-9._*-]+/[A-Za-z0-9*][A-Za-z0-9._:/@+*-]{0,199}",
    ),
]


@dataclass(frozen=True)
class OptionsPolicy:
    """Limits on the options of a command. `models` are names, or globs of them; `None` allows all."""

    models: Annotated[tuple[_Models, ...], Field(max_length=50), ONCE] | None = key(
        None, "Models that --model accepts; by default all that the job's keys can use."
    )


_WORKFLOW = line(
    "the name of a file in .github/workflows, as in ci.yml", r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}\.ya?ml"
)


@dataclass(frozen=True)
class Policy:
    """`source` is the file's name, for messages; it and `model` are empty where there is none. The fields are the keys
    of the file, in the order in which docs/policy.md lists them."""

    source: SkipJsonSchema[str]
    version: Annotated[
        Literal["1"], WithJsonSchema({"title": "1, the version of this format", "enum": [1, "1"]})
    ] = key("1", "The version of this file's format.")
    tiers: Tiers = key(
        None,
        "Rights and limits of a tier that differ from the defaults.",
        factory=default_tiers,
        title="a mapping by tier",
    )
    bots: Annotated[tuple[Annotated[Bot, short("id", BotId | Bot)], ...], AfterValidator(once_by_id)] = key(
        (),
        "Bot accounts that may use verbs, by id; there is no wildcard.",
        title="a list of account ids, or of `{id, verbs}`",
    )
    budget: Budget = key(Budget(), "Limits of every run, for all actors.")
    options: OptionsPolicy = key(OptionsPolicy(), "Values that the options of a command may have.")
    rules: Rules = key(
        (),
        "Rules for tool calls; the strictest matching rule decides, in any order.",
        title="a list of rules",
    )
    dangerous: DangerousPolicy = key(DangerousPolicy(), "Commands that are denied without a rule.")
    on_deny: Literal["continue", "stop"] = key("continue", "Whether a run continues after a denied call.")
    checks: Checks = key(
        (),
        "Commands that run before and after a change; exit code 0 means passed.",
        title="a list of commands, or of `{name, command, timeout, junit, fallback}`",
    )
    setup: tuple[Annotated[SetupStep, short("command", Script | SetupStep)], ...] = key(
        (),
        "Commands that run once, in the sandbox, before the first check.",
        title="a list of commands, or of `{command, timeout, egress}`",
    )
    run_services: Annotated[tuple[ServiceSpec, ...], Field(max_length=3)] = key(
        (),
        "Servers that tests need; they start inside the sandbox, anew in each round.",
        title="a list of `{name, command, ready, timeout}`",
    )
    bring: Folders = key((), "Folders from earlier workflow steps to copy into the sandbox.")
    history: Annotated[
        int | Literal["full"],
        GetPydanticSchema(lambda *_: int_schema(ge=1, le=1_000_000)),
        word("full", "full"),
    ] = key(
        1,
        "Commits in the work tree's git history; `full` for tools that compute a version from git.",
        title="full, or a whole number from 1 to 1,000,000",
    )
    model: Model = key("", "The model of runs in Actions, unless the request or the workflow names one.")
    models: Annotated[Mapping[Model, Annotated[ModelOverride, OVERRIDE]], FROZEN] = key(
        None,
        "Properties of models that the built-in table lacks or has wrong.",
        factory=dict,
        title="a mapping by provider/name",
    )
    model_settings: ModelSettingsPolicy = key(
        ModelSettingsPolicy(), "Effort, fallback and small model, for all runs or by verb, tier and task."
    )
    agent: AgentPolicy = key(AgentPolicy(), "Instructions for the agent.")
    attachments: AttachmentsPolicy = key(
        AttachmentsPolicy(), "Pictures and files of a thread that the model receives."
    )
    diagnostics: DiagnosticsPolicy = key(DiagnosticsPolicy(), "Language servers and checkers.")
    pull_request: PullRequestPolicy = key(PullRequestPolicy(), "How pull requests are made.")
    push_to_head: bool = key(False, "Put a fix on a pull request onto its own branch, fast-forward only.")
    forks: Literal["suggestions", "pull_request"] = key(
        "suggestions", "What a fix on a fork's pull request becomes."
    )
    dispatch: Annotated[tuple[Annotated[str, _WORKFLOW], ...], Field(max_length=10), ONCE] = key(
        (), "Workflows started on the bot's branch if none starts by itself."
    )
    review: ReviewPolicy = key(ReviewPolicy(), "Reviews of pull requests.")
    thread_author: frozenset[Annotated[str, one_of(READ_ONLY)]] = key(
        frozenset(), "The verbs that outsiders may use in threads that they opened."
    )
    triggers: TriggersPolicy = key(TriggersPolicy(), "Events other than comments that start a run.")
    follow_up: FollowUpPolicy | None = key(
        None, "Follow each pull request that the bot opens, within these limits, until people can merge it."
    )
    replies: bool = key(
        False, "Take replies to the bot as commands without /agent, if it acts as a GitHub App."
    )
    maintenance: MaintenancePolicy = key(MaintenancePolicy(), "Limits of scheduled tasks.")
    writes: WritesPolicy = key(
        WritesPolicy(), "Comments, labels and other writes that a run may make; see maintenance.md."
    )
    diff: DiffPolicy = key(DiffPolicy(), "Changes that a reviewer cannot see in the diff.")
    sandbox: SandboxPolicy = key(SandboxPolicy(), "Limits of the sandbox.")
    identity: Identity = key(Identity(), "The author of the commits.")

    def limits(self, tier: Tier, requested_usd: float | None = None) -> TierPolicy:
        """Return the tier's limits, lowered by those of all runs and by `requested_usd`, the request's `--budget`."""
        own, caps = self.tiers[tier], self.budget
        names = ("usd", "turns", "minutes", "tokens", "commands", "output")
        lowered: dict[str, Any] = {name: least(getattr(own, name), getattr(caps, name)) for name in names}
        return replace(own, **lowered | {"usd": least(lowered["usd"], requested_usd)})

    @property
    def rounds(self) -> FollowUpPolicy:
        """Return the limits of the rounds for a pull request, also of one that is followed on request."""
        return self.follow_up or FollowUpPolicy()

    @property
    def model_names(self) -> tuple[str, ...]:
        """Return the models that runs may ask by themselves, each once."""
        names = (self.model, *self.model_settings.model_names)
        return tuple(dict.fromkeys(filter(None, names)))

    @property
    def verbs_of_bots(self) -> Mapping[int, frozenset[str]]:
        """Return what each listed bot may ask for, by account id."""
        of_tier = self.tiers[Tier.BOT].verbs
        return {bot.id: of_tier if bot.verbs is None else bot.verbs for bot in self.bots}
