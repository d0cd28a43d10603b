"""From an event to what to do about it: a `Request`, a `Refusal`, or `Ignored` with a word why.

The order is that of cost and of trust: what the payload alone decides, then who is asking (one call of the
API), then what they may, and only then what they wrote and the thread around it. Strangers learn nothing but
that they may not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from bot.contracts.errors import ExitCode
from bot.contracts.request import Actor, Request, Tier, Trigger, Verb
from bot.contracts.threads import ThreadReader
from bot.intake.command import Command, mentions_agent, parse_command
from bot.intake.context import build_thread, is_own
from bot.intake.event import CommentEvent, Event, OtherEvent
from bot.intake.who import Stranger, identify

THIS_ISSUE = "this issue"

# What is carried out in this version. The other verbs are known, so that nobody's `review` becomes a `fix`.
BUILT: frozenset[Verb] = frozenset({Verb.FIX})


@dataclass(frozen=True, slots=True)
class Admission:
    """What the policy says about who may: verbs by tier, and the bots let in by id, each with its verbs."""

    verbs: Mapping[Tier, Collection[Verb]]
    bots: Mapping[int, Collection[Verb]]

    def permits(self, actor: Actor, verb: Verb) -> bool:
        if actor.tier is Tier.BOT:
            return verb in self.bots.get(actor.id, ())
        return verb in self.verbs.get(actor.tier, ())


@dataclass(frozen=True, slots=True)
class Refusal:
    """Somebody will not get what they asked. `reason` is one line: for the thread where `said`, else the log."""

    reason: str
    said: bool
    exit_code: ExitCode = ExitCode.REFUSED


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nobody asked for anything. `reason` is one sentence for the log."""

    reason: str


def recognise(event: Event) -> Command | Ignored:
    """The command that an event carries, by the payload alone."""
    if isinstance(event, OtherEvent):
        return Ignored(f"Nothing to do: this version does not act on the event `{event.name}`.")
    if event.action != "created":
        return Ignored(f"Nothing to do: the comment was {event.action}, and only a new comment is a command.")
    if is_own(event.comment_body):
        return Ignored("Nothing to do: the comment is this bot's own.")
    command = parse_command(event.comment_body)
    if command is not None:
        return command
    if mentions_agent(event.comment_body):
        return Ignored(
            "Nothing to do: the comment mentions `/agent`, but a command starts the first line of a comment."
        )
    return Ignored("Nothing to do: the comment has no `/agent` command.")


def build_request(
    event: Event, threads: ThreadReader, admission: Callable[[], Admission]
) -> Request | Refusal | Ignored:
    """What to do about `event`. `admission` is called once a command is there, since reading it may cost.

    Raises an `AgentError` where GitHub or the policy cannot be read.
    """
    command = recognise(event)
    if isinstance(command, Ignored):
        return command
    assert isinstance(event, CommentEvent)
    admitted = admission()
    actor = identify(event, threads, admitted.bots)
    if isinstance(actor, Stranger):
        return Refusal(actor.reason, said=False)
    refusal = _refuse(command, actor, event, admitted)
    if refusal is not None:
        return replace(refusal, said=refusal.said and actor.tier is not Tier.BOT)
    return Request(
        verb=command.verb,
        instruction=command.instruction or THIS_ISSUE,
        actor=actor,
        repository=event.repository.name,
        base_ref=command.options.get("base", event.repository.default_branch),
        clone_url=event.repository.clone_url,
        thread=build_thread(event, threads.comments(event.repository.name, event.number)),
        trigger=Trigger("issue_comment", event.comment_id, event.comment_url, event.commented_at),
        options=dict(command.options),
    )


def _refuse(command: Command, actor: Actor, event: CommentEvent, admission: Admission) -> Refusal | None:
    if not any(admission.permits(actor, verb) for verb in Verb if verb not in (Verb.HELP, Verb.STATUS)):
        return Refusal(f"{actor.login} may not give commands here: that takes write permission.", said=True)
    if command.problem:
        return Refusal(command.problem, said=True, exit_code=ExitCode.USAGE)
    if not admission.permits(actor, command.verb):
        return Refusal(
            f"{actor.login} may not use `/agent {command.verb}` here: "
            f"this repository's policy does not give it to the tier {actor.tier}.",
            said=True,
        )
    if command.verb not in BUILT:
        return Refusal(
            f"`/agent {command.verb}` is not built in this version; `/agent fix <what to do>` is.", said=True
        )
    if event.on_pull_request:
        return Refusal(
            "`/agent` under a pull request is not built in this version; under an issue it is.", said=True
        )
    return None
