"""The decision, as a table: the situation, and the step that it calls for."""

from typing import Any

import pytest

from bot.follow_up.decide import decide
from bot.follow_up.situation import (
    AskApproval,
    Check,
    Ended,
    Kind,
    MarkReady,
    Mergeable,
    Rerun,
    Situation,
    Spent,
    StartRound,
    Step,
    Stop,
    Update,
    Wait,
)
from bot.policy.follow_up import FollowUpPolicy

HEAD, OLD, TIP = "a" * 40, "b" * 40, "c" * 40
RED = Check("test", Ended.FAILED, required=True, run=7, fingerprint="f1", on_merge_base=Ended.PASSED)
GREEN, PENDING = Check("lint", Ended.PASSED), Check("lint", Ended.PENDING)
OPTIONAL = RED._replace(name="lint", required=False)
LOST = RED._replace(ended=Ended.LOST, fingerprint="")
FLAKY = RED._replace(flaky=True)
OLD_RED = RED._replace(on_merge_base=Ended.FAILED, on_base_tip=Ended.PASSED)
BASE_RED = RED._replace(on_base_tip=Ended.FAILED, base_url="https://x/1")
UNAPPROVED = Check("ci", Ended.UNAPPROVED, url="https://x/2")
THREAD, BY_BOT = 0, 99
QUESTIONS = Stop("Only questions are left, in 1 open thread.", "answer there, then `/agent follow`")
CLEAN = Situation(number=3, head=HEAD, base_tip=TIP)


def spent(**counts: int) -> Spent:
    return Spent(counts=counts)


ROWS: list[tuple[str, dict[str, Any], Step]] = [
    ("a merged one is over", {"over": "merged"}, Stop("The pull request is merged.", "nobody")),
    (
        "a queued one is never pushed to",
        {"over": "in the merge queue", "checks": (RED,)},
        Stop("The pull request is in the merge queue.", "nobody"),
    ),
    ("a stopped one stays stopped", {"stopped": "why", "checks": (RED,)}, Wait("it was stopped: why")),
    ("a round at a time", {"running": True, "checks": (RED,)}, Wait("a round is under way")),
    (
        "somebody's commit ends it",
        {"others": (OLD,), "checks": (RED,)},
        Stop("Somebody else committed to the branch: bbbbbbbbbbbb."),
    ),
    (
        "the sixth round was the last",
        {"spent": spent(fix=2, review=3, conflict=1)},
        Stop("All 6 rounds are used."),
    ),
    (
        "bundles that Actions keeps count, whatever the comment says",
        {"spent": Spent(bundles=6), "checks": (RED,)},
        Stop("All 6 rounds are used."),
    ),
    ("only questions are left", {"checks": (GREEN,), "unanswered": 1}, QUESTIONS),
    (
        "no update with a workflow of the base",
        {"checks": (OLD_RED,), "workflows_block": True},
        Stop(
            "The base branch changed a workflow file, which the token of this bot may not push: merge the base."
        ),
    ),
    (
        "updates are no rounds",
        {"spent": spent(fix=2, review=2, update=2), "checks": (RED,)},
        StartRound(Kind.FIX, (RED,)),
    ),
    ("the money is spent", {"spent": Spent(usd=3.0), "checks": (RED,)}, Stop("3.00 of 3.00 USD are spent.")),
    (
        "three rounds lost in a row",
        {"spent": Spent(lost=3)},
        Stop("The infrastructure ended 3 rounds in a row."),
    ),
    ("two rounds void in a row", {"spent": Spent(void=2)}, Stop("The head moved during 2 rounds in a row.")),
    (
        "a small diff may grow to 400 lines",
        {"spent": Spent(lines=10), "lines": 400, "checks": (RED,)},
        StartRound(Kind.FIX, (RED,)),
    ),
    (
        "a diff may not grow for ever",
        {"spent": Spent(lines=10), "lines": 401},
        Stop("The diff grew from 10 to 401 lines."),
    ),
    (
        "a large one by half",
        {"spent": Spent(lines=600), "lines": 901},
        Stop("The diff grew from 600 to 901 lines."),
    ),
    (
        "nothing is decided before GitHub knows",
        {"mergeable": Mergeable.UNKNOWN, "checks": (RED,)},
        Wait("GitHub has not computed yet whether it can be merged", "CI"),
    ),
    (
        "a conflict comes first, without any check",
        {"mergeable": Mergeable.CONFLICT},
        StartRound(Kind.CONFLICT),
    ),
    (
        "a conflict even after an approval",
        {"mergeable": Mergeable.CONFLICT, "approved": True},
        StartRound(Kind.CONFLICT),
    ),
    (
        "conflicts, twice",
        {"mergeable": Mergeable.CONFLICT, "spent": spent(conflict=2)},
        Stop("All 2 conflict rounds are used."),
    ),
    (
        "no merge of workflow files",
        {"mergeable": Mergeable.CONFLICT, "workflows_block": True},
        Stop(
            "The base branch changed a workflow file, which the token of this bot may not push: merge the base."
        ),
    ),
    ("runs wait for approval", {"checks": (UNAPPROVED, UNAPPROVED, RED)}, AskApproval(("https://x/2",))),
    ("one red while another runs", {"checks": (RED, PENDING)}, Wait("lint has not ended", "CI")),
    ("red on the head, green on the base", {"checks": (RED, GREEN)}, StartRound(Kind.FIX, (RED,))),
    ("optional checks count before an approval", {"checks": (OPTIONAL,)}, StartRound(Kind.FIX, (OPTIONAL,))),
    (
        "optional ones do not after it",
        {"checks": (OPTIONAL,), "approved": True, "ready": True},
        Wait("it is ready for review"),
    ),
    ("required ones do", {"checks": (OPTIONAL, RED), "approved": True}, StartRound(Kind.FIX, (RED,))),
    ("a lost runner runs again", {"checks": (LOST,)}, Rerun((7,))),
    (
        "once a head",
        {"checks": (LOST,), "spent": Spent(done=frozenset({HEAD}))},
        Stop("test was ended by the infrastructure twice."),
    ),
    ("a flaky check runs again", {"checks": (FLAKY,)}, Rerun((7,))),
    (
        "and is fixed if it fails again",
        {"checks": (FLAKY,), "spent": Spent(done=frozenset({HEAD}))},
        StartRound(Kind.FIX, (FLAKY,)),
    ),
    (
        "red on the base as well",
        {"checks": (BASE_RED,)},
        Stop("test fails on the base branch, too: https://x/1."),
    ),
    (
        "mended on the base meanwhile",
        {"checks": (OLD_RED,)},
        Update("test failed at the merge base, too, and passes on the base branch now"),
    ),
    (
        "once for each tip",
        {"checks": (OLD_RED,), "spent": Spent(done=frozenset({TIP}))},
        StartRound(Kind.FIX, (OLD_RED,)),
    ),
    (
        "updates, twice",
        {"checks": (OLD_RED,), "spent": spent(update=2)},
        Stop("All 2 merges of the base are used."),
    ),
    (
        "the same failure after a fix",
        {"checks": (RED,), "spent": Spent(failures={"f1": OLD})},
        Stop("test fails at aaaaaaaaaaaa in the same way as at bbbbbbbbbbbb."),
    ),
    ("fixes, three times", {"checks": (RED,), "spent": spent(fix=3)}, Stop("All 3 fix rounds are used.")),
    ("CI before reviews", {"checks": (RED,), "threads": (THREAD,)}, StartRound(Kind.FIX, (RED,))),
    (
        "all open threads in one round",
        {"checks": (GREEN,), "threads": (THREAD, BY_BOT)},
        StartRound(Kind.REVIEW, threads=(THREAD, BY_BOT)),
    ),
    (
        "a review bot has one round",
        {"threads": (BY_BOT,), "unanswered": 1, "spent": Spent(done=frozenset({"99"}))},
        QUESTIONS,
    ),
    (
        "no push for threads after an approval",
        {"threads": (THREAD,), "unanswered": 1, "approved": True},
        MarkReady(),
    ),
    (
        "a review under way",
        {"threads": (THREAD,), "bot_review_pending": True},
        Wait("a review is under way", "a reviewer"),
    ),
    (
        "reviews, three times",
        {"threads": (THREAD,), "spent": spent(review=3)},
        Stop("All 3 review rounds are used."),
    ),
    ("green", {"checks": (GREEN,)}, MarkReady()),
    ("no CI is not called green", {}, MarkReady()),
    ("green and asked once", {"checks": (GREEN,), "ready": True}, Wait("it is ready for review")),
]


@pytest.mark.parametrize(("fields", "step"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_each_situation_has_one_step(fields: dict[str, Any], step: Step):
    assert decide(CLEAN._replace(**fields), FollowUpPolicy()) == step
