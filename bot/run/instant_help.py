"""`/agent help`: what the asker may do in this thread, by the policy, with an example of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bot.contracts.request import Verb
from bot.contracts.wording import count_of, money

if TYPE_CHECKING:
    from bot.policy.schema import Policy
    from bot.run.instant import Question

EXAMPLES: Mapping[Verb, tuple[str, str]] = {
    Verb.FIX: ("fix this", "makes the change and opens a draft pull request"),
    Verb.PLAN: ("plan", "posts a plan with an estimate, and changes nothing"),
    Verb.APPROVE: ("approve 1a2b3c4d", "carries out the plan with this hash"),
    Verb.REVIEW: ("review", "reviews the pull request, with suggestions that apply"),
    Verb.EXPLAIN: ("explain why this fails", "answers here, and changes nothing"),
    Verb.CONTINUE: ("continue take the second way", "goes on from the last run, with your instruction"),
    Verb.RETRY: ("retry", "does the last request of this thread again"),
    Verb.STOP: ("stop", "cancels the run for this thread; its work so far is kept"),
    Verb.STATUS: ("status", "shows what is running, or how the last run ended"),
    Verb.HELP: ("help", "shows this list"),
}
_OPTIONS = ("--model NAME", "--budget USD", "--base BRANCH", "--no-draft", "--dry-run")
_ONLY_ON_PULLS = (Verb.REVIEW,)
_FREE = (Verb.STOP, Verb.STATUS, Verb.HELP)


def help_text(question: Question) -> str:
    verbs = [verb for verb in EXAMPLES if question.may(verb)]
    if not question.thread.is_pull_request:
        verbs = [verb for verb in verbs if verb not in _ONLY_ON_PULLS]
    actor = question.request.actor
    parts = [f"**Commands that {actor.login} can give here** (tier {actor.tier}):"]
    parts.append("\n".join(f"- `/agent {EXAMPLES[verb][0]}` {EXAMPLES[verb][1]}" for verb in verbs))
    limits = question.policy.tiers.get(actor.tier)
    if limits is not None and any(verb not in _FREE for verb in verbs):
        each = f"{money(limits.usd)}, {count_of(limits.turns, 'turn')} and {limits.minutes:g} minutes"
        parts.append(
            f"Limits: {each} a run; {count_of(limits.runs_a_day, 'run')} a day. Options: {_options(question.policy)}."
        )
    return "\n\n".join(parts)


def _options(policy: Policy) -> str:
    """Those that the policy leaves open."""
    closed = {"--no-draft"} if policy.pull_request.always_draft else set()
    if policy.options.models == ():
        closed.add("--model NAME")
    return ", ".join(f"`{option}`" for option in _OPTIONS if option not in closed)
