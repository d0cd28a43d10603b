"""Many commands: the day's quota, and comments that other runs of the thread left."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.contracts.request import Actor, Tier, Trigger
from bot.events.event_request import RefusedError
from bot.github.client import connect
from bot.session.event.quota import check_quota
from slash_forge.bundled import MAINTAINER, REPORTER
from tests.support.fix_script import DONE
from tests.support.model_server import ModelServer
from tests.support.outcomes import make_request
from tests.support.stage import CommandResult, Stage

BOT = "github-actions[bot]"
WORKFLOW = ".github/workflows/agent.yml"


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


def test_a_quota_that_is_used_up_is_said_in_one_sentence(two_a_day: Stage) -> None:
    for _ in range(2):
        run_of(two_a_day)
    ran, asked = act(two_a_day)
    assert (ran.code, asked) == (3, 0)
    [bodies] = two_a_day.bot_comments()
    assert bodies.startswith(
        f"{MAINTAINER} has used today's 2 runs of the tier maintainer. The count starts again at 00:00"
    )


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
    request = make_request(repository=stage.repo, actor=Actor(MAINTAINER, 1, Tier.MAINTAINER))
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    before = len(stage.forge.requests)
    assert check_quota(github, request, 50, now, run=1, workflow=WORKFLOW) == ""
    assert len(stage.forge.requests) - before == 1


def test_where_runs_cannot_be_counted_the_permission_is_named(stage: Stage) -> None:
    github = connect(stage.sample.run_token, stage.forge.api_url)

    def counted(tier: Tier) -> str:
        stage.forge.fail_next("GET", "/actions/", status=403, body={"message": "Resource not accessible"})
        request = make_request(repository=stage.repo, actor=Actor("x", 1, tier))
        return check_quota(github, request, 5, "2026-01-01T00:00:00Z", run=1, workflow=WORKFLOW)

    assert "`actions: read`" in counted(Tier.MAINTAINER)
    with pytest.raises(RefusedError, match="`actions: read`"):
        counted(Tier.CONTRIBUTOR)


def test_schedules_and_failed_runs_are_counted_by_their_event(stage: Stage, one_day: None) -> None:
    for _ in range(3):
        run_of(stage, event="schedule")
    github = connect(stage.sample.run_token, stage.forge.api_url)
    actor = Actor("schedule", 0, Tier.SCHEDULE)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def count(event: str) -> str:
        request = make_request(repository=stage.repo, actor=actor, trigger=Trigger(event, 0, "", now))
        return check_quota(github, request, 3, now, run=1, workflow=WORKFLOW)

    assert count("workflow_run") == ""
    with pytest.raises(RefusedError):
        count("schedule")


# -- comments that other runs left


def begun(stage: Stage, number: int, run: int, state: str = "over") -> int:
    mark = f"<!-- slash-agent progress request={number} run={run} state={state} -->"
    return stage.forge.comment(stage.repo, stage.sample.issue, BOT, f"**Working on it**\n\n{mark}\n")[0]


@pytest.mark.bubblewrap
def test_a_comment_that_a_dead_run_left_open_is_closed(stage: Stage) -> None:
    dead = run_of(stage, "cancelled")
    begun(stage, stage.sample.comment, dead, "on")
    act(stage, stage.ask("/agent fix this"))
    [bodies] = [body for body in stage.bot_comments() if "This run ended without a result" in body]
    assert f"/actions/runs/{dead}), cancelled)" in bodies
    assert "state=over" in bodies


@pytest.mark.bubblewrap
@pytest.mark.slow
def test_an_open_comment_that_a_person_wrote_is_left_alone(stage: Stage) -> None:
    dead = run_of(stage, "cancelled")
    mark = f"<!-- slash-agent progress request={stage.sample.comment} run={dead} state=on -->"
    stage.forge.comment(stage.repo, stage.sample.issue, REPORTER, f"x\n\n{mark}\n")
    act(stage, stage.ask("/agent fix this"))
    assert not [body for body in stage.bot_comments() if "This run ended without a result" in body]
