"""A month of a task by GitHub's clock: each day is planned, what is due is run and published, and people answer."""

import urllib.request
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.github.client import GitHub, connect
from bot.session.event.maintain import (
    LastPlan,
    MaintenanceRun,
    plan_repositories,
    put_dashboards,
    run_results,
)
from slash_forge import Forge
from slash_forge.bundled import MAINTAINER
from slash_forge.forge import ACTIONS_BOT
from tests.support.fix_script import fix_steps
from tests.support.model_script import Call, Say, Status, Step
from tests.support.model_server import ModelServer
from tests.support.stage import Stage, open_stage
from tests.support.task_runs import add_task_run

pytestmark = [pytest.mark.bubblewrap, pytest.mark.slow]

TASK = "---\nschedule: '0 3 * * *'\npaths: ['tidytime/**']\nlimits: {usd: 0.5}\n---\nMend what is rounded wrongly.\n"
UNDO = Call("bash", {"command": "git checkout -q -- ."})
ADD = Call("bash", {"command": "echo '# one more' >> tidytime/format.py"})
FIRST_DAY = datetime.now(UTC).replace(hour=3, minute=30, second=0, microsecond=0) - timedelta(days=31)


class Month:
    """`day` counts from 1. The model's steps are those of `script` for a day, by default that nothing is to do."""

    def __init__(self, folder: Path) -> None:
        self.day = 1
        self.forge = Forge(clock=self.now)
        self.stage: Stage = open_stage(self.forge, folder, checks=False)
        self.forge.commit(self.stage.repo, {".github/agent/rounding.md": TASK})
        permissions = {"contents": "read", "pull_requests": "read", "issues": "write", "actions": "read"}
        token = self.forge.token(ACTIONS_BOT, permissions, repo=self.stage.repo)
        self.github: GitHub = connect(token, self.forge.api_url)
        self.ran: dict[int, str] = {}

    def now(self) -> datetime:
        return FIRST_DAY + timedelta(days=self.day)

    def live(self, day: int, *steps: Step) -> None:
        """Plan the day, run and publish what is due, and bring the dashboard up to date."""
        self.day = day
        repo = self.stage.repo
        planned = MaintenanceRun((repo,), self.now(), LastPlan(self.now() - timedelta(days=1)))
        [plan] = plan_repositories(planned, lambda _: self.github, self.warn)
        [decision] = plan.decisions
        results: Mapping[tuple[str, str], Any] = {}
        if decision.run:
            results = self.run(*steps)
            [plan] = plan_repositories(planned, lambda _: self.github, self.warn)
        self.ran[day] = "ran" if decision.run else decision.why
        put_dashboards([plan], lambda _: self.github, results, lambda _: None, self.warn)

    def warn(self, text: str) -> None:
        raise AssertionError(text)

    def run(self, *steps: Step) -> Mapping[tuple[str, str], Any]:
        stage, repo = self.stage, self.stage.repo
        repository = stage.sample.event["repository"]
        event = {
            "schedule": "0 3 * * *",
            "repository": repository,
            "workflow": ".github/workflows/maintenance.yml",
        }
        with ModelServer(
            [*steps, *[Say("Nothing is wrong.")] * 3] if steps else [Say("Nothing is wrong.")]
        ) as model:
            stage.run(model=model, event=event, name="schedule", SLASH_AGENT_TASK="rounding")
        stage.publish(
            GITHUB_EVENT_NAME="schedule",
            GITHUB_EVENT_PATH=str(stage.folder / "event.json"),
            SLASH_AGENT_TASK="rounding",
        )
        number = add_task_run(stage, "rounding")
        return run_results(self.github, repo, number, self.now(), lambda _: self.github)

    def close(self, number: int) -> None:
        """As a maintainer."""
        request = urllib.request.Request(
            f"{self.forge.api_url}/repos/{self.stage.repo}/pulls/{number}",
            data=b'{"state": "closed"}',
            method="PATCH",
            headers={"Authorization": f"Bearer {self.stage.sample.maintainer_token}"},
        )
        urllib.request.urlopen(request, timeout=120).close()

    @property
    def pulls(self) -> list[dict[str, Any]]:
        return list(self.stage.get("pulls?state=all&sort=created&direction=asc"))

    @property
    def row(self) -> str:
        """The task's row of the dashboard, and what stands below it."""
        [issue] = [
            one for one in self.stage.get("issues?labels=maintenance&state=all") if "pull_request" not in one
        ]
        return str(issue["body"]).partition("## Tasks\n\n")[2].partition("\n\n")[0]


@pytest.fixture
def month(tmp_path: Path) -> Iterator[Month]:
    one = Month(tmp_path / "stage")
    with one.forge:
        yield one


def test_a_month_with_merged_closed_obsolete_and_failing_results(month: Month) -> None:
    month.live(1, *fix_steps())
    [first] = month.pulls
    assert f"  - open: #{first['number']}" in month.row
    month.live(2)
    assert [one["head"]["sha"] for one in month.pulls] == [first["head"]["sha"]], (
        "an equal tree is not pushed"
    )
    month.forge.merge(month.stage.repo, first["number"], MAINTAINER)

    month.live(3, ADD)
    second = month.pulls[-1]
    assert f"  - merged: #{first['number']} on {FIRST_DAY + timedelta(days=2):%Y-%m-%d}" in month.row
    month.close(second["number"])
    for day in range(4, 17):
        month.live(day, ADD)
    until = FIRST_DAY + timedelta(days=3 + 14)
    rests = f"People closed #{second['number']}: it waits until {until:%Y-%m-%d}."
    assert {month.ran[day] for day in range(4, 17)} == {rests}
    assert f"but not before {until:%Y-%m-%d}, since people closed #{second['number']}" in month.row

    month.live(17, ADD)
    third = month.pulls[-1]
    assert third["state"] == "open"
    month.live(18, UNDO)
    assert (month.pulls[-1]["state"], month.pulls[-1]["merged_at"]) == ("closed", None)
    month.live(19, Status(401))
    assert "  - last: **failed** in " in month.row
    for day in range(20, 29):
        month.live(day)
    assert "  - last: nothing to do in " in month.row, "an obsolete pull request is nobody's no"
    assert {month.ran[day] for day in (*range(1, 4), *range(17, 29))} == {"ran"}
    assert [one["number"] for one in month.pulls] == [first["number"], second["number"], third["number"]]
