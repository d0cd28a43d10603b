"""The policy: the model of its file, with every key's type, default and help text, and the frozen values of a run.

pydantic reads these dataclasses (`bot.policy.read_policy`); the JSON Schema for editors and the table in docs/policy.md
come from them too (`make schema`). Code makes them by hand, unchecked. A new key begins here.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from bot.contracts.checkers import CHECKER_NAMES, LANGUAGE_SERVERS, MAX_WAIT, REMOVED_SERVERS
from bot.contracts.model import EFFORTS, ModelOverride, ThinkingKind
from bot.contracts.request import Tier
from bot.policy.dangerous import NAMES
from bot.policy.kinds import (
    FROZEN,
    ONCE,
    ONE_OR_MORE,
    As,
    Glob,
    JsonSchema,
    Line,
    Script,
    Short,
    Truth,
    about,
    decimal,
    key,
    line,
    one_of,
    problem,
    raise_problems,
    repeated,
    seconds,
    whole,
    word,
)
from bot.policy.limits import (
    FILE_TIERS,
    Bot,
    Budget,
    Egress,
    TierPolicy,
    TierTable,
    VerbName,
    default_tiers,
    once_by_id,
)
from bot.policy.problems import KEY
from bot.policy.protected import SERVICES
from bot.policy.read_rules import RULES
from bot.policy.rule import Rule
from bot.policy.writes import HIGHEST, VERBS, is_ours
from bot.verbs.registry import READ_ONLY, STANDING_ALONE

# In seconds.
CHECK_TIMEOUT = 600.0
SETUP_TIMEOUT = 900.0
MAX_TIMEOUT = 6 * 3600

_Value = TypeVar("_Value")

Model = Annotated[
    str,
    line(
        "provider/name, as in anthropic/claude-sonnet-5-5", r"[A-Za-z0-9._-]+/[A-Za-z0-9][A-Za-z0-9._:/@+-]*"
    ),
]
# A model's name with stars; nothing else is special to the matcher.
_Models = Annotated[
    str,
    line(
        "provider/name, as in anthropic/claude-sonnet-5-5 or openai/*",
        r"[A-Za-z0-9._*-]+/[A-Za-z0-9*][A-Za-z0-9._:/@+*-]{0,199}",
    ),
]
_Reports = Annotated[tuple[Glob, ...], ONE_OR_MORE]


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """`timeout` is in seconds. `junit` and `coverage` are paths or patterns of the reports that it writes."""

    name: Annotated[Line, about("What the check is called; by default its command.")]
    command: Annotated[Script, about("A shell command; it may have several lines.")]
    timeout: Annotated[float, seconds(MAX_TIMEOUT)] = key(CHECK_TIMEOUT, "How long it may take.")
    junit: _Reports = key((), "The JUnit XML that it writes, so that tests are compared by name.")
    coverage: _Reports = key((), "The coverage report that it writes, of which the changed lines are shown.")


def _once_by_name(checks: tuple[CheckSpec, ...]) -> tuple[CheckSpec, ...]:
    names = repeated(check.name for check in checks)
    raise_problems(((n,), f"a second check has the name `{name}`") for n, name in names)
    return checks


def _name_of(command: str) -> dict[str, str]:
    return {"name": " ".join(command.split())[:80] or "check"}


Checks = Annotated[
    tuple[Annotated[CheckSpec, Short("command", _name_of)], ...], AfterValidator(_once_by_name)
]


@dataclass(frozen=True, slots=True)
class SetupStep:
    """`timeout` is in seconds; `egress` are names of presets, whose hosts it may reach."""

    command: Annotated[Script, about("A shell command; it may have several lines.")]
    timeout: Annotated[float, seconds(MAX_TIMEOUT)] = key(SETUP_TIMEOUT, "How long it may take.")
    egress: Egress = key((), "Package registries that this command may reach, by preset.")


def _folder(folder: str) -> str:
    plain = posixpath.normpath(folder)
    if plain.startswith("/") or plain == "." or ".." in plain.split("/"):
        raise problem("expected a folder inside the repository, relative to its root")
    if plain.split("/")[0] == ".git":
        raise problem("the repository's .git is never brought in")
    return plain


_FOLDER: JsonSchema = {
    "title": "a folder inside the repository, relative to its root",
    "type": ["string", "number", "boolean"],
    "pattern": r"^[^/\u0000-\u001f\u007f-\u009f]",
}
Folders = Annotated[tuple[Annotated[Line, AfterValidator(_folder), WithJsonSchema(_FOLDER)], ...], Field()]


@dataclass(frozen=True, slots=True)
class PullRequestPolicy:
    """A request may change `draft`, unless it is `always`."""

    keyword: Literal["Fixes", "Refs"] = key("Fixes", "How the pull request speaks of its issue.")
    draft: Annotated[bool | Literal["always"], As(Annotated[Truth, word("always", "always")])] = key(
        True, "Whether it is a draft unless the command says otherwise; always: whatever the command says."
    )
    sign_off: Truth = key(False, "Add Signed-off-by to commit messages.")
    signed: Truth = key(False, "Make the commit by GitHub's API, which signs it, in place of a push.")
    ci: Literal["start", "wait"] = key(
        "wait", "Whether CI on the change starts at once or waits for approval."
    )

    @property
    def always_draft(self) -> bool:
        return self.draft == "always"


@dataclass(frozen=True, slots=True)
class OptionsPolicy:
    """Limits on the options of a command. `models` are names, or globs of them; `None` allows all."""

    models: Annotated[
        tuple[str, ...] | None, As(Annotated[tuple[_Models, ...], Field(max_length=50), ONCE])
    ] = key(None, "What --model may ask for; by default any that the job's keys reach.")


_Review = Literal["opened", "ready_for_review", "reopened", "synchronize"]


@dataclass(frozen=True, slots=True)
class ReviewPolicy:
    """`on` are actions of a `pull_request` event. `request_changes` is what a review may do beyond commenting; it never
    approves."""

    on: Annotated[frozenset[str], As(frozenset[_Review])] = key(
        frozenset({"opened", "ready_for_review", "reopened", "synchronize"}),
        "What of a pull request starts a review that nobody asked for; [] for nothing.",
    )
    drafts: Truth = key(False, "Review drafts too, before they are ready.")
    max_findings: Annotated[int, whole(1, 100)] = key(20, "Findings of one review at most.")
    request_changes: Truth = key(False, "Let a review with serious findings request changes.")


def _lower(labels: Mapping[str, str]) -> Mapping[str, str]:
    """GitHub's labels are unique ignoring case."""
    given = list(labels)
    twice = [given[n] for n, _ in repeated(label.lower() for label in given)]
    raise_problems(((label, KEY), f"`{label[:60]}` is given twice") for label in twice)
    return MappingProxyType({label.lower(): verb for label, verb in labels.items()})


@dataclass(frozen=True, slots=True)
class TriggersPolicy:
    """What starts a run beside a command. The names of `labels` are in lower case."""

    labels: Annotated[
        Mapping[Annotated[str, line("a label")], Annotated[str, one_of(STANDING_ALONE)]],
        AfterValidator(_lower),
    ] = key(None, "What setting a label asks for.", factory=dict, title="a mapping of label to verb")
    assignee: Annotated[
        str, line("the login of an account, without @", r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,38})")
    ] = key("", "Assigning this account asks for a fix.")
    failed_runs: Truth = key(False, "A failed run on a pull request asks for a fix, at most twice a head.")


@dataclass(frozen=True, slots=True)
class MaintenancePolicy:
    """A task whose pull request somebody closed unmerged rests for `back_off_days`, then twice that, and so on."""

    open_pulls: Annotated[int, whole(0, 100)] = key(5, "Pull requests of tasks that may be open at once.")
    back_off_days: Annotated[int, whole(1, 365)] = key(
        14, "Days before a task whose pull request was closed is tried again; doubles each time."
    )


@dataclass(frozen=True, slots=True)
class StopHookPolicy:
    """What is reported to the model when it ends."""

    todos: Truth = key(True, "Tell the model of open items of its list when it says that it is done.")
    diagnostics: Truth = key(True, "Tell it of files that no longer parse and of new errors.")
    checks: Truth = key(True, "Tell it of checks that fail with its change.")


# Only the loader checks characters beyond ASCII: \w differs between regular expression dialects.
_NAME = r"[^\u0000-,/:-@\[-^`{-\u007f]{1,100}"
_File = Annotated[
    str,
    line(
        "the name of a file, as in AGENTS.md or .github/copilot-instructions.md",
        r"(?:(?!\.\.?/)[\w.-]{1,100}/){0,3}(?!\.\.?$)[\w.-]{1,100}",
        schema=rf"(?:(?!\.\.?/){_NAME}/){{0,3}}(?!\.\.?$){_NAME}",
    ),
]


@dataclass(frozen=True, slots=True)
class AgentPolicy:
    """`instructions` are names of files whose text goes into the first message."""

    stop_hook: StopHookPolicy = key(
        StopHookPolicy(), "What the model is told when it is done, at most twice."
    )
    instructions: Annotated[tuple[_File, ...], Field(max_length=10), ONCE] = key(
        ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"),
        "Files of instructions, read from the base: the first with text in a folder, the nearest first.",
    )


def _cap(most: int) -> As:
    return As(Annotated[int, whole(0, most)])


def _not_ours(label: str) -> str:
    if is_ours(label):
        raise problem(f"`{label[:40]}` starts this bot, so a run may not set it")
    return label


def _distinct(labels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(labels))


Label = Annotated[Line, AfterValidator(_not_ours)]


@dataclass(frozen=True, slots=True)
class WritesPolicy:
    """What runs may write on threads. The numbers stand in for the tier's; `verbs` may write without a task, and set
    `labels`."""

    comment: Annotated[int | None, _cap(HIGHEST.comment)] = key(
        None, "Comments of one run at most, by itself."
    )
    reply: Annotated[int | None, _cap(HIGHEST.reply)] = key(
        None, "Answers to review comments of one run at most."
    )
    label: Annotated[int | None, _cap(HIGHEST.label)] = key(
        None, "Labels that one run may set and take off at most."
    )
    close: Annotated[int | None, _cap(HIGHEST.close)] = key(None, "Issues that one run may close at most.")
    close_pulls: Annotated[int | None, _cap(HIGHEST.close_pulls)] = key(
        None, "Pull requests that one run may close at most."
    )
    edit: Annotated[int | None, _cap(HIGHEST.edit)] = key(None, "Issues that one run may edit at most.")
    verbs: frozenset[Annotated[str, one_of(tuple(VERBS))]] = key(
        frozenset(), "What may write without a task, in the thread that was asked in."
    )
    labels: Annotated[tuple[Label, ...], AfterValidator(_distinct)] = key(
        (), "Labels that they may set and take off."
    )

    @property
    def caps(self) -> Mapping[str, int]:
        """Return the numbers by the names of `WriteCaps`."""
        numbers = {name: getattr(self, name) for name, _ in HIGHEST.each()}
        return {name: number for name, number in numbers.items() if number is not None}


@dataclass(frozen=True, slots=True)
class DetectorPolicy:
    """What the secret detector knows beyond its own patterns; `rules` is read from the base commit."""

    rules: Annotated[
        str,
        line(
            "a .toml file of the repository, relative to its root",
            r"(?!\.?/|.*//)(?!(?:.*/)?\.\.?(?:/|$))(?!\.git/)[^\\]*[^\\/]\.toml",
        ),
    ] = key("", "Rules in gitleaks' TOML, beside the built-in patterns; a file of this repository.")


_Mib = Annotated[int, whole(1, 64 * 1024)]


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Limits of each command with all its processes; sizes in MiB. The defaults are those of
    `bot/toolhost/resource_limits.py`."""

    memory: Annotated[int, whole(64, 64 * 1024)] = key(8192, "MiB that its processes hold together.")
    processes: Annotated[int, whole(10, 10_000)] = key(1000, "Processes at once.")
    file: _Mib = key(4096, "MiB of one file.")
    disk: _Mib = key(8192, "MiB that all commands together add to the work tree and tmp.")


@dataclass(frozen=True, slots=True)
class DangerousPolicy:
    """Built-in rules for commands that are switched off, by their names in `bot.policy.dangerous`."""

    allow: Annotated[tuple[Annotated[str, one_of(NAMES)], ...], ONCE] = key(
        (), "Built-in rules that do not hold here, by name."
    )


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """Resources that a command may use."""

    limits: SandboxLimits = key(SandboxLimits(), "For each command with all that it starts.")


@dataclass(frozen=True, slots=True)
class Identity:
    """The author of commits. The default address cannot belong to any account."""

    name: Annotated[
        str, line("a name without < and >", r"[^<>]*", schema=r"[^<>\u0000-\u001f\u007f-\u009f]+")
    ] = key("slash-agent[bot]", "The author's name.")
    email: Annotated[
        str,
        line(
            "an address, as in bot@example.org",
            r"[^\s<>@\"]+@[^\s<>@\"]+",
            schema=r'[^\u0000-\u0020<>@"]+@[^\u0000-\u0020<>@"]+',
        ),
    ] = key("slash-agent@noreply.invalid", "The author's address.")


_Globs = Annotated[tuple[Glob, ...], Field(max_length=100)]


@dataclass(frozen=True, slots=True)
class DiffPolicy:
    """What a change may hold that the gate withholds otherwise. `services` are of `bot.policy.protected.SERVICES`."""

    binaries: _Globs = key((), "Binary files that may be made or changed.")
    links: _Globs = key((), "Symbolic links that may be made or changed.")
    services: Annotated[tuple[Annotated[str, one_of(tuple(SERVICES))], ...], ONCE] = key(
        (), "CI and deployment services whose configuration may be changed."
    )
    deletions: Truth = key(False, "Whether a change may delete more than half of the files, of 20 or more.")


# A schedule has no author of a text.
_AUTHORS = (Tier.MAINTAINER, Tier.CONTRIBUTOR, Tier.OUTSIDER, Tier.BOT)


@dataclass(frozen=True, slots=True)
class AttachmentsPolicy:
    """Whose pictures and files are sent to the model."""

    tiers: Annotated[frozenset[Annotated[Tier, one_of(_AUTHORS)]], ONCE] = key(
        frozenset({Tier.MAINTAINER}), "Of whose texts; by the author's account, whoever gave the command."
    )


@dataclass(frozen=True, slots=True)
class ServerPolicy:
    """Settings of one language server or parser. `command` starts it, empty for the default."""

    command: Line = key("", "How it is started instead: words, as a shell would split them.")
    off: Truth = key(False, "Leave this one out.")


@dataclass(frozen=True, slots=True)
class DiagnosticsPolicy:
    """Diagnostics of code. `wait` is in seconds for one edit; `servers` is by the names of `bot.contracts.checkers`.
    `checkers` run before and after the change: `None` for those that the repository uses."""

    off: Truth = key(False, "No language servers, and no checkers before and after.")
    wait: Annotated[float, seconds(MAX_WAIT)] = key(
        2.0, "How long an edit's result waits for what is found in it, at most."
    )
    servers: Annotated[
        Mapping[Annotated[str, one_of(LANGUAGE_SERVERS, REMOVED_SERVERS)], ServerPolicy], FROZEN
    ] = key(
        None,
        "Single language servers and parsers.",
        factory=dict,
        title=f"a mapping by name, one of {', '.join(LANGUAGE_SERVERS)}",
    )
    checkers: Annotated[
        tuple[str, ...] | None,
        As(Annotated[tuple[Annotated[str, one_of(CHECKER_NAMES)], ...], ONCE, word("none", ())]),
    ] = key(None, "What runs before and after; what is there, if not said.")


_Price = Annotated[float, decimal(10_000)]
_MaybePrice = Annotated[float | None, As(_Price)]
_Size = Annotated[int | None, As(Annotated[int, whole(1, 100_000_000)])]
_Flag = Annotated[bool | None, As(Truth)]
_Effort = Annotated[str, one_of(EFFORTS)]


@dataclass(frozen=True, slots=True)
class Prices:
    """USD per million tokens."""

    input: Annotated[_Price, about("USD per million tokens sent.")]
    output: Annotated[_Price, about("USD per million tokens made.")]
    cache_read: _MaybePrice = key(None, "USD per million tokens read from the cache; `input` if not said.")
    cache_write: _MaybePrice = key(None, "USD per million tokens put into the cache; `input` if not said.")


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The keys of `models`, which become a `ModelOverride`."""

    window: _Size = key(None, "Tokens that fit in a request.")
    max_output: _Size = key(None, "Tokens of one answer at most.")
    price: Annotated[Prices | None, As(Prices)] = key(None, "What it costs.")
    vision: _Flag = key(None, "Whether it sees images.")
    thinking: Annotated[ThinkingKind | None, As(ThinkingKind)] = key(None, "How it is asked to think.")
    streams_tools: _Flag = key(None, "Whether it streams tool calls.")
    min_cacheable: _Size = key(None, "Tokens that a prefix needs to be cached.")
    allowed_tools: _Flag = key(None, "Whether a request may name the tools that are allowed now.")
    forced_choice: _Flag = key(None, "Whether a request may force a tool.")
    prefill: _Flag = key(None, "Whether the model continues a last message of its own.")
    timeout: Annotated[int | None, As(Annotated[int, whole(1, 7_200)])] = key(
        None, "Seconds to wait for the first byte of an answer; 900 if not said."
    )
    efforts: Annotated[tuple[str, ...] | None, As(Annotated[tuple[_Effort, ...], ONCE])] = key(
        None, "The levels of effort that it accepts."
    )


def _override(facts: ModelFacts) -> ModelOverride:
    """Without prices of the cache, cached tokens cost the full price, so that a cap takes effect early."""
    same = (
        "max_output",
        "vision",
        "thinking",
        "streams_tools",
        "min_cacheable",
        "allowed_tools",
        "forced_choice",
        "prefill",
        "timeout",
        "efforts",
    )
    known = {name: getattr(facts, name) for name in same}
    price = facts.price
    if price is not None:
        for name in ("input", "output", "cache_read", "cache_write"):
            own = getattr(price, name)
            known[f"{name}_price"] = price.input if own is None else own
    return ModelOverride(context_window=facts.window, **known)


_Override = As(Annotated[ModelFacts, AfterValidator(_override)])


_Fallback = Annotated[tuple[Model, ...], Field(max_length=5), ONCE]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How models are used. `None`: less specific settings decide."""

    effort: Annotated[str | None, As(_Effort)] = key(
        None, "How much the model thinks; the nearest lower level that it has."
    )
    fallback: Annotated[tuple[str, ...] | None, As(_Fallback)] = key(
        None, "Models for the rest of a run whose model is down or over a limit, the first that answers."
    )
    small: Annotated[str | None, As(Model)] = key(None, "The model that writes titles and summaries.")


_TASK = line("the name of a task, its file's name without .md", r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class ModelSettingsPolicy(ModelSettings):
    """The settings of all runs, and those of single verbs, tiers and tasks."""

    verbs: Annotated[Mapping[VerbName, ModelSettings], FROZEN] = key(
        None,
        "The same keys for single verbs; they come before those of tiers.",
        factory=dict,
        title="a mapping by verb",
    )
    tiers: Annotated[Mapping[Annotated[Tier, one_of(FILE_TIERS)], ModelSettings], FROZEN] = key(
        None, "The same keys for single tiers.", factory=dict, title="a mapping by tier"
    )
    tasks: Annotated[Mapping[Annotated[str, _TASK], ModelSettings], FROZEN] = key(
        None,
        "The same keys for single tasks; they come before those of verbs.",
        factory=dict,
        title="a mapping by task",
    )

    def of(self, verb: str, tier: Tier, task: str) -> ModelSettings:
        """Return the settings of a run: a task's come before a verb's, those before a tier's, those before all."""
        own = Tier.MAINTAINER if tier is Tier.LOCAL else tier
        found = (self.tasks.get(task), self.verbs.get(verb), self.tiers.get(own), self)
        levels = [level for level in found if level is not None]
        return ModelSettings(
            _first(level.effort for level in levels),
            _first(level.fallback for level in levels),
            _first(level.small for level in levels),
        )

    @property
    def model_names(self) -> list[str]:
        """Return every model that the settings name, by level."""
        levels = (self, *self.tasks.values(), *self.verbs.values(), *self.tiers.values())
        return [name for one in levels for name in (*(one.fallback or ()), one.small) if name]


def _first(values: Iterable[_Value | None]) -> _Value | None:
    return next((value for value in values if value is not None), None)


_WORKFLOW = line(
    "the name of a file in .github/workflows, as in ci.yml", r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}\.ya?ml"
)


@dataclass(frozen=True, slots=True)
class Policy:
    """`source` is the file's name, for messages; it and `model` are empty where there is none. The fields are the keys
    of the file, in the order in which docs/policy.md lists them."""

    source: SkipJsonSchema[str]
    version: Annotated[
        Literal["1"], WithJsonSchema({"title": "1, the version of this format", "enum": [1, "1"]})
    ] = key("1", "The version of this file's format.")
    tiers: Annotated[Mapping[Tier, TierPolicy], TierTable()] = key(
        None,
        "Who may do what, and how much, if it differs from the defaults.",
        factory=default_tiers,
        title="a mapping by tier",
    )
    bots: Annotated[tuple[Annotated[Bot, Short("id")], ...], AfterValidator(once_by_id)] = key(
        (),
        "Accounts of bots that may ask, by id; there is no wildcard.",
        title="a list of account ids, or of `{id, verbs}`",
    )
    budget: Budget = key(Budget(), "Caps for every run, whoever asks.")
    options: OptionsPolicy = key(OptionsPolicy(), "What the options of a command may ask for.")
    rules: Annotated[tuple[Rule, ...], RULES] = key(
        (),
        "What tools may do where; the strictest rule that matches wins, whatever the order.",
        title="a list of rules",
    )
    dangerous: DangerousPolicy = key(DangerousPolicy(), "Commands that are denied without a rule.")
    on_deny: Literal["continue", "stop"] = key("continue", "Whether a run goes on after a call was denied.")
    checks: Checks = key(
        (),
        "Commands run before and after a change; exit code 0 is a pass.",
        title="a list of commands, or of `{name, command, timeout, junit, coverage}`",
    )
    setup: tuple[Annotated[SetupStep, Short("command")], ...] = key(
        (),
        "Commands run once, in the sandbox, before the first check.",
        title="a list of commands, or of `{command, timeout, egress}`",
    )
    bring: Folders = key((), "Folders that earlier steps of the workflow prepared, brought into the sandbox.")
    history: Annotated[
        int | Literal["full"], As(Annotated[int, whole(1, 1_000_000), word("full", "full")])
    ] = key(1, "Commits that come along; full for tools that compute a version from git.")
    model: Model = key("", "The model of runs in Actions, unless the request or the workflow names one.")
    models: Annotated[Mapping[Model, Annotated[ModelOverride, _Override]], FROZEN] = key(
        None,
        "What is known better here of models than in the program's own table.",
        factory=dict,
        title="a mapping by provider/name",
    )
    model_settings: ModelSettingsPolicy = key(
        ModelSettingsPolicy(), "Effort, fallback and small model, for all runs or single ones."
    )
    agent: AgentPolicy = key(AgentPolicy(), "How the model is worked with.")
    attachments: AttachmentsPolicy = key(
        AttachmentsPolicy(), "Whose pictures and files in a thread a model is shown."
    )
    diagnostics: DiagnosticsPolicy = key(
        DiagnosticsPolicy(), "What is looked for in code while it is edited, and after."
    )
    pull_request: PullRequestPolicy = key(PullRequestPolicy(), "How pull requests are made.")
    push_to_head: Truth = key(False, "Put a fix on a pull request onto its own branch, fast-forward only.")
    forks: Literal["suggestions", "pull_request", "push"] = key(
        "suggestions", "What a fix on a fork's pull request becomes."
    )
    dispatch: Annotated[tuple[Annotated[str, _WORKFLOW], ...], Field(max_length=10), ONCE] = key(
        (), "Workflows started on the bot's branch if none starts by itself."
    )
    review: ReviewPolicy = key(ReviewPolicy(), "Reviews of pull requests.")
    thread_author: frozenset[Annotated[str, one_of(READ_ONLY)]] = key(
        frozenset(), "What outsiders may ask for in a thread that they opened."
    )
    triggers: TriggersPolicy = key(TriggersPolicy(), "What starts a run beside a command.")
    maintenance: MaintenancePolicy = key(MaintenancePolicy(), "Limits of scheduled tasks.")
    writes: WritesPolicy = key(
        WritesPolicy(), "Comments, labels and the like that a run may make; see maintenance.md."
    )
    diff: DiffPolicy = key(DiffPolicy(), "What a change may hold that a review does not show.")
    sandbox: SandboxPolicy = key(SandboxPolicy(), "How much of the machine a command may take.")
    detector: DetectorPolicy = key(DetectorPolicy(), "The secret detector.")
    identity: Identity = key(Identity(), "Who the commits are by.")

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
