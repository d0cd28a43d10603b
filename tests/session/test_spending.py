"""The limits of a day: its runs, and the money that the marks of our own comments count, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.contracts.request import Actor, Tier, Trigger
from bot.events.event_request import RefusedError
from bot.github.client import connect
from bot.publish.thread.history import ASKED, cost, cost_today, spending
from bot.publish.thread.markers import ANSWER, ENDED, PROGRESS, REFUSED, mark, marked, read_mark
from bot.session.event.quota import check_quota, usd_left
from slash_forge.bundled import MAINTAINER, REPORTER
from tests.support.fix_script import DONE
from tests.support.model_server import ModelServer
from tests.support.outcomes import make_request
from tests.support.stage import BOT, WORKFLOW, CommandResult, Stage

pytestmark = pytest.mark.usefixtures("one_day")


def now(days_ago: int = 0) -> str:
    return (datetime.now(UTC) - timedelta(days=days_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")


def act(stage: Stage, event: Any = None, run: int = 0) -> tuple[CommandResult, int]:
    """One run as Actions has it; what was said, and how often the model was asked."""
    with ModelServer([DONE]) as server:
        ran = stage.run(model=server, event=event, token=stage.bot_token(), **stage.job(run))
        asked = len(server.requests)
    assert "Traceback" not in ran.output
    return ran, asked


@pytest.fixture
def one_dollar(stage: Stage) -> Iterator[Stage]:
    stage.forge.commit(
        stage.repo, {".github/agent.yml": "version: 1\ntiers:\n  maintainer: {usd_a_day: 1}\n"}
    )
    yield stage


def actor(stage: Stage, login: str = MAINTAINER) -> Actor:
    permission = connect(stage.sample.publish_token, stage.forge.api_url).permission(stage.repo, login)
    return Actor(login, permission.user_id, Tier.MAINTAINER)


def ran(
    stage: Stage, usd: float, login: str = MAINTAINER, by: str = BOT, at: str = "", run: str = "1"
) -> None:
    """A progress comment as a run leaves it."""
    fields = {
        "request": "thread",
        "run": run,
        "state": "over",
        **spending(actor(stage, login), at or now(), usd),
    }
    stage.forge.comment(stage.repo, stage.sample.issue, by, marked("Done", mark(PROGRESS, **fields)))


def counted(stage: Stage, run: str = "") -> float | None:
    github = connect(stage.bot_token(), stage.forge.api_url)
    return cost_today(github, stage.repo, actor(stage), now(), run)


def test_what_counts_is_today_theirs_and_in_our_own_hand(stage: Stage) -> None:
    ran(stage, 0.5)
    ran(stage, 0.25, run="2")
    ran(stage, 5, login=REPORTER)
    ran(stage, 7, at=now(days_ago=1))
    ran(stage, -100, by=MAINTAINER)  # a copy of a mark, by somebody who would like to have spent less
    assert counted(stage) == 0.75
    assert counted(stage, run="2") == 0.5
    ran(stage, 1e15, run="3")
    assert counted(stage) == 1_000_000.75, "what nobody can have spent does not count as nothing"


def test_a74_a_forged_mark_counts_once_at_most_a_runs_cap_and_for_a_run_that_there_was(
    one_dollar: Stage,
) -> None:
    known = str(one_dollar.add_run("success"))
    others = str(one_dollar.add_run("success", REPORTER))
    ran(one_dollar, 1e6, run=known)
    ran(one_dollar, 1e6, run=known)
    for run in ("1", "2", others):
        ran(one_dollar, 1e6, run=run)
    assert left(one_dollar, 10) == 6


def test_a_day_that_is_spent_is_said_and_no_model_is_asked(one_dollar: Stage) -> None:
    for usd in (0.6, 0.4):
        ran(one_dollar, usd, run=str(one_dollar.add_run("success")))
    done, asked = act(one_dollar)
    assert (done.code, asked) == (3, 0)
    said = one_dollar.bot_comments()[-1]
    assert said.startswith(
        f"{MAINTAINER} has spent today's $1.00 of the tier maintainer. The count starts again at 00:00"
    )


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_what_is_left_is_the_runs_budget_and_what_it_cost_is_in_its_mark(one_dollar: Stage) -> None:
    earlier = str(one_dollar.add_run("success"))
    ran(one_dollar, 0.98, run=earlier)
    done, asked = act(one_dollar)
    assert asked == 1, done.output
    fields = [found for body in one_dollar.bot_comments() if (found := read_mark(body, PROGRESS))]
    mine = next(found for found in fields if found["run"] != earlier)
    assert (mine["by"], mine["on"]) == (str(actor(one_dollar).id), now()[:10])
    assert mine["state"] == "over"
    assert 0 < float(mine["usd"]) < 1


def test_a_workflow_without_progress_comments_cannot_count_and_says_so(one_dollar: Stage) -> None:
    done = one_dollar.run(
        token=one_dollar.bot_token(), SLASH_AGENT_PROGRESS="false", ANTHROPIC_API_KEY="unused"
    )
    assert done.code == 3
    assert "Turn on `progress`" in done.output


def remark(stage: Stage, kind: str, run: str, **fields: str) -> None:
    written = mark(kind, request="thread", run=run, **{"state": "over", **fields})
    stage.forge.comment(stage.repo, stage.sample.issue, BOT, marked("Done", written))


def left(stage: Stage, limit: float = 6) -> float:
    host = connect(stage.bot_token(), stage.forge.api_url)
    request = make_request(actor=actor(stage), repository=stage.repo)
    return usd_left(host, request, limit, now(), "99", has_progress=True, most=4)


@pytest.mark.parametrize(
    ("conclusion", "asked", "expected"),
    [("cancelled", False, 6), ("cancelled", True, 2), (None, False, 2), (None, True, 2)],
)
def test_a_killed_run_gives_its_money_back_if_it_asked_no_model(
    stage: Stage, conclusion: str | None, asked: bool, expected: float
) -> None:
    run = str(stage.add_run(conclusion))
    fields = {**spending(actor(stage), now(), 4), "state": "on", **(ASKED if asked else {})}
    remark(stage, PROGRESS, run, **fields)
    assert left(stage) == expected


UNASKED: dict[str, dict[str, str]] = {
    REFUSED: {},
    ANSWER: {},
    ENDED: cost(0),  # type: ignore[dict-item]  # a mapping
    PROGRESS: cost(0),  # type: ignore[dict-item]  # a mapping
}


@pytest.mark.parametrize("kind", UNASKED)
def test_a_run_that_asked_no_model_is_none_of_the_days_runs(stage: Stage, kind: str) -> None:
    runs = [str(stage.add_run("success")) for _ in range(2)]
    for run in runs:
        remark(stage, kind, run, **UNASKED[kind])
    assert quota(stage) == ""
    remark(stage, PROGRESS, runs[0], **{**cost(0), **ASKED})  # asked a model that costs nothing
    assert quota(stage) == ""
    remark(stage, PROGRESS, runs[1], **cost(0.5))
    assert "has used today's 2 runs" in quota(stage)


def test_a_run_without_a_comment_is_one_of_the_days_runs(stage: Stage) -> None:
    for _ in range(2):
        stage.add_run("success")
    assert "has used today's 2 runs" in quota(stage)


def quota(stage: Stage, asker: Actor | None = None, event: str = "issue_comment") -> str:
    """The note on, or the refusal of, another run today, of which there may be two."""
    host, trigger = connect(stage.bot_token(), stage.forge.api_url), Trigger(event, 0, "", now())
    request = make_request(repository=stage.repo, actor=asker or actor(stage), trigger=trigger)
    try:
        return check_quota(host, request, 2, now(), run=99, workflow=WORKFLOW)
    except RefusedError as refusal:
        return str(refusal)


def test_what_is_none_of_the_days_runs(stage: Stage) -> None:
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
def test_where_runs_cannot_be_counted_the_permission_is_named(stage: Stage, tier: Tier, said: str) -> None:
    stage.forge.fail_next("GET", "/actions/", status=403, body={"message": "Resource not accessible"})
    answer = quota(stage, Actor("x", 1, tier))
    assert answer.startswith(said)
    assert "`actions: read`" in answer


def test_help_is_never_refused(stage: Stage) -> None:
    policy = "version: 1\ntiers:\n  maintainer: {runs_a_day: 1}\n"
    stage.forge.commit(stage.repo, {".github/agent.yml": policy})
    stage.add_run("success")
    assert act(stage, stage.ask("/agent help"))[0].code == 0


@pytest.mark.slow
def test_what_fails_before_a_model_is_asked_costs_neither_money_nor_a_run(stage: Stage) -> None:
    """A branch that is not there, a recording that nobody may name, a refused command: then one that is carried out."""
    tier = "{usd: 5, usd_a_day: 6, runs_a_day: 2}"
    stage.forge.commit(stage.repo, {".github/agent.yml": f"version: 1\ntiers: {{maintainer: {tier}}}\n"})
    for words in ("fix --base nowhere it", "fix --model replay/x it", "fix --full it"):
        run = stage.add_run()
        done, asked = act(stage, stage.ask(f"/agent {words}"), run)
        assert (done.code, asked) == (2, 0), done.output
        stage.forge.set_run(stage.repo, run, conclusion="failure")
    done, asked = act(stage, stage.ask("/agent explain this"))
    assert asked > 0, done.output
