"""Faults of the loop that follows the bot's own pull requests: after each, the next wake-up goes on, and nothing was
counted, pushed or said twice."""

from typing import Any

import pytest

from bot.publish.thread.markers import mark, marked
from slash_forge.bundled import MAINTAINER
from slash_forge.operations import runs
from tests.follow_up.conftest import BRANCH, FIX, Followed
from tests.follow_up.conftest import followed as followed
from tests.support.stage import BOT

pytestmark = [pytest.mark.bubblewrap, pytest.mark.slow]


@pytest.mark.parametrize("times", [1, 40])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/graphql$"), ("GET", "/contents/"), ("GET", r"/issues/\d+/comments"), ("GET", "/check-runs"),
        ("GET", "/compare/"), ("GET", "/actions/artifacts"),
    ],
)  # fmt: skip
def test_an_error_of_a_read_costs_time_only(followed: Followed, method: str, path: str, times: int):
    run = followed.ci()
    followed.forge.fail_next(method, path, 502, times=times)
    first = followed.wake(run, FIX) if times == 1 else followed.wake(run)
    if times > 1:
        assert first.code == 75, first.output
        followed.forge.end_faults()
        assert followed.comment == ""
        first = followed.wake(run, FIX)
    assert first.code == 0, first.output
    assert followed.mark["fix"] == "1"


@pytest.mark.parametrize("kind", ["primary", "secondary"])
def test_a_rate_limit_ends_the_wake_up_and_counts_nothing(followed: Followed, kind: str):
    run = followed.ci()
    followed.forge.limit_next("POST", "/graphql$", kind=kind, retry_after=3000, times=40)  # type: ignore[arg-type]
    assert followed.wake(run).code in (0, 75)  # who we are, or all else, could not be read
    followed.forge.end_faults()
    assert followed.comment == ""


@pytest.mark.parametrize("again", [False, True])
def test_death_between_push_and_comment_counts_one_round_and_pushes_once(followed: Followed, again: bool):
    before, round = followed.head, followed.begin(followed.ci())
    followed.forge.drop_next("PATCH", "/issues/comments/", times=40)
    followed.publish(*round)
    pushed = followed.head
    assert pushed != before
    followed.forge.end_faults()
    if again:
        followed.publish(*round)
        assert followed.head == pushed
    assert followed.wake(followed.ci("success")).code == 0
    assert followed.mark["fix"] == "1"
    assert "Ready for review" in followed.comment


def test_a_lost_event_is_made_up_for_by_the_schedule(followed: Followed):
    before = followed.head
    followed.ci()
    assert followed.sweep(FIX).code == 0
    assert followed.mark["fix"] == "1"
    assert followed.head == before  # the bundle is not published yet


def test_one_pull_request_that_cannot_be_read_keeps_no_other_back(followed: Followed):
    forge, repo = followed.forge, followed.repo
    forge.commit(repo, {"b.txt": "b\n"}, branch="agent/other", author=BOT)
    body = f"x\n\n<!-- slash-agent pull-request issue=1 head={followed.head} -->\n"
    other = forge.open_pull(repo, BOT, "agent/other", body=body)
    followed.ci("success")
    forge.fail_next("GET", f"/issues/{other}/comments", 500, times=40)
    swept = followed.sweep()
    assert swept.code == 0, swept.output
    assert f"#{other} is left until the next time" in swept.output
    assert "Ready for review" in followed.comment


def test_while_github_computes_nothing_is_decided_and_nothing_is_said_twice(followed: Followed):
    followed.forge.set_pull(followed.repo, followed.number, computing=50)
    run = followed.ci()
    followed.wake(run)
    writes = len(followed.stage.writes())
    for _ in range(2):
        assert "has not computed yet" in followed.wake(run).output
    assert len(followed.stage.writes()) == writes


def test_a_person_who_pushes_during_a_round_wins(followed: Followed):
    round = followed.begin(followed.ci())
    theirs = followed.forge.commit(followed.repo, {"x.txt": "x\n"}, branch=BRANCH, author=MAINTAINER)
    followed.publish(*round)
    assert followed.head == theirs
    followed.wake(followed.ci())
    assert followed.head == theirs
    assert "**Stopped:** Somebody else committed" in followed.comment


def test_a_stop_between_reading_and_writing_wins(followed: Followed, monkeypatch: pytest.MonkeyPatch):
    comment, listed = followed.known(), runs._artifact_list
    stopped = marked("**Stopped:** `/agent stop`. Next: a maintainer.", mark("followed", state="stopped"))

    def stop_first(call: Any, repo: Any, matches: Any) -> Any:
        followed.forge.edit_comment(followed.repo, comment, stopped)
        return listed(call, repo, matches)

    monkeypatch.setattr(runs, "_artifact_list", stop_first)
    assert f"#{followed.number} was stopped meanwhile" in followed.no_round(followed.ci())
    assert followed.mark == {"state": "stopped"}


def test_a_note_in_place_of_a_bundle_stops_the_round(followed: Followed):
    before, (job, where) = followed.head, followed.begin(followed.ci())
    note = {"SLASH_AGENT_NOTE": "mira may not push here."}
    for _ in range(2):
        assert followed.publish(job, {**where, **note}).code == 0
        assert followed.comment.startswith("**Stopped:** mira may not push here. Next: a maintainer.")
    assert "running" not in followed.comment
    assert followed.head == before


def test_a_comment_that_somebody_edited_is_written_again(followed: Followed):
    comment = followed.known(fix=1, run=0)
    followed.forge.edit_comment(followed.repo, comment, "gone")
    assert followed.wake(followed.ci("success")).code == 0
    assert "Ready for review" in followed.comment
