"""The profile of each verb: its prompt, its tools, and what it may do to the tree. Pure.

A run gets its tools and its system text once, at its start. Tools that a profile does not name are not offered, and the
gatekeeper refuses them; a read-only run's changes on disk are dropped at its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from bot.agent.masking import Masking, first_and_last_mask, group
from bot.contracts.journal import Header
from bot.contracts.outcome import Status
from bot.contracts.request import Request, Tier, Verb

READING = ("view", "ls", "glob", "grep")
WRITING = ("edit", "write", "patch")
SHELL = "bash"
SHELL_TOOLS = (SHELL, "bash_output", "bash_kill")
"""The tools that run commands and control those in the background: offered together."""

DESCRIBE_CHANGE = "describe_change"
SUBMIT_PLAN = "submit_plan"
REPORT_FINDING = "report_finding"
ASK_USER = "ask_user"
PROPOSE_WRITE = "propose_write"
TODO = "todo"
TASK = "task"

FINAL = frozenset({DESCRIBE_CHANGE, SUBMIT_PLAN})
"""The tools whose call is the last that a run needs."""


@dataclass(frozen=True, slots=True)
class Profile:
    """`prompt` names the system text; `tools` are the workspace's and `results` our own.

    Of our own are also the `aids`, which hand over nothing.
    `good` is the status of a run that came to what the verb is for. `setup` and `checks` say whether what the
    policy names under these keys is run. `turns` is a limit besides the policy's. `unrun` is why no code of the
    repository is run, one clause for people and the model; empty where it may be. With `granted`, commands are those
    alone that a rule of the policy allows.
    """

    verb: Verb
    prompt: str
    tools: tuple[str, ...]
    results: tuple[str, ...]
    good: Status
    read_only: bool
    setup: bool = True
    checks: bool = True
    turns: int | None = None
    unrun: str = ""
    granted: bool = False
    aids: tuple[str, ...] = (TODO, TASK)

    @property
    def own(self) -> tuple[str, ...]:
        return (*self.aids, *self.results)

    @property
    def masking(self) -> Masking:
        """Which tools may be called when."""
        return first_and_last_mask(
            self.results, final=bool(FINAL & set(self.results)), first_tools=self.looking
        )

    @property
    def looking(self) -> tuple[str, ...]:
        """The tools that the first answer of a judging or planning run is asked to call."""
        judges = {SUBMIT_PLAN, REPORT_FINDING} & set(self.results)
        return tuple(name for name in (*self.tools, *self.aids) if name != TODO) if judges else ()

    @property
    def offered(self) -> tuple[str, ...]:
        return (*self.tools, *self.own)


def _changing(verb: Verb, prompt: str, *results: str) -> Profile:
    tools = (*READING, *WRITING, *SHELL_TOOLS)
    return Profile(verb, prompt, tools, (DESCRIBE_CHANGE, *results), Status.CHANGED, False)


def _reading(
    verb: Verb, good: Status, *results: str, turns: int, commands: Literal["all", "granted", "none"]
) -> Profile:
    """A profile that reads. `explain` has no result tool and no list."""
    tools = READING if commands == "none" else (*READING, *SHELL_TOOLS)
    return Profile(
        verb,
        verb.value,
        tools,
        results,
        good,
        True,
        setup=commands == "all",
        checks=False,
        turns=turns,
        granted=commands == "granted",
        aids=(TODO, TASK) if results else (),
    )


_PROFILES: Mapping[Verb, Profile] = {
    profile.verb: profile
    for profile in (
        _changing(Verb.FIX, "fix", ASK_USER),
        _changing(Verb.CONTINUE, "continue", ASK_USER),
        _changing(Verb.RETRY, "fix", ASK_USER),
        _changing(Verb.APPROVE, "approve"),
        _reading(Verb.PLAN, Status.PLANNED, SUBMIT_PLAN, ASK_USER, turns=40, commands="none"),
        _reading(Verb.REVIEW, Status.REVIEWED, REPORT_FINDING, turns=60, commands="all"),
        _reading(Verb.EXPLAIN, Status.ANSWERED, turns=40, commands="granted"),
    )
}

_TRIAGE_TURNS = 80

MODEL_VERBS = frozenset(_PROFILES)
"""The verbs that start a model; `stop`, `status` and `help` never do."""


def profile_of_verb(verb: Verb) -> Profile:
    """The common profile of runs of `verb`, one of `MODEL_VERBS`."""
    return _PROFILES[verb]


def profile_of(request: Request, last: Verb | None = None, *, writes: bool = False) -> Profile:
    """The profile of a run for `request`, whose verb is one of `MODEL_VERBS`. With `writes` it may propose some: a task
    that may is about threads, and changes no file.

    `last` is the verb of the run that a `continue` goes on from: what was read-only stays so. A question can be
    asked only where there is a thread for it to stand in, or somebody who started the run on their own machine.
    """
    if writes and request.task:
        return _triage(request.verb)
    profile = _PROFILES[request.verb]
    if request.verb is Verb.CONTINUE and last in MODEL_VERBS and _PROFILES[last].read_only:
        profile = replace(_PROFILES[last], verb=Verb.CONTINUE)
    if request.thread is None and request.actor.tier is not Tier.LOCAL:
        profile = replace(profile, results=tuple(name for name in profile.results if name != ASK_USER))
    if writes:
        profile = replace(profile, results=(*profile.results, PROPOSE_WRITE))
    reason = why_not_run(request)
    return without_running(profile, reason) if reason else profile


def recorded_profile(header: Header) -> Profile:
    """The profile of a recorded run, by the tools in its header."""
    names = {tool.name for tool in header.tools}
    profile = _by_tools(header, names)
    return profile if SHELL in names else without_commands(profile)


def _by_tools(header: Header, names: set[str]) -> Profile:
    writes = PROPOSE_WRITE in names
    if names & set(WRITING):
        return profile_of(header.request, writes=writes)
    for verb, result in ((Verb.PLAN, SUBMIT_PLAN), (Verb.REVIEW, REPORT_FINDING)):
        if result in names:
            return profile_of(header.request, verb, writes=writes)
    return profile_of(header.request, Verb.EXPLAIN, writes=writes)


def _triage(verb: Verb) -> Profile:
    tools = (*READING, *SHELL_TOOLS)
    return Profile(
        verb,
        "triage",
        tools,
        (PROPOSE_WRITE,),
        Status.ANSWERED,
        True,
        setup=False,
        checks=False,
        turns=_TRIAGE_TURNS,
        aids=(),
    )


def without_running(profile: Profile, reason: str) -> Profile:
    """`profile` where no code of the repository may be run, for `reason`."""
    return replace(without_commands(profile), setup=False, checks=False, unrun=reason)


def without_commands(profile: Profile) -> Profile:
    """`profile` without command tools; setup and checks of the policy still run."""
    return replace(profile, tools=tuple(name for name in profile.tools if group(name) != SHELL))


def why_not_run(request: Request) -> str:
    """Why the code that `request` is about may not be run, as a clause; empty where it may.

    A fork's head is code by somebody who may not push here. It is run only at the very commit that a maintainer
    named.
    """
    pull = request.pull
    if pull is None or not pull.from_fork(request.repository):
        return ""
    named = bool(request.trusted_sha) and request.trusted_sha == pull.head_sha
    if named and request.actor.tier in (Tier.MAINTAINER, Tier.LOCAL):
        return ""
    return (
        "the pull request comes from a fork, and nothing of a fork is run unless a maintainer names its head: "
        f"`--sha {pull.head_sha}`"
    )
