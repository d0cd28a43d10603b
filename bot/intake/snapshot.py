"""The snapshot rule: what stood there when somebody asked counts, and nothing written or edited later."""

from __future__ import annotations

from enum import Enum, auto

from bot.contracts.request import Trigger
from bot.intake.event import REVIEW, REVIEW_COMMENT


class When(Enum):
    BEFORE = auto()
    ASKED = auto()
    AFTER = auto()
    EDITED = auto()


def when(trigger: Trigger, kind: str, comment_id: int, created_at: str, updated_at: str) -> When:
    """Where a comment stands in time. `kind` is the event by which GitHub tells of comments of its kind.

    Times are to the second. Within the trigger's own second ids tell the order of comments of one kind; a comment
    of another kind counts as later, and so does an edit. Where no comment asked, the trigger's time is the thread's
    last change before it, which a comment of that second is. The comments of a review are all changed once more in
    the second in which it is submitted, so that is no edit where the review or one of them asked.
    """
    submitted = kind == REVIEW_COMMENT and trigger.event in (REVIEW, REVIEW_COMMENT)
    same = trigger.comment_id > 0 and trigger.event == kind
    if same and comment_id == trigger.comment_id:
        return When.ASKED
    if created_at > trigger.at:
        return When.AFTER
    if created_at == trigger.at and trigger.comment_id and not (same and comment_id < trigger.comment_id):
        return When.AFTER
    if updated_at != created_at and (updated_at > trigger.at or (updated_at == trigger.at and not submitted)):
        return When.EDITED
    return When.BEFORE
