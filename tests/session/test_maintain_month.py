"""A month of a task by GitHub's clock: each day is planned, what is due is run and published, and people answer."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.github.client import connect
from bot.session.event.dashboard import put_dashboard
from bot.session.event.maintain import LastPlan, MaintenanceRun, plan_repositories, run_results
from slash_forge import Forge
from slash_forge.bundled import MAINTAINER
from slash_forge.forge import ACTIONS_BOT
from tests.support.fix_script import fix_steps, shell
from tests.support.model_script import Say, Status, Step
from tests.support.stage import open_stage

TASK = "---\nschedule: '0 3 * * *'\npaths: ['tidytime/**']\nlimits: {usd: 0.5}\n---\nMend what is rounded wrongly.\n"
UNDO, ADD = shell("git checkout -q -- ."), shell("echo '# one more' >> tidytime/format.py")
READING: Any = {"contents": "read", "pull_requests": "read", "issues": "write", "actions": "read"}
FIRST_DAY = datetime.now(UTC).replace(hour=3, minute=30, second=0, microsecond=0) - timedelta(days=31)


class Month:
    """`day` counts from 1; `ran` tells of each day that it ran, or why not."""

    def __init__(self, folder: Path):
        self.day, self.ran = 1, dict[int, str]()
        self.forge = Forge(clock=self.now)
        self.stage = open_stage(self.forge, folder, checks=False)
        self.forge.commit(self.stage.repo, {".github/agent/rounding.md": TASK})
        token = self.forge.token(ACTIONS_BOT, READING, repo=self.stage.repo)
        self.github = connect(token, self.forge.api_url, self.stage.repo)

    def now(self) -> datetime:
        return FIRST_DAY + timedelta(days=self.day)

    def live(self, day: int, *steps: Step):
        """Plan the day, run and publish what is due, and bring the dashboard up to date."""
        self.day = day
        planned = MaintenanceRun((self.stage.repo,), self.now(), LastPlan(self.now() - timedelta(days=1)))
        [plan] = plan_repositories(planned, lambda _: self.github, pytest.fail)
        [decision] = plan.decisions
        self.ran[day] = "ran" if decision.run else decision.why
        results: Mapping[tuple[str, str], Any] = {}
        if decision.run:
            nothing = Say("Nothing is wrong.")
            self.stage.run_task("rounding", [*steps, nothing, nothing, nothing])
            where = {
                "GITHUB_EVENT_NAME": "schedule",
                "GITHUB_EVENT_PATH": str(self.stage.folder / "event.json"),
            }
            self.stage.publish(SLASH_AGENT_TASK="rounding", **where)
            number = self.stage.add_task_run("rounding")
            results = run_results(self.github, number, self.now(), lambda _: self.github)
            [plan] = plan_repositories(planned, lambda _: self.github, pytest.fail)
        put_dashboard(plan, self.github, results, "..")

    @property
    def pulls(self) -> list[dict[str, Any]]:
        return list(self.stage.get("pulls?state=all&sort=created&direction=asc"))

    @property
    def row(self) -> str:
        """The task's row of the dashboard, and what stands below it."""
        found = self.stage.get("issues?labels=maintenance&state=all")
        [body] = [one["body"] for one in found if "pull_request" not in one]
        return str(body).partition("## Tasks\n\n")[2].partition("\n\n")[0]


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_a_month_with_merged_closed_obsolete_and_failing_results(tmp_path: Path):
    month = Month(tmp_path / "stage")
    with month.forge:
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
        month.stage.edit(f"pulls/{second['number']}", state="closed")
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
        for day in (20, 28):
            month.live(day)
        assert "  - last: nothing to do in " in month.row, "an obsolete pull request is nobody's no"
        assert {month.ran[day] for day in (1, 2, 3, 17, 18, 19, 20, 28)} == {"ran"}
        assert [one["number"] for one in month.pulls] == [first["number"], second["number"], third["number"]]
