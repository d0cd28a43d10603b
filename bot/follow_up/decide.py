"""Decide the next step for a pull request of the bot's own. Pure: the whole situation in, one step out.

Every event and every sweep decides anew from everything that can be read, so a lost event costs time only, and the same
event twice costs nothing. The order: over, running, stopped by a limit, conflict, CI, reviews, green.
"""

from collections.abc import Iterable

from bot.contracts.formatting import count_of, first_of
from bot.follow_up.situation import (
    AskApproval,
    Check,
    Ended,
    Kind,
    MarkReady,
    Mergeable,
    Rerun,
    Situation,
    StartRound,
    Step,
    Stop,
    Update,
    Wait,
)
from bot.policy.follow_up import FollowUpPolicy

_MOST_LOST = 3
_MOST_VOID = 2
_GROWTH, _FREE_LINES = 1.5, 400
"""How many times the first diff the present one may be, and the lines that it may have in any case."""


def decide(now: Situation, limits: FollowUpPolicy) -> Step:
    """Return the next step for the pull request `now`."""
    return (
        blocked(now, limits)
        or _conflict(now, limits)
        or _ci(now, limits)
        or _review(now, limits)
        or _green(now)
    )


def blocked(now: Situation, limits: FollowUpPolicy) -> Step | None:
    """Return the step if nothing is to be done, however the pull request looks; `None` if something may be."""
    spent = now.spent
    if now.stopped:
        return Wait(f"it was stopped: {now.stopped}")
    if now.over:
        return Stop(f"The pull request is {now.over}.", "nobody")
    if now.running:
        return Wait("a round is under way")
    commits = ", ".join(one[:12] for one in now.others[:3])
    allowed = max(_GROWTH * spent.lines, _FREE_LINES) if spent.lines else now.lines
    reasons = {
        f"It has the label `{limits.stop_label}`.": now.labelled,
        f"Somebody else committed to the branch: {commits}.": now.others,
        f"All {limits.rounds} rounds are used.": spent.rounds >= limits.rounds,
        f"{spent.usd:.2f} of {limits.usd:.2f} USD are spent.": spent.usd >= limits.usd,
        f"The infrastructure ended {spent.lost} rounds in a row.": spent.lost >= _MOST_LOST,
        f"The head moved during {spent.void} rounds in a row.": spent.void >= _MOST_VOID,
        f"The diff grew from {spent.lines} to {now.lines} lines.": now.lines > allowed,
    }
    return next((Stop(reason) for reason, applies in reasons.items() if applies), None)


def _conflict(now: Situation, limits: FollowUpPolicy) -> Step | None:
    if now.mergeable is Mergeable.UNKNOWN:
        return Wait("GitHub has not computed yet whether it can be merged", "CI")
    if now.mergeable is Mergeable.CLEAN:
        return None
    return _no_merge(now) or _used_up(now, limits, Kind.CONFLICT) or StartRound(Kind.CONFLICT)


def _no_merge(now: Situation) -> Stop | None:
    if not now.workflows_block:
        return None
    return Stop(
        "The base branch changed a workflow file, which the token of this bot may not push: merge the base."
    )


def _used_up(now: Situation, limits: FollowUpPolicy, kind: Kind) -> Stop | None:
    most: int = getattr(limits, kind)
    what = "merges of the base" if kind is Kind.UPDATE else f"{kind} rounds"
    reason = f"All {most} {what} are used." if most else f"The policy allows no {what}."
    return Stop(reason) if now.spent.count(kind) >= most else None


def _ci(now: Situation, limits: FollowUpPolicy) -> Step | None:
    if waiting := [one.url for one in now.checks if one.ended is Ended.UNAPPROVED]:
        return AskApproval(tuple(dict.fromkeys(waiting)))
    if pending := [one for one in now.checks if one.ended is Ended.PENDING]:
        return Wait(f"{names_of(pending)} has not ended", "CI")
    red = [one for one in now.checks if one.ended in (Ended.FAILED, Ended.LOST)]
    if now.approved:  # a push would take the approval back
        red = [one for one in red if one.required]
    if not red:
        return None
    failed = [one for one in red if one.ended is Ended.FAILED]
    broken = {one.run for one in failed}  # with the first failed job, the others of a matrix are cancelled
    again = [one.run for one in red if one.flaky or (one.ended is Ended.LOST and one.run not in broken)]
    if any(again) and now.head not in now.spent.done:
        return Rerun(tuple(dict.fromkeys(filter(None, again))))
    if not failed:
        return Stop(f"The infrastructure ended {names_of(red)}: run it again.")
    ours = [one for one in failed if (one.on_base_tip or one.on_merge_base) is not Ended.FAILED]
    if not ours:
        where = f": {failed[0].base_url}" if failed[0].base_url else ""
        return Stop(f"{names_of(failed)} fails on the base branch, too{where}.")
    old = [one for one in ours if one.on_merge_base is Ended.FAILED]
    if pending := [one for one in old if one.on_base_tip is Ended.PENDING]:
        return Wait(f"{names_of(pending)} has not ended on the base branch", "CI")
    if old and now.base_tip not in now.spent.done:
        why = f"{names_of(old)} failed at the merge base, too, and passes on the base branch now"
        return _no_merge(now) or _used_up(now, limits, Kind.UPDATE) or Update(why)
    for one in ours:
        if earlier := now.spent.failures.get(one.fingerprint):
            return Stop(f"{one.name} fails at {now.head[:12]} in the same way as at {earlier[:12]}.")
    return _used_up(now, limits, Kind.FIX) or StartRound(Kind.FIX, checks=tuple(ours))


def _review(now: Situation, limits: FollowUpPolicy) -> Step | None:
    if now.bot_review_pending:
        return Wait("a review is under way", "a reviewer")
    threads = tuple(bot for bot in now.threads if str(bot) not in now.spent.done)
    if not threads or now.approved:
        return None
    return _used_up(now, limits, Kind.REVIEW) or StartRound(Kind.REVIEW, threads=threads)


def _green(now: Situation) -> Step:
    if now.unanswered and not now.approved:
        return Stop(
            f"Only questions are left, in {count_of(now.unanswered, 'open thread')}.",
            "answer there, then `/agent follow`",
        )
    return Wait("it is ready for review") if now.ready else MarkReady()


def names_of(checks: Iterable[Check]) -> str:
    """Return the names of checks for a sentence, at most three."""
    return first_of(list(dict.fromkeys(one.name for one in checks)), 3)
