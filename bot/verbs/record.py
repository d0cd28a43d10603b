"""What a verb is: the record that each file of this package fills in. Data only; `registry.py` has the recipe."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from bot.contracts.outcome import Status
from bot.contracts.request import CHECK, CHECK_MINUTES, NO_CHECKS, SKILL, Tier
from bot.contracts.tool_descriptions import READING, SHELL_TOOLS, WRITING
from bot.contracts.writes import WriteCaps

DESCRIBE_CHANGE = "describe_change"
SUBMIT_PLAN = "submit_plan"
REPORT_FINDING = "report_finding"
ASK_USER = "ask_user"
PROPOSE_WRITE = "propose_write"
TODO = "todo"
TASK = "task"

RUN_OPTIONS = ("model", "budget", "dry-run", "sha", SKILL)
"""Options of every run with a model."""

ANYWAY = "anyway"
"""The option that starts a run although there are open pull requests about its issue."""

CHANGE_OPTIONS = (*RUN_OPTIONS, "draft", CHECK, NO_CHECKS, CHECK_MINUTES)
"""Options of a run that changes code."""

EVERYBODY = frozenset({Tier.CONTRIBUTOR, Tier.BOT, Tier.OUTSIDER})
COLLABORATORS = frozenset({Tier.CONTRIBUTOR, Tier.BOT})

NO_WRITES = WriteCaps()


class Place(StrEnum):
    """Where a command may be given. `REPOSITORY` is a workflow's input without an issue or a pull request."""

    ISSUE = "issue"
    PULL = "pull request"
    REPOSITORY = "repository"


ANYWHERE = frozenset(Place)
THREADS = frozenset({Place.ISSUE, Place.PULL})


class Earlier(StrEnum):
    """What a command takes from earlier in its thread: the last request, the last run, or the plan that it names."""

    REQUEST = "request"
    RUN = "run"
    PLAN = "plan"


class Answer(StrEnum):
    """The answer of a verb without a model: the list of commands, the runs of the thread, their
    cancellation, or the next step of a pull request."""

    COMMANDS = "commands"
    RUNS = "runs"
    CANCELLATION = "cancellation"
    FOLLOWING = "following"


@dataclass(frozen=True)
class Profile:
    """How a run with a model works. `prompt` is the system text, `tools` are the workspace's and `results` those that
    hand over a result; `helper_tools` (todo, task) return none.

    `success` is the status of a successful run. `setup` and `checks` say whether what the policy names under these
    keys is run. `turns` is a limit besides the policy's. `unrun` is why no code of the repository is run, one clause
    for people and the model; empty where it may be. With `granted`, only commands that a rule of the policy allows
    are run. `verb` is the name of the verb, which `bot.session.context.profiles` sets.
    """

    prompt: str
    tools: tuple[str, ...]
    results: tuple[str, ...]
    success: Status
    read_only: bool
    setup: bool = True
    checks: bool = True
    turns: int | None = None
    unrun: str = ""
    granted: bool = False
    helper_tools: tuple[str, ...] = (TODO, TASK)
    verb: str = ""

    @property
    def supervisor_tools(self) -> tuple[str, ...]:
        return (*self.helper_tools, *self.results)

    @property
    def all_tools(self) -> tuple[str, ...]:
        return (*self.tools, *self.supervisor_tools)


def changing(prompt: str, *results: str) -> Profile:
    """Return the profile of a run that changes code."""
    tools = (*READING, *WRITING, *SHELL_TOOLS)
    return Profile(prompt, tools, (DESCRIBE_CHANGE, *results), Status.CHANGED, read_only=False)


class Local(NamedTuple):
    """The verb on the command line: the line in the list of commands, the text of its `--help`, an example, and what
    its instruction is."""

    help: str
    description: str
    example: str
    instruction: str = "what to do, in your own words"


class Verb(NamedTuple):
    """One verb. `example` is a command without `/agent`, `help` says what it does, in one line; `order` is its place in
    lists. `tiers` may use it by default, besides maintainers and schedules, which may use all.

    `profile` is `None` for a verb that `answer` answers without a model. `publishes` are the statuses with which its
    bundle is published. `starts_on` are causes of an event (`bot.events.event_request.Cause`) that request it without
    a command. `on_closed`: it may be given under a closed pull request. `reads_failures`: the model is shown the
    failed checks of the pull request. `writes` caps the writes on threads that a policy may grant it. `is_default`: it
    is meant where a command names no verb. `merges`: it works on the merge of the base branch into the pull request.
    """

    name: str
    example: str
    help: str
    order: int
    places: frozenset[Place] = ANYWHERE
    options: tuple[str, ...] = RUN_OPTIONS
    tiers: frozenset[Tier] = frozenset()
    profile: Profile | None = None
    answer: Answer | None = None
    publishes: frozenset[Status] = frozenset()
    earlier: Earlier | None = None
    starts_on: tuple[str, ...] = ()
    on_closed: bool = False
    reads_failures: bool = False
    writes: WriteCaps = NO_WRITES
    is_default: bool = False
    merges: bool = False
    local: Local | None = None

    @property
    def read_only(self) -> bool:
        """Whether it starts a model and changes no code."""
        return self.profile is not None and self.profile.read_only

    @property
    def reviews(self) -> bool:
        """Whether it judges the diff of a pull request."""
        return self.profile is not None and self.profile.success is Status.REVIEWED

    @property
    def changes(self) -> bool:
        """Whether it publishes changes of code."""
        return Status.CHANGED in self.publishes
