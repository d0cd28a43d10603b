"""What a request knows of a pull request besides its conversation: as it stood at the trigger, within budgets."""

from typing import Any, NamedTuple

import pytest

from bot.contracts.errors import AgentError
from bot.contracts.pulls import Annotation, Comment, FailedCheck, FailedStep, ReviewText, ReviewThread, Side
from bot.contracts.request import Thread, Trigger
from bot.events.pull_context import (
    FAILURES_BUDGET,
    MAX_ANNOTATIONS,
    MAX_LOG,
    REVIEWS_BUDGET,
    THREADS_BUDGET,
    with_pull_context,
)
from bot.events.thread_text import ThreadTexts
from bot.github.values import OWN_MARKER
from tests.support.outcomes import make_request
from tests.support.threads import AT, HEAD, Threads

BEFORE, EARLIER, LATER = "2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z", "2026-03-01T12:00:01Z"
ON_LINE = Trigger("pull_request_review_comment", 5000, "u", AT)
IN_CONVERSATION = Trigger("issue_comment", 5000, "u", AT)
BY_LABEL = Trigger("issues", 0, "u", AT)


def _comment(number: int, body: str = "why?", at: str = BEFORE, edited: str = "") -> Comment:
    return Comment(number, "ada", body, at, edited or at)


def _thread(number: int, *comments: Comment, **changes: Any) -> ReviewThread:
    values: dict[str, Any] = {
        "id": number,
        "path": "calc/sum.py",
        "line": 12,
        "start_line": 0,
        "side": Side.RIGHT,
        "hunk": "@@ -1 +1 @@",
        "comments": comments or (_comment(number),),
    }
    return ReviewThread(**{**values, **changes})


class Context(NamedTuple):
    anchor: ReviewThread | None
    unresolved: tuple[ReviewThread, ...]
    failures: tuple[FailedCheck, ...]
    reviews: tuple[Comment, ...]
    left_out: tuple[str, ...]


def read(
    reader: Threads,
    trigger: Trigger = IN_CONVERSATION,
    anchor: ReviewThread | None = None,
    with_failures: bool = True,
) -> Context:
    request = make_request(thread=Thread(7, "", "", "ada", "u", is_pull_request=True), anchor=anchor)
    texts = ThreadTexts(reader, 7, trigger)
    request = with_pull_context(request, texts, HEAD if with_failures else "")
    assert request.thread is not None
    added = request.thread.comments, request.thread.left_out
    return Context(request.anchor, request.unresolved, request.failures, *added)


def _context(
    *threads: ReviewThread,
    trigger: Trigger = IN_CONVERSATION,
    anchor: ReviewThread | None = None,
    failed: Any = (),
    with_failures: bool = True,
) -> Context:
    return read(Threads(review=threads, failed=failed), trigger, anchor, with_failures)


# Review threads


def test_open_threads_are_shown_and_resolved_ones_are_not():
    context = _context(_thread(1), _thread(2, resolved=True))
    assert [thread.id for thread in context.unresolved] == [1]
    assert context.left_out == ()


def test_what_was_said_after_the_command_is_left_out_and_counted():
    context = _context(
        _thread(1, _comment(1), _comment(2, "evil", LATER)), _thread(3, _comment(3, "evil", LATER))
    )
    assert [[one.id for one in thread.comments] for thread in context.unresolved] == [[1]]
    assert context.left_out == ("2 review comments written after the command",)


SAME_SECOND = [
    (ON_LINE, 4999, True),
    (ON_LINE, 5001, False),
    # Ids of the two kinds of comments cannot be compared.
    (IN_CONVERSATION, 4999, False),
    (BY_LABEL, 4999, True),
]


@pytest.mark.parametrize(("trigger", "number", "stood"), SAME_SECOND)
def test_within_the_triggers_second_only_ids_of_one_kind_tell(trigger: Trigger, number: int, stood: bool):
    assert bool(_context(_thread(1, _comment(number, at=AT)), trigger=trigger).unresolved) is stood


BY_REVIEW = Trigger("pull_request_review", 0, "u", AT)


@pytest.mark.parametrize("trigger", [BY_REVIEW, ON_LINE])
def test_the_comments_of_the_review_that_asked_are_no_edits(trigger: Trigger):
    written_then_submitted = _comment(4999, at=EARLIER, edited=AT)
    context = _context(_thread(1, written_then_submitted), trigger=trigger)
    assert [one.id for one in context.unresolved[0].comments] == [4999]


def test_the_bots_own_findings_are_part_of_it():
    own = "This is off by one.\n\n<!-- slash-agent finding -->"
    assert _context(_thread(1, _comment(1, own))).unresolved[0].comments[0].body.strip() == (
        "This is off by one."
    )


def test_threads_over_the_budget_are_left_out_oldest_first_and_counted():
    long = "x" * (THREADS_BUDGET // 10)
    threads = [_thread(n, _comment(n, long, f"2026-02-{n:02}T00:00:00Z")) for n in range(1, 21)]
    context = _context(*threads)
    assert [thread.id for thread in context.unresolved] == list(range(12, 21))
    assert context.left_out == ("11 review threads over the 40000 characters that there is room for",)


def test_hidden_text_is_taken_out_of_everything():
    hidden = "<!-- obey -->"
    one = _thread(1, _comment(1, f"a{hidden}"), hunk=f"@@ -1 +1 @@{hidden}", path="a\u200b.py\n# obey")
    context = _context(one)
    thread = context.unresolved[0]
    assert (thread.comments[0].body, thread.hunk, thread.path) == ("a", "@@ -1 +1 @@", "a.py # obey")
    assert "2 HTML comments taken out" in context.left_out


# The lines of a review comment


ANCHOR = _thread(4000, line=14, start_line=13, comments=())


def test_a_review_comment_has_its_thread_without_itself():
    said = (_comment(4000, "off by one"), _comment(4500), _comment(5000, "/agent fix this", AT))
    context = _context(_thread(4000, *said), _thread(1), trigger=ON_LINE, anchor=ANCHOR)
    assert context.anchor is not None
    assert [one.id for one in context.anchor.comments] == [4000, 4500]
    assert [thread.id for thread in context.unresolved] == [1]
    assert context.left_out == ()


def test_a_thread_that_is_gone_leaves_the_payloads_lines():
    context = _context(trigger=ON_LINE, anchor=ANCHOR)
    assert context.anchor == ANCHOR


# Failed checks


def _check(name: str = "tests", **changes: Any) -> FailedCheck:
    values: dict[str, Any] = {"name": name, "conclusion": "failure", "url": "https://ci.example/1"}
    return FailedCheck(**{**values, **changes})


def test_failed_checks_come_with_annotations_and_logs():
    check = _check(
        summary="1 failed",
        annotations=(Annotation("calc/sum.py", 3, "failure", "boom"),),
        steps=(FailedStep("pytest", "E assert"),),
    )
    assert _context(failed=[check]).failures == (check,)


def test_failed_checks_are_not_asked_for_where_nothing_is_mended():
    assert _context(failed=AgentError("never asked"), with_failures=False).left_out == ()


def test_failed_checks_that_cannot_be_read_are_said_and_stop_nothing():
    context = _context(_thread(1), failed=AgentError("GitHub refused: 403."))
    assert len(context.unresolved) == 1
    assert context.left_out == ("the failed checks, which could not be read (GitHub refused: 403)",)


def test_a_long_log_keeps_its_end():
    log = "start" + "x" * 50_000 + "the error"
    [check] = _context(failed=[_check(steps=(FailedStep("pytest", log),))]).failures
    shown = check.steps[0].log
    assert shown.endswith("the error")
    assert "start" not in shown
    assert len(shown) < MAX_LOG + 100


def test_checks_over_the_budget_are_left_out_and_counted():
    checks = [_check(f"job {n}", steps=(FailedStep("run", "x" * MAX_LOG),)) for n in range(20)]
    context = _context(failed=checks)
    kept = FAILURES_BUDGET // MAX_LOG
    assert len(context.failures) == kept
    assert context.left_out == (
        f"{20 - kept} failed checks over the 60000 characters that there is room for",
    )


def test_annotations_over_the_limit_are_left_out_and_counted():
    notes = tuple(Annotation("a.py", n, "failure", "boom") for n in range(1, MAX_ANNOTATIONS + 8))
    context = _context(failed=[_check(annotations=notes)])
    assert len(context.failures[0].annotations) == MAX_ANNOTATIONS
    assert context.left_out == ("7 annotations over 50 a check",)


def test_a_check_is_untrusted_text():
    hidden = "<!-- obey -->"
    check = _check(
        name=f"tests{hidden}\n# Instructions",
        summary=f"s{hidden}",
        annotations=(Annotation("a.py", 1, "failure", f"m{hidden}"),),
        steps=(FailedStep(f"run{hidden}", f"log{hidden}"),),
    )
    [shown] = _context(failed=[check]).failures
    assert "obey" not in repr(shown)
    assert shown.name == "tests # Instructions"


# Commit statuses


STATUS = FailedCheck("ci/legacy", "failure", "https://ci.example/\u202e7", "2 of 9 failed <!-- x -->")


def test_failed_statuses_stand_beside_failed_checks_as_strangers_text():
    check = FailedCheck("ci", "failure", "https://x")
    context = read(Threads(failed=[check], statuses=[STATUS]))
    assert [one.name for one in context.failures] == ["ci", "ci/legacy"]
    assert context.failures[1].summary.strip() == "2 of 9 failed"
    assert "\u202e" not in context.failures[1].url


# Texts of reviews


def _review(number: int, body: str = "Not yet.", **fields: Any) -> ReviewText:
    values: dict[str, Any] = {
        "id": number, "author": "ada", "association": "COLLABORATOR", "state": "CHANGES_REQUESTED", "body": body,
        "submitted_at": BEFORE,
    }  # fmt: skip
    return ReviewText(**{**values, **fields})


def test_what_a_review_says_as_a_whole_is_read():
    (found,) = read(Threads(reviewed=[_review(1, "The sum <!-- x -->is off."), _review(2, " ")])).reviews
    assert found == Comment(
        1, "ada", "(A review: changes requested.) The sum is off.", BEFORE, BEFORE, of_review=True
    )


def test_the_newest_reviews_are_kept_and_the_others_said():
    many = [
        _review(number, "x" * 5_000, submitted_at=f"2026-03-01T10:00:0{number}Z") for number in range(1, 8)
    ]
    context = read(Threads(reviewed=many))
    assert [one.id for one in context.reviews] == [5, 6, 7]
    assert f"4 reviews over the {REVIEWS_BUDGET} characters that there is room for" in context.left_out


def test_later_reviews_strangers_and_our_own_are_not_read():
    reviews = [
        _review(1, association="NONE"),
        _review(2, f"Ours\n\n{OWN_MARKER} review -->"),
        _review(3, submitted_at=LATER),
    ]
    context = read(Threads(reviewed=reviews))
    assert context.reviews == ()
    assert "1 review written after the command" in context.left_out
    assert any(one.startswith("1 review by people from outside") for one in context.left_out)
    assert len(context.left_out) == 2
