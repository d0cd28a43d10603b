"""What a review ends, by a table."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from github.PullRequestReview import PullRequestReview

from bot.contracts.pulls import Review
from bot.publish.review.posted_reviews import PostedReview, ReviewHistory
from bot.publish.review.publish import decide
from bot.review.diff_text import key_of
from bot.review.known_findings import KnownFinding, State

REVIEW = Review("0" * 40, "1" * 40, "S", looked_at=("a.py",))
ON_LINES = KnownFinding("f1", "crash", "major", "T", "a.py", first=3, last=3, comment=7, review=1)
CHANGED = ON_LINES._replace(first=0, last=0, state=State.CHANGED)
IN_BODY = KnownFinding("f2", severity="critical", title="T", review=1, path_key=key_of("a.py"))


def posted(state: str) -> PostedReview:
    return PostedReview(cast(PullRequestReview, SimpleNamespace(id=1, state=state)), {})


BLOCKS = posted("CHANGES_REQUESTED")


@pytest.mark.parametrize(
    ("finding", "review", "finished", "ends"),
    [
        (ON_LINES, {}, True, "open"),
        (ON_LINES._replace(state=State.RESOLVED), {}, True, "settled"),
        (ON_LINES._replace(state=State.DECLINED), {}, True, "settled"),
        (CHANGED, {}, True, "fixed"),
        (CHANGED, {}, False, "open"),
        (CHANGED, {"again": ("f1",)}, True, "open"),
        (CHANGED, {"unseen": ("a.py (part 2)",)}, True, "open"),
        (CHANGED, {"looked_at": ()}, True, "fixed"),  # an earlier review looked at these lines
        (IN_BODY, {}, True, "fixed"),
        (IN_BODY, {}, False, "open"),
        (IN_BODY, {"again": ("f2",)}, True, "open"),
        (IN_BODY, {"looked_at": ("b.py",)}, True, "open"),
        (IN_BODY, {"unseen": ("a.py (part 2)",)}, True, "open"),
        (IN_BODY._replace(path_key=key_of("gone.py")), {}, True, "fixed"),
    ],
)
def test_a_finding_is_open_fixed_or_settled_and_the_request_for_changes_ends_with_it(
    finding: KnownFinding, review: dict[str, Any], finished: bool, ends: str
):
    history = ReviewHistory((finding,), (BLOCKS,))
    endings = decide(history, REVIEW._replace(**review), ["a.py", "b.py"], finished=finished)
    assert (bool(endings.open), bool(endings.fixed)) == (ends == "open", ends == "fixed")
    assert bool(endings.unblocked) == (ends != "open")


def test_a_mild_finding_that_is_open_blocks_nothing():
    mild = ON_LINES._replace(severity="minor")
    assert decide(ReviewHistory((mild,), (BLOCKS,)), REVIEW, ["a.py"], finished=True).unblocked == (BLOCKS,)


def test_only_a_request_for_changes_is_ended():
    history = ReviewHistory((), (posted("DISMISSED"),))
    assert decide(history, REVIEW, ["a.py"], finished=True).unblocked == ()
