"""Many commands: the day's quota, and comments that other runs of the thread left."""

from __future__ import annotations

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
from tests.support.stage import BOT, WORKFLOW, CommandResult, Stage


def act(stage: Stage, event: Any = None, run: int = 0) -> tuple[CommandResult, int]:
    """One run as Actions has it; what was said, and how often the model was asked."""
    with ModelServer([DONE]) as server:
        ran = stage.run(model=server, event=event, token=stage.bot_token(), **stage.job(run))
        asked = len(server.requests)
    assert "Traceback" not in ran.output
    return ran, asked


def quota(stage: Stage, limit: int, actor: Actor, event: str = "issue_comment") -> str:
    github = connect(stage.sample.run_token, stage.forge.api_url)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    request = make_request(repository=stage.repo, actor=actor, trigger=Trigger(event, 0, "", now))
    return check_quota(github, request, limit, now, run=1, workflow=WORKFLOW)


OWNER, SCHEDULE = Actor(MAINTAINER, 1, Tier.MAINTAINER), Actor("schedule", 0, Tier.SCHEDULE)


def test_what_does_not_count(stage: Stage, one_day: None) -> None:
    """Skipped runs, other people's, other workflows' and yesterday's; of a schedule, those of other events."""
    yesterday = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    for more in (
        {"conclusion": "skipped"},
        {"login": REPORTER},
        {"workflow": ".github/workflows/ci.yml"},
        {"at": yesterday},
        {"event": "schedule", "login": REPORTER},
    ):
        for _ in range(2):
            stage.add_run(**{"conclusion": "success", **more})
    before = len(stage.forge.requests)
    assert quota(stage, 2, OWNER) == ""
    assert len(stage.forge.requests) - before == 1
    assert quota(stage, 2, SCHEDULE, "workflow_run") == ""
    with pytest.raises(RefusedError, match="has used today's 2 runs"):
        quota(stage, 2, SCHEDULE, "schedule")


@pytest.mark.parametrize("tier", [Tier.MAINTAINER, Tier.CONTRIBUTOR])
def test_where_runs_cannot_be_counted_the_permission_is_named(stage: Stage, tier: Tier) -> None:
    stage.forge.fail_next("GET", "/actions/", status=403, body={"message": "Resource not accessible"})
    try:
        said = quota(stage, 5, Actor("x", 1, tier))
    except RefusedError as refusal:
        assert tier is Tier.CONTRIBUTOR
        said = str(refusal)
    assert "`actions: read`" in said


def test_help_is_never_refused_for_it(stage: Stage, one_day: None) -> None:
    policy = "version: 1\ntiers:\n  maintainer: {runs_a_day: 1}\n"
    stage.forge.commit(stage.repo, {".github/agent.yml": policy})
    stage.add_run("success")
    assert act(stage, stage.ask("/agent help"))[0].code == 0


@pytest.mark.bubblewrap
def test_a_comment_that_a_dead_run_left_open_is_closed(stage: Stage) -> None:
    dead = stage.add_run("cancelled")
    mark = f"<!-- slash-agent progress request={stage.sample.comment} run={dead} state=on -->"
    stage.forge.comment(stage.repo, stage.sample.issue, BOT, f"**Working on it**\n\n{mark}\n")
    act(stage, stage.ask("/agent fix this"))
    [bodies] = [body for body in stage.bot_comments() if "This run ended without a result" in body]
    assert f"/actions/runs/{dead}), cancelled)" in bodies
    assert "state=over" in bodies
