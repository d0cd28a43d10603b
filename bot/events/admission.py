"""Decide who may request what: an account's tier, the verbs of a tier, what besides a command requests a run, and the
answer to an account without access.

The tier comes from GitHub's permission API. The payload's `author_association`, a `[bot]` suffix and an account's type
proved forgeable or meaningless elsewhere. The login is only the API's key: the id in its answer must be the payload's,
since a login can pass to another account. What each tier may do by default: `bot/policy/tiers_and_budget.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from bot.contracts.request import POLICY_FILE, Actor, Tier
from bot.events.command import Command
from bot.events.event_request import Cause, EventRequest, RefusedError, UsageRefusedError
from bot.github.values import Account, Permission
from bot.verbs.record import Earlier, Place
from bot.verbs.registry import DEFAULT, INSTANT, NAMES, VERBS, started_by, verbs_of

if TYPE_CHECKING:
    from bot.github.client import GitHub
    from bot.policy.settings import Policy  # pydantic: an event that is not for the bot needs none

_FOR_EVERYBODY = verbs_of(Tier.OUTSIDER)
TOLD_AGAIN_AFTER = 86_400
"""Seconds after which an account without access gets an answer in a thread again."""
LOCKED = "The conversation is locked, so no comment can be posted in it."


def permits(policy: Policy, actor: Actor, verb: str, *, on_own_thread: bool = False) -> bool:
    """Whether `actor` may use `verb`. Whoever sets off a run without a command needs the verb as much."""
    if actor.tier is Tier.BOT:
        return verb in policy.verbs_of_bots.get(actor.id, ())
    if verb in policy.tiers[actor.tier].verbs:
        return True
    return actor.tier is Tier.OUTSIDER and on_own_thread and verb in policy.thread_author


def check_access(command: Command, actor: Actor, event_request: EventRequest, policy: Policy) -> None:
    """Raise `RefusedError` if `actor` may not give this command here."""
    subject, account = event_request.subject, event_request.actor
    own = subject is not None and account is not None and subject.author.id == account.id

    def is_allowed(verb: str) -> bool:
        return permits(policy, actor, verb, on_own_thread=own)

    requested = None if command.problem else command.verb
    if not any(is_allowed(verb) for verb in NAMES if verb not in _FOR_EVERYBODY) and not (
        requested and is_allowed(requested)
    ):
        verb = requested if requested and requested not in INSTANT else DEFAULT
        raise RefusedError(
            no_access(event_request, actor.login, verb, POLICY_FILE), in_thread=not command.near_miss
        )
    if command.problem:
        raise UsageRefusedError(command.problem)
    if not is_allowed(command.verb):
        raise RefusedError(
            f"{actor.login} may not use `/agent {command.verb}` here: this repository's policy does not allow it for "
            f"the tier {actor.tier}. A maintainer can write it, or allow it with `tiers` in `{POLICY_FILE}`."
        )
    if reason := option_refusal(policy, command.options):
        raise UsageRefusedError(reason)


def option_refusal(policy: Policy, options: Mapping[str, str]) -> str:
    """Return why a command may not have these options, in one sentence, or empty."""
    model = options.get("model")
    models = policy.options.models
    if model and models is not None and not any(fnmatchcase(model, one) for one in models):
        named = ", ".join(f"`{one}`" for one in models) or "none"
        return (
            f"`--model {model}` is not an allowed model here: "
            f"this repository's policy lists {named} under `options: models`."
        )
    if policy.pull_request.always_draft and options.get("draft") == "false":
        return (
            "`--no-draft` is not allowed here: this repository's policy says `draft: always` "
            "under `pull_request`."
        )
    return ""


def place_problem(command: Command, event_request: EventRequest) -> str:
    """Return why a command has no meaning in its thread, in one sentence, or empty."""
    on_pull, verb = event_request.on_pull, f"`/agent {command.verb}`"
    places = VERBS[command.verb].places
    if on_pull and "base" in command.options:
        return (
            "`--base` does not work under a pull request: its result goes to the branch of that pull request."
        )
    if not on_pull and places == {Place.PULL}:
        return f"{verb} works on pull requests; this is an issue."
    if not on_pull and "sha" in command.options:
        return "`--sha` names the head of a pull request; this is an issue."
    if event_request.subject is None and Place.REPOSITORY not in places:
        return f"{verb} needs an issue or a pull request to be about: give its `number`."
    return ""


def refused_fields(event_request: EventRequest) -> dict[str, str]:
    """Return fields for the mark of a refusal: no model was asked, and a `retry` by the same person does not reach past
    a refused request."""
    command, actor, fields = event_request.command, event_request.actor, {"asked": "no"}
    if command is None or command.problem or actor is None or command.verb in INSTANT:
        return fields
    return fields if VERBS[command.verb].earlier is Earlier.REQUEST else {**fields, "refused": str(actor.id)}


def identify_actor(event_request: EventRequest, reader: GitHub, bots: Collection[int]) -> Actor:
    """Return the responsible account with its tier. Calls the API once, for a bot never. Raises `RefusedError` for an
    account that gets no answer in the thread.

    If the policy requests the run (a schedule, a failed run), the tier is the event's and no account is looked up.
    """
    actor, sender, tier = event_request.actor, event_request.sender, event_request.tier
    if tier is not None:
        return Actor(actor.login, actor.id, tier) if actor else Actor(tier.value, 0, tier)
    if actor is None:
        raise _unanswered("The account that gave the command is deleted.")
    if sender is not None and sender.id != actor.id:
        raise _unanswered(f"{sender.login} sent this event, but {actor.login} wrote the command.")
    return resolve_actor(actor, reader, bots)


def resolve_actor(account: Account, reader: GitHub, bots: Collection[int]) -> Actor:
    """Return `account` with its tier in the repository, checked by id. Raises `RefusedError`."""
    if _looks_like_bot(account):
        return _bot(account, bots)
    permission, login = reader.permission(account.login), account.login
    if permission.user_id != account.id:
        raise _unanswered(other_account(account, permission.user_id))
    if permission.kind == "Bot":
        return _bot(account, bots)
    if permission.kind != "User":
        raise _unanswered(f"{login} is an account of type {permission.kind or 'unknown'}, not a person.")
    return Actor(login, account.id, tier_of(permission))


def other_account(account: Account, known: int) -> str:
    """Return the sentence on an account whose login GitHub knows with the id `known`, 0 for none."""
    if not known:
        return f"GitHub shows no account {account.login} any more: it is suspended, deleted or renamed."
    return f"GitHub knows {account.login} as account {known}, not as {account.id}."


def _unanswered(reason: str) -> RefusedError:
    return RefusedError(reason, in_thread=False)


def tier_of(permission: Permission) -> Tier:
    """Return a person's tier. An unknown level counts as none."""
    if permission.level in ("admin", "maintain", "write"):
        return Tier.MAINTAINER
    if permission.level == "triage" or permission.role == "triage":
        return Tier.CONTRIBUTOR
    if permission.level == "read" and (permission.private or permission.collaborator):
        return Tier.CONTRIBUTOR
    return Tier.OUTSIDER


def _looks_like_bot(account: Account) -> bool:
    """Whether an account claims to be a bot. The claim may refuse a request, never allow one."""
    return account.kind == "Bot" or account.login.endswith("[bot]")


def _bot(account: Account, bots: Collection[int]) -> Actor:
    if account.id in bots:
        return Actor(account.login, account.id, Tier.BOT)
    raise _unanswered(not_listed(account))


def not_listed(account: Account) -> str:
    """Return the sentence on a bot that the policy does not list."""
    return f"{account.login} is a bot, and the policy's `bots` does not list its id {account.id}."


def unmet_check(event_request: EventRequest, reason: str, run_url: str = "") -> dict[str, object]:
    """Return the neutral check run, as GitHub's API takes it, for the pull request of an event that has no command and
    ends without a result."""
    verb = VERBS[started_by(event_request.cause)]
    result = verb.profile.success.value if verb.profile else "done"
    summary = f"{reason}\n\n[The run]({run_url})" if run_url else reason
    first = re.match(r"[^\n]+?[.!?](?=\s|$)|[^\n]*", reason) or [""]
    return {
        "name": f"Slash Agent {verb.name}",
        "head_sha": event_request.head_sha,
        "status": "completed",
        "conclusion": "neutral",
        "output": {"title": f"Not {result}: {first[0]}"[:255], "summary": summary},
    }


def no_access(event_request: EventRequest, login: str, verb: str, policy_file: str) -> str:
    """Return why an account without access starts nothing: the answer to a command, or the reason for the log."""
    if event_request.cause is not Cause.COMMAND:
        return (
            f"{login} has no write access here. A maintainer can run `/agent {verb}`, or allow it for everybody's own "
            f"pull requests with `thread_author: [{verb}]` in `{policy_file}`."
        )
    noun = "pull request" if event_request.on_pull else "issue"
    return (
        f"Thanks for your interest, {login}. Only people with write access to this repository can start me here. A "
        f"maintainer can run `/agent {verb}` on this {noun}, or allow others in `{policy_file}`."
    )
