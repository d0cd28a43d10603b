"""The progress comment: one a request, never waited for, the last word always written."""

import re
import threading
import time
from collections.abc import Callable

import pytest

from bot.contracts.errors import PublishError
from bot.contracts.outcome import Status, StopReason, WithheldFile
from bot.github.client import GitHub
from bot.publish.body.order_and_footer import NO_LINKS
from bot.publish.result import end_text, pending_line
from bot.publish.thread.comments import ThreadRef
from bot.publish.thread.markers import PROGRESS
from bot.publish.thread.progress_writer import ProgressWriter
from bot.session.event.progress_comment import working_text
from tests.publish.conftest import REPO, World
from tests.support.outcomes import OUTCOME


def place_in(world: World, key: str = "11") -> ThreadRef:
    return ThreadRef(world.github(), world.issue, key)


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def ours(world: World) -> list[str]:
    return [body for body in world.comments() if re.search("<!-- slash-agent (progress|ended)", body)]


def test_one_comment_is_created_and_ends_with_the_last_state(world: World):
    progress = ProgressWriter(world.github, place_in(world), interval=0.01)
    for turn in range(20):
        progress.update(f"Working, turn {turn}")
    progress.close("Done")
    (comment,) = ours(world)
    assert comment.startswith("Done\n\n<!-- slash-agent progress ")
    assert progress.problem == ""


def test_edits_are_apart_by_the_interval(world: World):
    progress = ProgressWriter(world.github, place_in(world), interval=0.3)
    began = time.monotonic()
    progress.update("one")
    wait_for(lambda: len(ours(world)) == 1)
    progress.update("two")
    wait_for(lambda: "two" in ours(world)[0])
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
    assert "Done" in ours(world)[0]


def test_a_comment_deleted_during_the_run_is_not_written_again(world: World):
    progress = ProgressWriter(world.github, place_in(world), interval=0)
    progress.update("one")
    wait_for(lambda: len(ours(world)) == 1)
    found = place_in(world).find(PROGRESS)
    assert found is not None
    world.forge.delete_comment(REPO, found.data.id)
    progress.close("Done")
    assert ours(world) == []
    assert progress.problem == ""


def test_a_failure_is_in_the_progress_comment_and_taken_back_when_it_works_after_all(world: World):
    thread_ref = place_in(world, str(world.comment_id))
    ProgressWriter(world.github, thread_ref, interval=0).close("Publishing")
    bundle = world.bundle()
    world.forge.fail_next("POST", r"/pulls$", 500, times=9)
    with pytest.raises(PublishError):
        world.publish(bundle)
    (comment,) = ours(world)
    assert comment.startswith("**The change could not be published.**")
    published = world.publish(bundle)
    (comment,) = ours(world)
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
    assert len(ours(world)) == 2
    assert fake in ours(world)
