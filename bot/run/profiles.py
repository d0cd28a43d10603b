"""What each verb is inside a run: its prompt, the tools it is given, and what it may do to the tree. Pure.

A run gets its tools and its system text once, when it starts. What a profile does not name is not offered; the
gatekeeper refuses it besides, and of a read-only run nothing that changed on disk gets past the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.agent.masking import group
from bot.contracts.journal import Header
from bot.contracts.outcome import Status
from bot.contracts.request import Request, Tier, Verb

READING = ("view", "ls", "glob", "grep")
WRITING = ("edit", "write", "patch")
SHELL = "bash"
SHELL_TOOLS = (SHELL, "bash_output", "bash_kill")
"""What runs commands, and what looks after those in the background: given and kept back together."""

DESCRIBE_CHANGE = "describe_change"
SUBMIT_PLAN = "submit_plan"
REPORT_FINDING = "report_finding"
ASK_USER = "ask_user"
PROPOSE_WRITE = "propose_write"
TODO = "todo"
TASK = "task"

FINAL = frozenset({DESCRIBE_CHANGE, SUBMIT_PLAN})
"""The tools whose call is the last thing that a run needs of its model."""


@dataclass(frozen=True, slots=True)
class Profile:
    """`prompt` names the system text; `tools` are the workshop's and `results` our own.

    Of our own are also the `aids`, which hand over nothing.
    `good` is the status of a run that came to what the verb is for. `setup` and `checks` say whether what the
    policy names under these keys is run. `turns` is a limit besides the policy's. `unrun` is why no code of the
    repository is run, one clause for people and the model; empty where it may be.
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
    aids: tuple[str, ...] = (TODO, TASK)

    @property
    def own(self) -> tuple[str, ...]:
        return (*self.aids, *self.results)

    @property
    def offered(self) -> tuple[str, ...]:
        return (*self.tools, *self.own)


def _changing(verb: Verb, prompt: str, *results: str) -> Profile:
    tools = (*READING, *WRITING, *SHELL_TOOLS)
    return Profile(verb, prompt, tools, (DESCRIBE_CHANGE, *results), Status.CHANGED, False)


def _reading(verb: Verb, good: Status, *results: str, setup: bool, turns: int) -> Profile:
    """Explaining hands over nothing but its last answer, and keeps no list."""
    tools, aids = (*READING, *SHELL_TOOLS), (TODO, TASK) if results else ()
    return Profile(
        verb, verb.value, tools, results, good, True, setup=setup, checks=False, turns=turns, aids=aids
    )


_PROFILES: Mapping[Verb, Profile] = {
    profile.verb: profile
    for profile in (
        _changing(Verb.FIX, "fix", ASK_USER),
        _changing(Verb.CONTINUE, "continue", ASK_USER),
        _changing(Verb.RETRY, "fix", ASK_USER),
        _changing(Verb.APPROVE, "approve"),
        _reading(Verb.PLAN, Status.PLANNED, SUBMIT_PLAN, ASK_USER, setup=True, turns=40),
        _reading(Verb.REVIEW, Status.REVIEWED, REPORT_FINDING, setup=True, turns=60),
        _reading(Verb.EXPLAIN, Status.ANSWERED, setup=False, turns=40),
    )
}

_TRIAGE_TURNS = 80

MODEL_VERBS = frozenset(_PROFILES)
"""The verbs that start a model; `stop`, `status` and `help` never do."""


def profile_of_verb(verb: Verb) -> Profile:
    """What runs of `verb`, one of `MODEL_VERBS`, have in common."""
    return _PROFILES[verb]


def profile_of(request: Request, last: Verb | None = None, *, writes: bool = False) -> Profile:
    """The profile of a run for `request`, whose verb is one of `MODEL_VERBS`. With `writes` it may propose some: a task
    that may is about threads, and changes no file.

    `last` is the verb of the run that a `continue` goes on from: what was read-only stays so. A question can be
    asked only where there is a thread for it to stand in.
    """
    if writes and request.task:
        return _triage(request.verb)
    profile = _PROFILES[request.verb]
    if request.verb is Verb.CONTINUE and last in MODEL_VERBS and _PROFILES[last].read_only:
        profile = replace(_PROFILES[last], verb=Verb.CONTINUE)
    if request.thread is None:
        profile = replace(profile, results=tuple(name for name in profile.results if name != ASK_USER))
    if writes:
        profile = replace(profile, results=(*profile.results, PROPOSE_WRITE))
    reason = why_not_run(request)
    return without_running(profile, reason) if reason else profile


def recorded_profile(header: Header) -> Profile:
    """The profile that a recorded run had: what it went on from shows in the tools that it was given."""
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
        verb, "triage", tools, (PROPOSE_WRITE,), Status.ANSWERED, True,
        setup=False, checks=False, turns=_TRIAGE_TURNS, aids=(),
    )  # fmt: skip


def without_running(profile: Profile, reason: str) -> Profile:
    """`profile` where no code of the repository may be run, for `reason`."""
    return replace(without_commands(profile), setup=False, checks=False, unrun=reason)


def without_commands(profile: Profile) -> Profile:
    """`profile` where the model is given no commands; what the policy names is run all the same."""
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
        f"`--sha {pull.head_sha[:12]}`"
    )
