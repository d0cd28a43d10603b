"""The plan that an approval names, found in the thread again: as it was posted, and not carried out by another.

Whoever may write can edit the bot's comments. So the comment holds the plan as data, the mark its hash, and an
approval names that hash; a comment that was changed in any way since it was posted is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from bot.contracts.errors import UsageError
from bot.contracts.plan import Plan
from bot.github.host import Host
from bot.github.values import Account
from bot.publish.plan.comment import PLAN, PlanComment, lines_of, read_plan, short_hash, shown_plan, text_hash
from bot.publish.text.shown import shown_code
from bot.publish.thread.markers import is_ours
from bot.publish.thread.place import Place


def find_plan(host: Host, place: Place, prefix: str, heirs: frozenset[str] = frozenset()) -> Plan:
    """The plan of this thread whose hash begins with `prefix`, for an approval.

    Raises `UsageError`, a sentence for whoever approves, where there is none, more than one, where it was edited
    since it was posted, or carried out before by another request than `place`'s or those that it goes on from, `heirs`.
    """
    own = [one for one in own_comments(host, place) if one.hash]
    named = [one for one in own if prefix and one.hash.startswith(prefix.lower())]
    if not named:
        which = f" {shown_code(prefix)}" if prefix else ""
        newest = f" The newest here is {short_hash(own[-1].hash)}." if own else ""
        raise UsageError(
            f"There is no plan{which} of this bot's in this thread.{newest} `/agent plan` makes one."
        )
    if len({one.hash for one in named}) > 1:
        raise UsageError(f"More than one plan begins with {shown_code(prefix)}: write more of its hash.")
    short = short_hash(named[0].hash)
    by = named[0].carried_out_by
    if by and by not in {place.key, *heirs}:
        raise UsageError(f"The plan {short} was carried out already: `/agent plan` makes a new one.")
    plan = read_plan(named[0].body)
    if plan is None or plan.hash != named[0].hash or _is_changed(named[0], plan):
        raise UsageError(
            f"The plan {short} was edited after it was posted, so it is not carried out: `/agent plan` makes a new one."
        )
    return plan


def own_comments(host: Host, place: Place) -> Iterator[PlanComment]:
    """Our comments in the whole thread, oldest first, those on the lines of `place` last."""
    me = host.me()
    for one in host.comments(place.repository, place.number):
        author = Account(one.author, one.author_id, one.author_kind)
        found = PlanComment(one.id, author, one.body, one.updated_at != one.created_at, 0)
        if is_ours(author, me, found.kind):
            yield found
    if not place.lines:
        return
    for remark in host.review_comments(place.repository, place.number):
        edited = remark.updated_at != remark.created_at
        found = PlanComment(remark.id, remark.author, remark.body, edited, place.lines)
        if remark.in_reply_to == place.lines and is_ours(remark.author, me, found.kind):
            yield found


def _is_changed(comment: PlanComment, plan: Plan) -> bool:
    """Whether it says anything else than what was posted: by its text, by the plan that it would have to begin with,
    whatever its mark says, and by GitHub's clock if we never had a reason to edit it."""
    posted = comment.as_posted
    begins = lines_of(posted).startswith(lines_of(shown_plan(plan)))
    if not begins or comment.fields.get("text") != text_hash(posted):
        return True
    return comment.edited and comment.kind == PLAN and not comment.carried_out_by
