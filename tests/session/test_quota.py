"""The limit of a day: its runs, without those that asked no model."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.contracts.request import Actor, Tier, Trigger
from bot.events.event_request import RefusedError
from bot.github.client import connect
from bot.publish.thread.history import ASKED, UNASKED
from bot.publish.thread.markers import ANSWER, ENDED, PROGRESS, REFUSED, mark, marked
from bot.session.event.quota import check_quota
from slash_forge.bundled import MAINTAINER, REPORTER
from tests.support.fix_script import DONE
from tests.support.outcomes import make_request
from tests.support.stage import BOT, WORKFLOW, CommandResult, Stage

pytestmark = pytest.mark.usefixtures("one_day")


def now(days_ago: int = 0) -> str:
    return (datetime.now(UTC) - timedelta(days=days_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")


def act(stage: Stage, event: Any = None, run: int = 0) -> tuple[CommandResult, int]:
    """One run as Actions has it; what was said, and how often the model was asked."""
    ran = stage.run(model=[DONE], event=event, token=stage.bot_token(), **stage.job(run))
    asked = len(ran.requests)
    assert "Traceback" not in ran.output
    return ran, asked


def actor(stage: Stage, login: str = MAINTAINER) -> Actor:
    permission = connect(stage.sample.publish_token, stage.forge.api_url, stage.repo).permission(login)
    return Actor(login, permission.user_id, Tier.MAINTAINER)


def remark(stage: Stage, kind: str, run: str, **fields: str) -> None:
    written = mark(kind, request="thread", run=run, **{"state": "over", **fields})
    stage.forge.comment(stage.repo, stage.sample.issue, BOT, marked("Done", written))


FREE = {REFUSED: {}, ANSWER: {}, ENDED: UNASKED, PROGRESS: UNASKED}


@pytest.mark.parametrize("kind", FREE)
def test_a_run_that_asked_no_model_is_none_of_the_days_runs(stage: Stage, kind: str):
    runs = [str(stage.add_run("success")) for _ in range(2)]
    for run in runs:
        remark(stage, kind, run, **FREE[kind])
    assert quota(stage) == ""
    remark(stage, PROGRESS, runs[0], **ASKED)
    assert quota(stage) == ""
    remark(stage, PROGRESS, runs[1])  # it may have asked one
    assert "has used today's 2 runs" in quota(stage)


def test_a_run_without_a_comment_is_one_of_the_days_runs(stage: Stage):
    for _ in range(2):
        stage.add_run("success")
    assert "has used today's 2 runs" in quota(stage)


def quota(stage: Stage, asker: Actor | None = None, event: str = "issue_comment") -> str:
    """The note on, or the refusal of, another run today, of which there may be two."""
    host, trigger = connect(stage.bot_token(), stage.forge.api_url, stage.repo), Trigger(event, 0, "", now())
    request = make_request(repository=stage.repo, actor=asker or actor(stage), trigger=trigger)
    try:
        return check_quota(host, request, 2, now(), run=99, workflow=WORKFLOW)
    except RefusedError as refusal:
        return str(refusal)


def test_what_is_none_of_the_days_runs(stage: Stage):
    """Skipped runs, other people's, other workflows' and yesterday's; of a schedule, those of other events."""
    for more in (
        {"conclusion": "skipped"},
        {"login": REPORTER},
        {"workflow": ".github/workflows/ci.yml"},
        {"at": now(days_ago=1)},
        {"event": "schedule", "login": REPORTER},
    ):
        for _ in range(2):
            stage.add_run(**{"conclusion": "success", **more})
    owner, schedule = actor(stage), Actor("schedule", 0, Tier.SCHEDULE)
    before = len(stage.forge.requests)
    assert quota(stage, owner) == ""
    assert len(stage.forge.requests) - before == 1
    assert quota(stage, schedule, "workflow_run") == ""
    assert "has used today's 2 runs" in quota(stage, schedule, "schedule")


@pytest.mark.parametrize(
    ("tier", "said"), [(Tier.MAINTAINER, "note: "), (Tier.CONTRIBUTOR, "Nothing was started")]
)
def test_where_runs_cannot_be_counted_the_permission_is_named(stage: Stage, tier: Tier, said: str):
    stage.forge.fail_next("GET", "/actions/", status=403, body={"message": "Resource not accessible"})
    answer = quota(stage, Actor("x", 1, tier))
    assert answer.startswith(said)
    assert "`actions: read`" in answer


def test_help_is_never_refused(stage: Stage):
    policy = "version: 1\ntiers:\n  maintainer: {runs_a_day: 1}\n"
    stage.forge.commit(stage.repo, {".github/agent.yml": policy})
    stage.add_run("success")
    assert act(stage, stage.ask("/agent help"))[0].code == 0
