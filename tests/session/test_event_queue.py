"""Many commands: the day's quota, and commands that GitHub's queue dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.contracts.pulls import Comment, ReviewThread, Side
from bot.contracts.request import Actor, Tier
from bot.contracts.threads import CommentData
from bot.github.client import connect
from bot.github.values import Account
from bot.session.event.queue import (
    RunTrigger,
    find_dropped,
    has_other_commands,
    open_progress_comments,
    thread_comments,
)
from bot.session.event.quota import check_quota
from slash_forge.bundled import MAINTAINER, REPORTER
from tests.support.fix_script import DONE
from tests.support.model_server import ModelServer
from tests.support.stage import CommandResult, Stage

BOT = "github-actions[bot]"
WORKFLOW = ".github/workflows/agent.yml"
ME = Account(BOT, 41_898_282, "Bot")


def run_of(stage: Stage, conclusion: str | None = "success", login: str = MAINTAINER, **more: Any) -> int:
    given = {"workflow": WORKFLOW, "event": "issue_comment", "actor": login, "conclusion": conclusion, **more}
    return stage.forge.add_run(stage.repo, name="agent", **given)


def act(stage: Stage, event: Any = None, run: int = 0, **permissions: str) -> tuple[CommandResult, int]:
    """One run as Actions has it; what was said, and how often the model was asked."""
    granted: dict[str, Any] = {"contents": "read", "issues": "write", "actions": "read", **permissions}
    token = stage.forge.token(BOT, granted, repo=stage.repo)
    with ModelServer([DONE]) as server:
        ran = stage.run(
            model=server,
            event=event,
            token=token,
            GITHUB_RUN_ID=str(run or run_of(stage, None)),
            GITHUB_WORKFLOW_REF=f"{stage.repo}/{WORKFLOW}@refs/heads/main",
        )
        asked = len(server.requests)
    assert "Traceback" not in ran.output
    return ran, asked


# -- the day's quota


@pytest.fixture
def two_a_day(stage: Stage, one_day: None) -> Iterator[Stage]:
    policy = "version: 1\ntiers:\n  maintainer: {runs_a_day: 2}\n"
    stage.forge.commit(stage.repo, {".github/agent.yml": policy})
    yield stage


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_within_the_quota_a_run_is_a_run(two_a_day: Stage) -> None:
    run_of(two_a_day)
    _, asked = act(two_a_day)
    assert asked == 1


def test_a_quota_that_is_used_up_is_said_in_one_sentence(two_a_day: Stage) -> None:
    for _ in range(2):
        run_of(two_a_day)
    ran, asked = act(two_a_day)
    assert (ran.code, asked) == (3, 0)
    [bodies] = two_a_day.bot_comments()
    assert bodies.startswith(
        f"{MAINTAINER} has used today's 2 runs of the tier maintainer. The count starts again at 00:00"
    )


@pytest.mark.slow
def test_deleting_every_comment_changes_nothing(two_a_day: Stage) -> None:
    for _ in range(2):
        run_of(two_a_day)
    act(two_a_day)
    for comment in two_a_day.get("issues/1/comments"):
        two_a_day.forge.delete_comment(two_a_day.repo, comment["id"])
    _, asked = act(two_a_day, two_a_day.ask("/agent fix this"))
    assert asked == 0


@pytest.mark.bubblewrap
@pytest.mark.slow
def test_what_does_not_count(two_a_day: Stage) -> None:
    """Skipped runs, other people's, other workflows' and yesterday's."""
    yesterday = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    for more in (
        {"conclusion": "skipped"},
        {"login": REPORTER},
        {"workflow": ".github/workflows/ci.yml"},
        {"at": yesterday},
    ):
        for _ in range(2):
            run_of(two_a_day, **more)
    _, asked = act(two_a_day)
    assert asked == 1


def test_help_is_never_refused_for_it(two_a_day: Stage) -> None:
    for _ in range(2):
        run_of(two_a_day)
    ran, _ = act(two_a_day, two_a_day.ask("/agent help"))
    assert ran.code == 0


def test_the_count_costs_one_call(stage: Stage, one_day: None) -> None:
    for _ in range(30):
        run_of(stage)
    github = connect(stage.sample.run_token, stage.forge.api_url)
    actor = Actor(MAINTAINER, 1, Tier.MAINTAINER)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    quota = check_quota(github, stage.repo, actor, 50, run=1, workflow=WORKFLOW, now=now)
    assert (quota.refusal, len(github.calls)) == ("", 1)


@pytest.mark.parametrize(("tier", "refused"), [(Tier.MAINTAINER, False), (Tier.CONTRIBUTOR, True)])
def test_where_runs_cannot_be_counted_the_permission_is_named(
    stage: Stage, tier: Tier, refused: bool
) -> None:
    stage.forge.fail_next("GET", "/actions/", status=403, body={"message": "Resource not accessible"})
    github = connect(stage.sample.run_token, stage.forge.api_url)
    quota = check_quota(
        github, stage.repo, Actor("x", 1, tier), 5, run=1, workflow=WORKFLOW, now="2026-01-01T00:00:00Z"
    )
    assert bool(quota.refusal) is refused
    assert "`actions: read`" in (quota.refusal or quota.note)


def test_schedules_and_failed_runs_are_counted_by_their_event(stage: Stage, one_day: None) -> None:
    for _ in range(3):
        run_of(stage, event="schedule")
    github = connect(stage.sample.run_token, stage.forge.api_url)
    actor = Actor("schedule", 0, Tier.SCHEDULE)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for event, refused in (("schedule", True), ("workflow_run", False)):
        quota = check_quota(github, stage.repo, actor, 3, run=1, workflow=WORKFLOW, now=now, event=event)
        assert bool(quota.refusal) is refused


@pytest.mark.slow
def test_outside_actions_nothing_is_counted(stage: Stage) -> None:
    github = connect(stage.sample.run_token, stage.forge.api_url)
    check_quota(
        github, stage.repo, Actor("x", 1, Tier.MAINTAINER), 0, run=0, workflow="", now="2026-01-01T00:00:00Z"
    )
    assert github.calls == []


# -- dropped commands


def comment(number: int, body: str, author: str = MAINTAINER) -> CommentData:
    kind, account = ("Bot", ME.id) if author == BOT else ("User", 7)
    return CommentData(number, author, account, kind, body, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")


def ours(number: int, kind: str, request: int, more: str = "") -> CommentData:
    return comment(number, f"said\n\n<!-- slash-agent {kind} request={request}{more} -->", BOT)


BEFORE = [comment(10, "/agent fix this"), ours(11, "progress", 10)]
PLANS = [comment(12, "/agent plan"), comment(13, "/agent plan")]
NOW = RunTrigger("20", "2026-01-01T00:00:20Z")


ANSWER = "No.\n\n<!-- slash-agent ended request=r5 -->"


def on_lines(*remarks: tuple[int, str, str, int]) -> ReviewThread:
    """Remarks as id, author, body and second."""
    at = "2026-01-01T00:00:{:02}Z"
    said = tuple(
        Comment(number, who, body, at.format(second), at.format(second))
        for number, who, body, second in remarks
    )
    return ReviewThread(remarks[0][0], "a.py", 1, 0, Side.RIGHT, "", said)


@pytest.mark.parametrize(
    ("thread", "found"),
    [
        ([*BEFORE], []),
        ([*BEFORE, comment(12, "thanks"), comment(13, "> /agent fix"), comment(14, "/agnt x")], []),
        ([*BEFORE, comment(12, "/agent plan"), comment(20, "/agent fix")], [12]),
        ([*BEFORE, comment(12, "/agent plan"), ours(13, "ended", 12)], []),
        ([*BEFORE, comment(12, "/agent status"), ours(21, "answer", 12)], []),
        ([*BEFORE, comment(12, "/agent plan"), comment(13, "/agent status"), ours(21, "answer", 13)], [12]),
        (
            [
                *BEFORE,
                comment(12, "/agent plan"),
                comment(13, "said\n\n<!-- slash-agent ended request=12 -->"),
            ],
            [12],
        ),
        ([*BEFORE, comment(12, "/agent plan", BOT)], []),
        ([*BEFORE, comment(25, "/agent later")], []),
        ([comment(12, "/agent plan")], []),
        ([*BEFORE, *(comment(number, "/agent plan") for number in range(12, 18))], [*range(12, 18)]),
        # A run that waited and never began took nothing up; one that began did.
        ([*BEFORE, *PLANS, ours(14, "progress", 13, " queued=yes")], [12]),
        ([*BEFORE, *PLANS, ours(14, "progress", 13)], []),
        # What was told is told.
        ([*BEFORE, *PLANS, ours(15, "dropped", 14, " told=12.r7")], [13]),
        ([*BEFORE, *PLANS, comment(15, "x\n\n<!-- slash-agent dropped request=14 told=12 -->")], [12, 13]),
    ],
)  # fmt: skip
def test_what_counts_as_dropped(thread: list[CommentData], found: list[int]) -> None:
    assert [one.comment.data.id for one in find_dropped(thread_comments(reversed(thread)), NOW, ME)] == found


@pytest.mark.parametrize(
    ("thread", "found"),
    [
        (on_lines((5, "ann", "/agent fix this", 12)), ["r5"]),
        (on_lines((5, "ann", "what?", 3), (99, "ann", "/agent fix this", 12)), ["r99"]),
        (on_lines((5, "ann", "/agent fix this", 12), (6, BOT, ANSWER, 13)), []),
        (on_lines((5, "ann", "/agent fix", 12), (6, "ann", ANSWER, 13)), ["r5"]),
        (on_lines((5, "helper[bot]", "/agent fix this", 12)), []),
        # Before the last that was begun, and after the one that asks.
        (on_lines((5, "ann", "/agent fix this", 9)), []),
        (on_lines((5, "ann", "/agent fix this", 20)), []),
    ],
)  # fmt: skip
def test_a_command_on_lines_is_told_apart_from_the_conversations_by_its_time(
    thread: ReviewThread, found: list[str]
) -> None:
    begun = replace(BEFORE[0], created_at="2026-01-01T00:00:10Z"), BEFORE[1]
    assert [one.comment.key for one in find_dropped(thread_comments(begun, [thread]), NOW, ME)] == found


def test_a_command_on_lines_that_asks_finds_those_on_lines_by_their_ids() -> None:
    thread = on_lines((5, "ann", "/agent fix", 1), (6, BOT, "x\n\n<!-- slash-agent progress request=r5 -->", 1),
                      (7, "ann", "/agent plan", 1), (8, "ann", "/agent explain", 1))  # fmt: skip
    asking = RunTrigger("r8", "2026-01-01T00:00:01Z")
    assert [one.comment.key for one in find_dropped(thread_comments([], [thread]), asking, ME)] == ["r7"]


def test_only_another_command_is_worth_a_look() -> None:
    assert not has_other_commands(thread_comments([comment(20, "/agent fix"), comment(11, "hello")]), NOW)
    assert has_other_commands(thread_comments(BEFORE), NOW)


def test_a_progress_comment_left_open_is_known_by_our_authorship() -> None:
    open_one = ours(11, "progress", 10, " run=5 state=on")
    forged = comment(12, "x\n\n<!-- slash-agent progress request=10 run=5 state=on -->")
    over = ours(13, "progress", 10, " run=5 state=over")
    waiting = ours(22, "progress", 21, " run=6 state=on queued=yes")
    found = open_progress_comments(thread_comments([open_one, forged, over, waiting]), NOW, ME)
    assert [one.data.id for one, _ in found] == [11]


def begun(stage: Stage, number: int, run: int, state: str = "over") -> int:
    mark = f"<!-- slash-agent progress request={number} run={run} state={state} -->"
    return stage.forge.comment(stage.repo, stage.sample.issue, BOT, f"**Working on it**\n\n{mark}\n")[0]


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_the_next_run_tells_whose_command_was_dropped_once(stage: Stage) -> None:
    begun(stage, stage.sample.comment, 5)
    lost, _ = stage.forge.comment(stage.repo, stage.sample.issue, MAINTAINER, "/agent plan something")
    stage.forge.comment(stage.repo, stage.sample.issue, REPORTER, "/agent fix mine")
    event = stage.ask("/agent fix this")
    for _ in range(2):
        ran, asked = act(stage, event)
        assert asked == 1, ran.output
    [bodies] = [body for body in stage.bot_comments() if "Not carried out" in body]
    assert (
        f"[`/agent plan`]({stage.forge.url}/{stage.repo}/issues/1#issuecomment-{lost}) of {MAINTAINER}"
        in bodies
    )
    assert REPORTER not in bodies


@pytest.mark.bubblewrap
def test_a_comment_that_a_dead_run_left_open_is_closed(stage: Stage) -> None:
    dead = run_of(stage, "cancelled")
    begun(stage, stage.sample.comment, dead, "on")
    act(stage, stage.ask("/agent fix this"))
    [bodies] = [body for body in stage.bot_comments() if "Nothing more will come of this" in body]
    assert f"/actions/runs/{dead}) is over (cancelled)" in bodies
    assert "state=over" in bodies


@pytest.mark.bubblewrap
@pytest.mark.slow
def test_two_commands_of_the_same_second_are_two_requests(stage: Stage) -> None:
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    events = [
        stage.forge.comment(stage.repo, stage.sample.issue, MAINTAINER, f"/agent fix {word}", at=at)[1]
        for word in ("the one", "the other")
    ]
    for event in events:
        _, asked = act(stage, event)
        assert asked == 1
    shown = [body for body in stage.bot_comments() if "<!-- slash-agent progress " in body]
    assert len(shown) == 2
    assert not [body for body in stage.bot_comments() if "Not carried out" in body]


def queued(stage: Stage, number: int, run: int) -> None:
    """What the gate writes for a command whose run then has to wait."""
    mark = f"<!-- slash-agent progress request={number} state=on run={run} queued=yes -->"
    stage.forge.comment(stage.repo, stage.sample.issue, BOT, f"**Queued**\n\n- begins later\n\n{mark}\n")


@pytest.mark.bubblewrap
@pytest.mark.slow
def test_each_of_several_dropped_commands_is_answered_once(stage: Stage) -> None:
    """One had its comment from the gate, another none; both were dropped while the first was worked on."""
    begun(stage, stage.sample.comment, 5)
    silent, _ = stage.forge.comment(stage.repo, stage.sample.issue, MAINTAINER, "/agent plan something")
    seen, _ = stage.forge.comment(stage.repo, stage.sample.issue, MAINTAINER, "/agent fix another")
    queued(stage, seen, run_of(stage, "cancelled"))
    for body in ("/agent fix this", "/agent fix that"):
        _, asked = act(stage, stage.ask(body))
        assert asked == 1
    bodies = [body for body in stage.bot_comments() if "Not carried out" in body]
    assert len(bodies) == 2, bodies
    [closed] = [body for body in bodies if f"request={seen} " in body]
    assert "dropped or cancelled while it waited" in closed
    assert "state=over" in closed
    [listed] = [body for body in bodies if body != closed]
    assert f"#issuecomment-{silent})" in listed
    assert f"told={silent} -->" in listed


@pytest.mark.bubblewrap
@pytest.mark.slow
def test_what_still_waits_behind_a_run_is_left_alone(stage: Stage) -> None:
    event = stage.ask("/agent fix this")
    behind = stage.ask("/agent fix that")
    queued(stage, behind["comment"]["id"], run_of(stage, None))
    act(stage, event)
    [waiting] = [body for body in stage.bot_comments() if "queued=yes" in body]
    assert "state=on" in waiting
    assert not [body for body in stage.bot_comments() if "Not carried out" in body]


@pytest.mark.bubblewrap
@pytest.mark.slow
def test_a_command_on_lines_that_was_dropped_is_told_of_in_the_conversation(stage: Stage) -> None:
    stage.forge.commit(stage.repo, {"tidytime/units.py": "# new\n"}, branch="topic", author=MAINTAINER)
    number = stage.forge.open_pull(stage.repo, MAINTAINER, "topic")
    first, _ = stage.forge.comment(
        stage.repo, number, MAINTAINER, "/agent fix one", at="2026-01-01T00:00:01Z"
    )
    mark = f"<!-- slash-agent progress request={first} run=5 state=over -->"
    stage.forge.comment(stage.repo, number, BOT, f"**Done**\n\n{mark}\n", at="2026-01-01T00:00:02Z")
    lost = stage.forge.review_comment(
        stage.repo, number, MAINTAINER, "tidytime/units.py", 1, body="/agent fix this line"
    )
    for word in ("that", "the other"):
        later = (datetime.now(UTC) + timedelta(seconds=60)).strftime("%Y-%m-%dT%H:%M:%SZ")
        _, event = stage.forge.comment(stage.repo, number, MAINTAINER, f"/agent explain {word}", at=later)
        ran, asked = act(stage, event, pull_requests="read")
        assert asked == 1, ran.output
    [bodies] = [body for body in stage.bot_comments(number) if "Not carried out" in body]
    assert f"#discussion_r{lost}) of {MAINTAINER}" in bodies
