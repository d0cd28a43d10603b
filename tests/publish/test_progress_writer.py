"""The progress comment: one a request, never waited for, the last word always written."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from bot.contracts.errors import PublishError
from bot.contracts.outcome import Status, StopReason, WithheldFile
from bot.contracts.threads import CommentData
from bot.github.client import GitHub
from bot.publish.body.title_and_footer import NO_LINKS
from bot.publish.result import end_text, pending_line
from bot.publish.thread.comments import find_comment, with_mark
from bot.publish.thread.markers import PROGRESS, ThreadRef
from bot.publish.thread.progress_writer import ProgressState, ProgressWriter
from tests.publish.conftest import REPO, World
from tests.support.outcomes import OUTCOME


def place_in(world: World, key: str = "11") -> ThreadRef:
    return ThreadRef(REPO, world.issue, key)


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def ours(world: World) -> list[str]:
    return [
        body
        for body in world.comments()
        if "<!-- slash-agent progress" in body or "<!-- slash-agent ended" in body
    ]


def test_one_comment_is_created_and_ends_with_the_last_state(world: World) -> None:
    progress = ProgressWriter(world.github, place_in(world), interval=0.01)
    for turn in range(20):
        progress.update(ProgressState(f"Working, turn {turn}"))
    progress.close(ProgressState("Done", ("6 turns",), "https://run.test/1"))
    (comment,) = ours(world)
    assert comment.startswith("**Done**\n\n- 6 turns\n\n[Follow the run](https://run.test/1)")
    assert progress.problem == ""


def test_states_in_between_are_skipped(world: World) -> None:
    progress = ProgressWriter(world.github, place_in(world), interval=60)
    progress.update(ProgressState("begins"))
    wait_for(lambda: len(ours(world)) == 1)
    for turn in range(20):
        progress.update(ProgressState(f"turn {turn}"))
        time.sleep(0.01)
    progress.close(ProgressState("Done"))
    assert len([write for write in world.writes() if "comments" in write]) == 2


def test_edits_are_apart_by_the_interval(world: World) -> None:
    progress = ProgressWriter(world.github, place_in(world), interval=0.3)
    began = time.monotonic()
    progress.update(ProgressState("one"))
    wait_for(lambda: len(ours(world)) == 1)
    progress.update(ProgressState("two"))
    wait_for(lambda: "two" in ours(world)[0])
    assert time.monotonic() - began >= 0.3
    progress.close()


def test_nobody_waits_for_a_slow_github(world: World) -> None:
    release = threading.Event()

    def connect_slowly() -> GitHub:
        release.wait(120)
        return world.github()

    progress = ProgressWriter(connect_slowly, place_in(world))
    began = time.monotonic()
    progress.update(ProgressState("one"))
    progress.update(ProgressState("two"))
    assert time.monotonic() - began < 60
    release.set()
    progress.close(ProgressState("Done"))
    assert "Done" in ours(world)[0]


def test_closing_does_not_wait_for_ever(world: World) -> None:
    release = threading.Event()

    def connect_never() -> GitHub:
        release.wait(120)
        return world.github()

    progress = ProgressWriter(connect_never, place_in(world))
    began = time.monotonic()
    progress.close(ProgressState("Done"), timeout=0.1)
    assert time.monotonic() - began < 60
    release.set()


def test_a_run_started_again_edits_the_same_comment(world: World) -> None:
    for word in ("first", "second"):
        progress = ProgressWriter(world.github, place_in(world), interval=0)
        progress.close(ProgressState(word))
    (comment,) = ours(world)
    assert "second" in comment


def test_another_request_gets_its_own_comment(world: World) -> None:
    for key in ("11", "12"):
        ProgressWriter(world.github, place_in(world, key), interval=0).close(ProgressState("Done"))
    assert len(ours(world)) == 2


def test_a_comment_deleted_during_the_run_is_not_written_again(world: World) -> None:
    progress = ProgressWriter(world.github, place_in(world), interval=0)
    progress.update(ProgressState("one"))
    wait_for(lambda: len(ours(world)) == 1)
    found = find_comment(world.github(), place_in(world), PROGRESS)
    assert found is not None
    world.forge.delete_comment(REPO, found.id)
    progress.close(ProgressState("Done"))
    assert ours(world) == []
    assert progress.problem == ""


def test_a_token_that_may_not_comment_is_a_problem_and_no_failure(world: World) -> None:
    token = world.forge.token(permissions={"issues": "read"}, repo=REPO)
    progress = ProgressWriter(lambda: world.github(token), place_in(world), interval=0)
    progress.close(ProgressState("Done"))
    assert "does not allow" in progress.problem


def test_a_strangers_copy_of_the_mark_is_not_edited(world: World) -> None:
    fake = with_mark(place_in(world), PROGRESS, "mine")
    world.forge.comment(REPO, world.issue, "bob", fake)
    ProgressWriter(world.github, place_in(world), interval=0).close(ProgressState("Done"))
    assert len(ours(world)) == 2
    assert fake in ours(world)


@pytest.mark.slow
def test_publishing_finishes_the_progress_comment_of_its_request(world: World) -> None:
    thread_ref = place_in(world, str(world.comment_id))
    ProgressWriter(world.github, thread_ref, interval=0).close(ProgressState("Publishing"))
    published = world.publish(world.bundle())
    (line, _) = ours(world)[0].split("\n\n")
    title = "Round totals once, at the end"
    assert (
        line
        == f"**Done:** pull request [#{published.pr_number} {title}]({published.pr_url}), 3 of 3 tests pass · $0.04"
    )


def test_a_run_that_was_stopped_is_not_said_to_be_done_and_how_to_go_on_is(world: World) -> None:
    thread_ref = place_in(world, str(world.comment_id))
    ProgressWriter(world.github, thread_ref, interval=0).close(ProgressState("Publishing"))
    reason = "The budget of 0.60 USD is spent."
    published = world.publish(world.bundle(status=Status.PARTIAL, reason=reason))
    said = ours(world)[0]
    assert said.startswith(f"**Not finished:** pull request [#{published.pr_number} ")
    assert f"{reason} `/agent continue` continues from here." in said.partition("\n")[0]


def test_a_failure_is_told_in_the_progress_comment_and_taken_back_when_it_works_after_all(
    world: World,
) -> None:
    thread_ref = place_in(world, str(world.comment_id))
    ProgressWriter(world.github, thread_ref, interval=0).close(ProgressState("Publishing"))
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
def test_what_a_run_says_last_is_true_also_if_publishing_never_comes(status: Status) -> None:
    said = pending_line(replace(OUTCOME, status=status), "https://run.test/1")
    assert "publishing failed or was cancelled: see [the run](https://run.test/1)" in said


def test_what_was_withheld_is_no_failed_run() -> None:
    held = (WithheldFile(".github/workflows/ci.yml", "is protected"),)
    outcome = replace(OUTCOME, status=Status.FAILED, stop_reason=StopReason.GATE, files=(), withheld=held)
    said = end_text(outcome, NO_LINKS)
    assert said.startswith("**The change was held back.**")
    assert "- `.github/workflows/ci.yml`: is protected" in said
    assert "`withheld.patch`" in said
    assert "The run failed" not in said


def test_a_lost_answer_is_not_a_second_comment(world: World) -> None:
    from bot.publish.thread.comments import put_comment

    world.forge.drop_next("POST", "/comments", after_effect=True)
    put_comment(world.github(), place_in(world), "ended", "The end.")
    put_comment(world.github(), place_in(world), "ended", "The end.")
    assert len(ours(world)) == 1


@pytest.mark.parametrize("text", ["@all /agent fix", "**bold** <b>", "two\nlines", "<!-- x -->"])
def test_a_state_is_shown_as_plain_text(text: str) -> None:
    shown = ProgressState(text).text()
    assert len(shown.splitlines()) == 1
    assert "@all" not in shown
    assert "<!--" not in shown.replace("\\<", "")


def test_two_runs_of_one_event_end_with_one_comment(world: World) -> None:
    """Both look before either writes, as without the workflow's queue."""
    looked = threading.Barrier(2)

    class Looking(GitHub):
        met = False

        def comments(self, repository: str, number: int, since: str = "") -> Iterator[CommentData]:
            there = list(super().comments(repository, number, since))
            if not self.met:
                self.met = True
                looked.wait(60)
            return iter(there)

    def connect() -> GitHub:
        github = world.github()
        github.__class__ = Looking
        return github

    runs = [ProgressWriter(connect, place_in(world), interval=0.01) for _ in range(2)]
    for run in runs:
        run.update(ProgressState("Working on it"))
    for run in runs:
        run.close(ProgressState("Done"), timeout=60)
    assert [run.problem for run in runs] == ["", ""]
    assert len(ours(world)) == 1
