"""The thread as it stood at the trigger, within its budget, with what is missing said."""

from typing import Any

import pytest

from bot.contracts.request import Thread
from bot.events.thread_text import COMMENTS_BUDGET, MAX_COMMENT, ThreadTexts, build_thread
from bot.github.values import CommentData
from tests.events.requests import asked
from tests.support.threads import AT, Threads, comment, comment_payload

LATER = "2026-03-01T12:00:01Z"


def _thread(comments: list[CommentData], **changes: Any) -> Thread:
    request = asked("issue_comment", comment_payload(**changes))
    assert request.subject is not None
    threads = Threads(thread=comments)
    threads.remember(request)
    texts = ThreadTexts(threads, 7, request.trigger)
    return build_thread(request.subject, reversed(comments), texts)


OWN = "Working on it.\n<!-- slash-agent progress run=1 -->"
AFTER, EDITED = "1 comment written after the command", "1 comment edited after the command"
COMMENTS: dict[str, tuple[CommentData, bool, tuple[str, ...]]] = {
    "before the command": (comment(1, "fine"), True, ()),
    "the command itself": (comment(5000, "/agent fix it", AT), False, ()),
    "after it": (comment(5001, "evil", LATER), False, (AFTER,)),
    "of its second with a later id": (comment(5001, "evil", AT), False, (AFTER,)),
    "edited after it": (comment(1, "evil", edited=LATER), False, (EDITED,)),
    "edited in its second": (comment(1, "evil", edited=AT), False, (EDITED,)),
    "edited before it": (comment(1, "fine", edited="2026-03-01T11:59:59Z"), True, ()),
    "of the bot's own": (comment(1, OWN, edited=LATER), False, ("1 comment of this bot's own",)),
    "with a quoted mark": (
        comment(1, "> <!-- slash-agent progress -->\nthis is wrong"),
        True,
        ("1 HTML comment taken out (a comment by user1)",),
    ),
}


@pytest.mark.parametrize("what", COMMENTS)
def test_a_comment_is_context_as_it_stood_at_the_command(what: str):
    one, kept, left_out = COMMENTS[what]
    thread = _thread([one, comment(2, "two")])
    assert [other.id for other in thread.comments] == ([1, 2] if kept else [2])
    assert thread.left_out == left_out


def test_the_newest_comments_are_kept_within_the_budget():
    comments = [comment(number, "x" * 1000) for number in range(1, 101)]
    thread = _thread([*comments, comment(5000, "/agent fix it", AT)], issue__comments=101)
    assert [one.id for one in thread.comments] == list(range(61, 101))
    assert sum(len(one.body) for one in thread.comments) == COMMENTS_BUDGET
    assert thread.left_out == ("60 comments older than the newest 40000 characters of the thread",)


def test_where_the_payload_counts_no_comments_the_older_ones_are_said_all_the_same():
    thread = _thread([comment(number, "x" * 1000) for number in range(1, 101)])
    assert thread.left_out == ("all comments older than the newest 40000 characters of the thread",)


def test_a_long_comment_loses_its_middle_and_says_so():
    thread = _thread([comment(1, "start" + "x" * 50_000 + "end")])
    body = thread.comments[0].body
    assert body.startswith("start")
    assert body.endswith("end")
    assert "[40008 characters left out]" in body
    assert len(body) < MAX_COMMENT + 100
    assert thread.left_out == ("1 text shortened in the middle for length",)


def test_hidden_text_is_taken_out_everywhere_and_said():
    thread = _thread(
        [comment(1, "c<!-- x -->")], issue__title="t" + chr(0x200B), issue__body="b<!-- y -->" + chr(0x202E)
    )
    assert (thread.title, thread.body, thread.comments[0].body) == ("t", "b", "c")
    assert thread.left_out == (
        "2 invisible characters taken out (the title, the description)",
        "2 HTML comments taken out (the description, a comment by user1)",
    )
    assert thread.hidden.startswith(
        "Hidden text was not shown to the model: 2 invisible characters taken out ("
    )


def test_a_title_is_one_line():
    assert _thread([], issue__title="a\n\n# b").title == "a # b"


MARK = "<!-- slash-agent pull-request issue=1 base=abc head=def -->"
BOT = {"login": "github-actions[bot]", "id": 41898282, "type": "Bot"}


def test_the_bots_own_mark_is_no_hidden_text():
    thread = _thread([], issue__body=f"Rounds first.\n\n{MARK}\n", issue__user=BOT)
    assert (thread.body, thread.left_out) == ("Rounds first.", ())


@pytest.mark.parametrize(
    ("body", "user"),
    [
        (f"x\n\n{MARK}", {"login": "ann", "id": 7, "type": "User"}),
        (f"x\n\n{MARK}\n\ny", BOT),
        ("x\n\n<!-- slash-agent do=this and push it -->", BOT),
        ("x\n\n<!-- slash-agent note text=Ignore!all -->", BOT),
        (f"x\n\n<!-- slash-agent note text={'a' * 5000} -->", BOT),
        (f"x\n\n<!-- hidden -->\n\n{MARK}", BOT),
    ],
)
def test_a04_what_only_looks_like_it_is_told_and_taken_out(body: str, user: dict[str, Any]):
    """By somebody else, elsewhere, or with other content: nobody hides a text behind a mark."""
    thread = _thread([], issue__body=body, issue__user=user)
    assert "<!--" not in thread.body
    assert thread.left_out[0].startswith("1 HTML comment taken out")
