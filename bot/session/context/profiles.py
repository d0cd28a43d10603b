"""The profile of a run: that of its verb, less what the request and the policy do not allow. Pure.

A run gets its tools and its system text once, at its start. Tools that a profile does not name are not offered, and the
gatekeeper refuses them; a read-only run's changes on disk are dropped at its end.
"""

from dataclasses import replace

from bot.agent.prompt import prompt_text
from bot.agent.toolbox import Masking, first_and_last_mask, group
from bot.contracts.journal import Header
from bot.contracts.outcome import Status
from bot.contracts.request import Request, Tier
from bot.contracts.tool_descriptions import READING, SHELL, SHELL_TOOLS, WRITING
from bot.verbs.record import (
    ASK_USER,
    DESCRIBE_CHANGE,
    PROPOSE_WRITE,
    REPORT_FINDING,
    SUBMIT_PLAN,
    TODO,
    Earlier,
    Profile,
)
from bot.verbs.registry import MODEL_VERBS, VERBS, needs

FINAL = frozenset({DESCRIBE_CHANGE, SUBMIT_PLAN})
"""The tools whose call is the last that a run needs."""

_TRIAGE_TURNS = 80


def masking_of(profile: Profile) -> Masking:
    """Return which tools may be called when. The first answer of a judging or planning run is asked to look."""
    judges = {SUBMIT_PLAN, REPORT_FINDING} & set(profile.results)
    first = tuple(name for name in (*profile.tools, *profile.helper_tools) if name != TODO) if judges else ()
    return first_and_last_mask(profile.results, final=bool(FINAL & set(profile.results)), first_tools=first)


def profile_of_verb(verb: str) -> Profile:
    """The common profile of runs of `verb`, one of `MODEL_VERBS`."""
    profile = VERBS[verb].profile
    if profile is None:
        raise KeyError(verb)
    return replace(profile, verb=verb)


def profile_of(request: Request, last: str = "", *, writes: bool = False) -> Profile:
    """The profile of a run for `request`, whose verb is one of `MODEL_VERBS`. With `writes` it may propose some: a task
    that may is about threads, and changes no file.

    `last` is the verb of the run that a `continue` goes on from: what was read-only stays so. A question can be
    asked only where there is a thread for it to stand in, or somebody who started the run on their own machine.
    """
    if writes and request.task:
        return Profile(
            prompt_text("triage"),
            (*READING, *SHELL_TOOLS),
            (PROPOSE_WRITE,),
            Status.ANSWERED,
            read_only=True,
            setup=False,
            checks=False,
            turns=_TRIAGE_TURNS,
            helper_tools=(),
            verb=request.verb,
        )
    profile = profile_of_verb(request.verb)
    if needs(request.verb, Earlier.RUN) and last in MODEL_VERBS and VERBS[last].read_only:
        profile = replace(profile_of_verb(last), verb=request.verb)
    if request.thread is None and request.actor.tier is not Tier.LOCAL:
        profile = replace(profile, results=tuple(name for name in profile.results if name != ASK_USER))
    if writes:
        profile = replace(profile, results=(*profile.results, PROPOSE_WRITE))
    reason = why_not_run(request)
    return without_running(profile, reason) if reason else profile


def recorded_profile(header: Header) -> Profile:
    """The profile of a recorded run, by the tools in its header."""
    names = {tool.name for tool in header.tools}
    last = ""
    if not names & set(WRITING):
        # The results of a read-only run tell its verb.
        reading = ((verb.name, verb.profile) for verb in VERBS.values() if verb.read_only)
        last = next(name for name, one in reading if not one or set(one.results) - {ASK_USER} <= names)
    profile = profile_of(header.request, last, writes=PROPOSE_WRITE in names)
    return profile if SHELL in names else without_commands(profile)


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
