"""What starts a run: the command in an event, or the one that the policy derives from a label, an assignment, a pull
request, a reply or a failed run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.events.command import Command, parse_command
from bot.events.event_request import Cause, CommandSource, EventRequest, NoRequestError
from bot.verbs.record import Earlier
from bot.verbs.registry import DEFAULT, VERBS, started_by

if TYPE_CHECKING:
    from bot.policy.settings import Policy  # pydantic: an event that is not for the bot needs none

FIX_FAILED_RUN = "what the failed checks show"
FIX_FAILED_UPDATE = (
    "This dependency update breaks the failed checks below. Adapt the code to the new version, and leave the update as "
    "it is. The text of the pull request may have the release notes."
)
ROUND_WORDS = {
    "fix": "Fix the cause of the failed checks below. Change the code, not the checks: no test is skipped, weakened or "
    "given more time.",
    "review": "Answer each open review thread below: change the code where the reviewer is right. Then propose one "
    "`reply` for each thread, with its `comment_id`: one sentence on what you changed, or why you did not. "
    "Where you need a decision, it is one question, which ends with `?`.",
    "conflict": "Resolve the conflicts with the base branch in the files with conflict markers. Change nothing else.",
}
"""The instruction of each kind of round of a pull request that the bot follows."""
MOST_TRIES = {Cause.FAILED_RUN: 2, Cause.FAILED_UPDATE: 1}
"""How often failed runs may start a fix of one head."""


def command_for(policy: Policy, event_request: EventRequest) -> Command:
    """Return the command in the event, or the one that the policy derives from it. Raises `NoRequestError`."""
    if event_request.command is not None:
        return event_request.command
    cause, detail = event_request.cause, event_request.detail
    verb, why, instruction = started_by(cause), "", ""
    match cause:
        case Cause.LABEL:
            # GitHub's labels are unique ignoring case.
            labels = {name.casefold(): verb for name, verb in policy.triggers.labels.items()}
            verb = labels.get(detail.casefold(), "")
            why = "" if verb else "the policy maps no command to this label"
        case Cause.ASSIGNMENT:
            assignee = policy.triggers.assignee
            if not assignee or _login(detail) != _login(assignee):
                why = "the policy makes no command of this assignment"
        case Cause.PULL_REQUEST:
            subject = event_request.subject
            if detail not in policy.review.on:
                why = f"the policy asks for no review at `{detail}` of a pull request"
            elif subject is not None and subject.draft and not policy.review.drafts:
                why = "the pull request is a draft; it is reviewed when it is ready, or when asked"
        case Cause.REPLY:
            if policy.replies and event_request.source is not None:
                return _reply_command(event_request.source)
            why = "the comment has no `/agent` command"
        case Cause.FOLLOW_UP:
            instruction = ROUND_WORDS.get(detail, "")
            why = "" if instruction else "it is about a pull request that this bot does not follow"
        case Cause.FAILED_UPDATE:
            instruction = FIX_FAILED_UPDATE
        case _:
            instruction, actor = FIX_FAILED_RUN, event_request.actor
            why = "" if policy.triggers.failed_runs.people else "the policy makes no command of a failed run"
            if actor is not None and actor.kind == "Bot":
                why = "the failed run was begun by a bot's push"
    if why:
        raise NoRequestError(why)
    return Command(verb, instruction)


def _reply_command(source: CommandSource) -> Command:
    """Return the command of a reply. Words that only look like one are an instruction."""
    read = parse_command(source.prefix + source.body)
    verb = VERBS[read.verb] if read and not read.problem else None
    if read and verb and verb.profile and verb.earlier in (None, Earlier.RUN):
        return read
    words = source.prefix.split()
    return Command(words[1] if len(words) > 1 else DEFAULT, source.body.strip())


def _login(login: str) -> str:
    """Return `login` for a comparison: an app's has `[bot]` at its end in some places only."""
    return login.casefold().removesuffix("[bot]")
