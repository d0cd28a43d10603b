"""The policy as frozen values, validated and with defaults.

The kinds of rules are in `bot.policy.rule`, which is imported only if there are rules. A new key begins in `keys.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from bot.contracts.request import Tier, Verb

if TYPE_CHECKING:
    from bot.contracts.model import ModelOverride
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
    """Limits of one run; those with `_a_day` of one person within a day. `output` is what commands print, in MiB;
    `None` is no limit. `egress` are names of presets, whose hosts the workspace may reach."""

    verbs: frozenset[Verb]
    usd: float
    turns: int
    minutes: float
    runs_a_day: int
    usd_a_day: float | None = None
    tokens: int | None = None
    commands: int | None = None
    output: float | None = None
    egress: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Budget:
    """Caps for the runs of all tiers. `None` caps nothing beyond the tier's own limit.

    `runs_a_day` is of all that everybody started within a day. `output` is in MiB. `check_minutes` is for all rounds of
    checks of a run together; `None` is 5 at a terminal and 10 in Actions.
    """

    usd: float | None = None
    turns: int | None = None
    minutes: float | None = None
    tokens: int | None = None
    commands: int | None = None
    output: float | None = None
    runs_a_day: int | None = None
    check_minutes: float | None = None


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """`timeout` is in seconds. `junit` and `coverage` are paths or patterns of the reports that it writes."""

    name: str
    command: str
    timeout: float
    junit: tuple[str, ...] = ()
    coverage: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SetupStep:
    """`timeout` is in seconds; `egress` are names of presets, whose hosts it may reach."""

    command: str
    timeout: float
    egress: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PullRequestPolicy:
    """With `signed` the commit is made by GitHub's API, which signs it, and not pushed. A request may change `draft`,
    unless `always_draft`. `ci` is whether CI on the change starts at once or waits for approval."""

    keyword: Literal["Fixes", "Refs"] = "Fixes"
    draft: bool = True
    always_draft: bool = False
    sign_off: bool = False
    signed: bool = False
    ci: Literal["start", "wait"] = "wait"


@dataclass(frozen=True, slots=True)
class OptionsPolicy:
    """Limits on the options of a command. `models` are names, or globs of them; `None` allows all."""

    models: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How models are used. `effort` is one of `bot.contracts.model.EFFORTS`, `fallback` are models for when the one
    before is down or over a limit, `small` writes titles and summaries. `None` is what less exact settings say."""

    effort: str | None = None
    fallback: tuple[str, ...] | None = None
    small: str | None = None


@dataclass(frozen=True, slots=True)
class ModelSettingsPolicy(ModelSettings):
    """The settings of all runs, and those of single verbs, tiers and tasks."""

    verbs: Mapping[str, ModelSettings] = field(default_factory=dict)
    tiers: Mapping[str, ModelSettings] = field(default_factory=dict)
    tasks: Mapping[str, ModelSettings] = field(default_factory=dict)

    def of(self, verb: Verb, tier: Tier, task: str) -> ModelSettings:
        """Return the settings of a run: a task's come before a verb's, those before a tier's, those before all."""
        own = Tier.MAINTAINER if tier is Tier.LOCAL else tier
        levels = (self.tasks.get(task), self.verbs.get(verb), self.tiers.get(own), self)

        def first(name: str) -> Any:
            values = (getattr(level, name) for level in levels if level is not None)
            return next((value for value in values if value is not None), None)

        return ModelSettings(first("effort"), first("fallback"), first("small"))


@dataclass(frozen=True, slots=True)
class ReviewPolicy:
    """`on` are the actions of a `pull_request` event that start a review; `drafts`: drafts are reviewed
    without a command, too. `request_changes` is what a review may do beyond commenting; it never approves."""

    on: frozenset[str] = frozenset({"opened", "ready_for_review", "reopened", "synchronize"})
    drafts: bool = False
    max_findings: int = 20
    request_changes: bool = False


@dataclass(frozen=True, slots=True)
class TriggersPolicy:
    """What starts a run beside a command. `labels` maps a label's name in lower case to the verb that setting it
    asks for; `assignee` is the login whose assignment asks for a fix. `failed_runs` is whether a failed workflow run
    on a pull request's head asks for one. Empty and false are off."""

    labels: Mapping[str, Verb] = field(default_factory=dict)
    assignee: str = ""
    failed_runs: bool = False


@dataclass(frozen=True, slots=True)
class MaintenancePolicy:
    """`open_pulls` is how many pull requests of tasks may be open at once; a task whose pull request somebody
    closed unmerged rests for `back_off_days`, then twice that, and so on."""

    open_pulls: int = 5
    back_off_days: int = 14


@dataclass(frozen=True, slots=True)
class StopHookPolicy:
    """What is reported to the model when it ends: open todo items, new errors in changed files, failed checks."""

    todos: bool = True
    diagnostics: bool = True
    checks: bool = True


@dataclass(frozen=True, slots=True)
class AgentPolicy:
    """`instructions` are names of files whose text goes into the first message."""

    stop_hook: StopHookPolicy = StopHookPolicy()
    instructions: tuple[str, ...] = (
        "AGENTS.md",
        "CLAUDE.md",
        ".claude/CLAUDE.md",
        "GEMINI.md",
        ".github/copilot-instructions.md",
    )


@dataclass(frozen=True, slots=True)
class WritesPolicy:
    """What runs may write on threads: `caps` stand in for the tier's, by the names of `bot.contracts.writes.WriteCaps`.
    `verbs` may write without a task, and set `labels`."""

    caps: Mapping[str, int] = field(default_factory=dict)
    verbs: frozenset[Verb] = frozenset()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DetectorPolicy:
    """What the secret detector knows beyond its own patterns: `rules` is a file of the repository in gitleaks' TOML,
    read from the base commit; empty for none."""

    rules: str = ""


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Limits of each command with all its processes; sizes in MiB. The defaults are those of
    `bot/toolhost/resource_limits.py`."""

    memory: int = 8192
    processes: int = 1000
    file: int = 4096
    disk: int = 8192


@dataclass(frozen=True, slots=True)
class DangerousPolicy:
    """Built-in rules for commands that are switched off, by their names in `bot.policy.dangerous`."""

    allow: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """Resources that a command may use."""

    limits: SandboxLimits = SandboxLimits()


@dataclass(frozen=True, slots=True)
class Identity:
    """The author of commits. The default address cannot belong to any account."""

    name: str = "slash-agent[bot]"
    email: str = "slash-agent@noreply.invalid"


@dataclass(frozen=True, slots=True)
class DiffPolicy:
    """What a change may hold that the gate withholds otherwise: globs of binary files and of symbolic links, and names
    of `bot.policy.protected.SERVICES`, whose configuration may be changed. `deletions`: more than half of the files."""

    binaries: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    deletions: bool = False


@dataclass(frozen=True, slots=True)
class AttachmentsPolicy:
    """Whose pictures and files are sent to the model: `tiers` of the authors of the texts that contain them."""

    tiers: frozenset[Tier] = frozenset({Tier.MAINTAINER})


@dataclass(frozen=True, slots=True)
class ServerPolicy:
    """Settings of one language server or parser. `command` starts it, empty for the default."""

    command: str = ""
    off: bool = False


@dataclass(frozen=True, slots=True)
class DiagnosticsPolicy:
    """Diagnostics of code. `wait` is in seconds for one edit; `servers` is by the names of `bot.contracts.checkers`.
    `checkers` run before and after the change: `None` for those that the repository uses."""

    off: bool = False
    wait: float = 2.0
    servers: Mapping[str, ServerPolicy] = field(default_factory=dict)
    checkers: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """`source` is the file's name, for messages. It and `model` are empty where there is none.

    `push_to_head` lets a commit be put on the head of a pull request of this repository that the bot did not make;
    `forks` says what a result on a fork's head becomes, where that can be. `dispatch` are workflow files to be
    started, with `ci: start`, on a branch that starts no CI by itself. `thread_author` are what an outsider may ask for
    in a thread that they opened.
    """

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
    push_to_head: bool = False
    forks: Literal["suggestions", "pull_request", "push"] = "suggestions"
    dispatch: tuple[str, ...] = ()
    thread_author: frozenset[Verb] = frozenset()
    review: ReviewPolicy = ReviewPolicy()
    triggers: TriggersPolicy = TriggersPolicy()
    maintenance: MaintenancePolicy = MaintenancePolicy()
    writes: WritesPolicy = WritesPolicy()
    agent: AgentPolicy = AgentPolicy()
    models: Mapping[str, ModelOverride] = field(default_factory=dict)
    model_settings: ModelSettingsPolicy = ModelSettingsPolicy()
    options: OptionsPolicy = OptionsPolicy()
    sandbox: SandboxPolicy = SandboxPolicy()
    dangerous: DangerousPolicy = DangerousPolicy()
    detector: DetectorPolicy = DetectorPolicy()
    diff: DiffPolicy = DiffPolicy()
    attachments: AttachmentsPolicy = AttachmentsPolicy()
    diagnostics: DiagnosticsPolicy = DiagnosticsPolicy()

    @property
    def model_names(self) -> tuple[str, ...]:
        """The models that runs may ask by themselves, each once."""
        settings = self.model_settings
        levels = (settings, *settings.tasks.values(), *settings.verbs.values(), *settings.tiers.values())
        names = [self.model, *(name for one in levels for name in (*(one.fallback or ()), one.small or ""))]
        return tuple(dict.fromkeys(filter(None, names)))
