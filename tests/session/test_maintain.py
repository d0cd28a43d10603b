"""Maintenance as people meet it: tasks in a repository, pull requests of theirs, and the plan for Actions."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.publish.thread.markers import PULL_REQUEST, mark, marked
from slash_forge.forge import ACTIONS_BOT
from tests.support.repositories import git
from tests.support.stage import Stage

TASK = "---\nschedule: '{schedule}'\n---\nDo it; if nothing is wrong, change nothing.\n"
EVERY_MINUTE = "* * * * *"
ONCE = "0 0 29 2 *"


@pytest.fixture(autouse=True)
def tasks(stage: Stage) -> None:
    files = {f".github/agent/{name}.md": TASK.format(schedule=EVERY_MINUTE) for name in ("links", "tidy")}
    files[".github/agent/rare.md"] = TASK.format(schedule=ONCE)
    files[".github/agent/README.md"] = "What these are."
    stage.forge.commit(stage.repo, files)


def plan(stage: Stage, *args: str, code: int = 0, **environment: str) -> Any:
    ran = stage.cli("maintain", "--plan", "--json", *args, GITHUB_TOKEN=stage.sample.run_token, **environment)
    assert ran.code == code, ran.output
    return ran.json


def due(planned: Any) -> list[str]:
    return [job["task"] for job in planned["matrix"]["include"]]


def why(planned: Any, task: str) -> str:
    return next(one["why"] for one in planned["decided"] if one["task"] == task)


def pull_of(stage: Stage, task: str, author: str = ACTIONS_BOT) -> int:
    """A pull request as the publisher opens one for a task, its one commit by the bot."""
    branch = f"agent/task-{task}"
    stage.forge.commit(stage.repo, {f"{task}.txt": "mended\n"}, branch=branch, author=author)
    email = git(stage.forge.git_folder(stage.repo), "log", "-1", "--format=%ae", branch)
    stage.forge.commit(stage.repo, {".github/agent.yml": f"identity: {{ email: '{email}' }}\n"})
    body = marked("Mended.", mark(PULL_REQUEST, issue="none", base="0", head="0", task=task))
    return stage.forge.open_pull(stage.repo, author, branch, title=task, body=body, draft=True)


def test_tasks_that_are_due_are_in_the_matrix_and_others_say_why_not(stage: Stage):
    planned = plan(stage)
    assert planned["count"] == 2
    assert planned["matrix"]["include"][0] == {
        "repository": stage.repo,
        "task": "links",
        "name": "riverbend.tidytime.links",
        "minutes": 60,
    }
    assert due(planned) == ["links", "tidy"]
    assert "before the last look at" in why(planned, "rare")


def test_an_open_pull_request_of_a_task_is_refreshed_until_people_commit_to_it(stage: Stage):
    number = pull_of(stage, "links")
    assert next(one for one in plan(stage)["decided"] if one["task"] == "links")["pull"] == number
    stage.forge.commit(stage.repo, {"links.txt": "better\n"}, branch="agent/task-links", author="mira-okafor")
    planned = plan(stage)
    assert due(planned) == ["tidy"]
    assert f"People have committed to #{number}" in why(planned, "links")


def test_a_commit_that_github_signed_for_us_is_no_persons(stage: Stage):
    """Its author is the app and its committer GitHub; the mark names it, and that costs no call."""
    branch = "agent/task-links"
    head = stage.forge.commit(stage.repo, {"a.txt": "b\n"}, branch=branch, author="mira-okafor")
    body = marked("Mended.", mark(PULL_REQUEST, issue="none", base="0", head=head, task="links"))
    number = stage.forge.open_pull(stage.repo, ACTIONS_BOT, branch, title="links", body=body, draft=True)
    planned = plan(stage)
    assert next(one for one in planned["decided"] if one["task"] == "links")["pull"] == number
    assert not [line for line in stage.bot_requests() if line.endswith("/commits")]
    stage.forge.commit(stage.repo, {"a.txt": "c\n"}, branch=branch, author="mira-okafor")
    assert "People have committed" in why(plan(stage), "links")


def test_tasks_named_by_hand_run_whatever_the_schedule_says(stage: Stage):
    assert due(plan(stage, "--task", "rare")) == ["rare"]
    assert due(plan(stage, SLASH_AGENT_TASK="rare, tidy")) == ["rare", "tidy"]


def test_a_task_that_is_not_there_names_the_nearest(stage: Stage):
    ran = stage.cli("maintain", "--plan", "--task", "lnks", GITHUB_TOKEN=stage.sample.run_token)
    assert ran.code == 2
    assert "There is no task `lnks` in .github/agent; the nearest is `links`." in ran.err


def test_one_repository_that_cannot_be_read_does_not_keep_others_from_their_tasks(stage: Stage):
    ran = stage.cli(
        "maintain", "--plan", "--repositories", f"riverbend/nothing,{stage.repo}",
        GITHUB_TOKEN=stage.sample.run_token,
    )  # fmt: skip
    assert ran.code == 0
    assert due(ran.json) == ["links", "tidy"]
    assert "riverbend/nothing:" in ran.err


@pytest.mark.parametrize("name", ["nothing", "a/b;c"])
def test_what_is_no_repository_is_named(stage: Stage, name: str):
    ran = stage.cli("maintain", "--plan", "--repositories", name, GITHUB_TOKEN=stage.sample.run_token)
    assert ran.code == 2
    assert "is not a repository as in owner/name" in ran.err


def test_the_jobs_summary_says_what_runs_what_waits_and_what_is_wrong(stage: Stage):
    stage.forge.commit(stage.repo, {".github/agent/odd.md": "---\nschedule: when it rains\n---\nDo it.\n"})
    summary = stage.folder / "summary"
    summary.touch()
    plan(stage, code=2, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
    said = summary.read_text()
    assert said.startswith("## Slash Agent: maintenance plan\n\n2 tasks to run now, 1 waiting.\n")
    assert "| riverbend/tidytime | links | **runs** | " in said
    assert re.search(r"\| riverbend/tidytime \| rare \| waits \| .*before the last look at", said)
    assert re.search(r"To look at:\n\n- riverbend/tidytime: .*odd\.md", said)


# -- since when


WORKFLOW = {"GITHUB_WORKFLOW_REF": "riverbend/tidytime/.github/workflows/maintenance.yml@refs/heads/main"}


def scheduled(stage: Stage, minutes_ago: int, conclusion: str = "success") -> int:
    at = (datetime.now(UTC) - timedelta(minutes=minutes_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return stage.forge.add_run(
        stage.repo, workflow=".github/workflows/maintenance.yml", name="maintenance", event="schedule",
        conclusion=conclusion, at=at,
    )  # fmt: skip


def due_ninety_minutes_ago(stage: Stage) -> None:
    hour = (datetime.now(UTC) - timedelta(minutes=90)).strftime("%M %H")
    stage.forge.commit(stage.repo, {".github/agent/links.md": TASK.format(schedule=f"{hour} * * *")})


def token(stage: Stage) -> str:
    permissions = {"contents": "read", "pull_requests": "read", "issues": "write", "actions": "read"}
    return stage.forge.token(ACTIONS_BOT, permissions, repo=stage.repo)


def planned_since(stage: Stage, this_run: int = 0) -> list[str]:
    ran = stage.cli("maintain", "--plan", GITHUB_TOKEN=token(stage), GITHUB_RUN_ID=str(this_run), **WORKFLOW)
    assert ran.code == 0, ran.output
    return due(ran.json)


def test_a_task_is_due_that_was_due_after_the_last_scheduled_run(stage: Stage):
    due_ninety_minutes_ago(stage)
    scheduled(stage, 120)
    assert planned_since(stage) == ["links", "tidy"]
    scheduled(stage, 60)
    assert planned_since(stage) == ["tidy"]


@pytest.mark.parametrize("conclusion", ["cancelled", "startup_failure"])
def test_a_run_that_was_cancelled_or_never_began_saw_to_nothing(stage: Stage, conclusion: str):
    due_ninety_minutes_ago(stage)
    scheduled(stage, 120)
    scheduled(stage, 60, conclusion)
    assert planned_since(stage) == ["links", "tidy"]


def test_what_did_not_fit_into_the_last_matrix_is_due_again_and_what_did_is_not(stage: Stage):
    due_ninety_minutes_ago(stage)
    hour = (datetime.now(UTC) - timedelta(minutes=90)).strftime("%M %H")
    stage.forge.commit(stage.repo, {".github/agent/tidy.md": TASK.format(schedule=f"{hour} * * *")})
    scheduled(stage, 120)
    full = scheduled(stage, 60)
    stage.forge.add_job(stage.repo, full, "maintain / See what is due")
    stage.forge.add_job(stage.repo, full, f"maintain / Run {stage.repo}: links", conclusion="failure")
    assert planned_since(stage) == []
    stage.forge.add_job(stage.repo, full, "maintain / More is due than a matrix holds")
    assert planned_since(stage) == ["tidy"]


def test_what_was_begun_today_counts_against_the_days_runs(stage: Stage, one_day: None):
    """By the bundles that the jobs of the plan left; one of another repository's, or of another day, is none."""
    stage.forge.commit(stage.repo, {".github/agent.yml": "tiers:\n  schedule: { runs_a_day: 3 }\n"})
    run = scheduled(stage, 60)
    yesterday = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    stage.forge.add_artifact(
        stage.repo, run, "slash-agent-bundle-riverbend.tidytime.links", b"", at=yesterday
    )
    for name in ("slash-agent-bundle-riverbend.other.links", "slash-agent-bundle", "coverage"):
        stage.forge.add_artifact(stage.repo, run, name, b"")
    for _ in range(2):
        stage.forge.add_artifact(stage.repo, run, "slash-agent-bundle-riverbend.tidytime.links", b"")
    assert planned_since(stage) == ["links"]


# -- the dashboard


def keep_dashboard(stage: Stage, **environment: str) -> str:
    ran = stage.cli("maintain", "--dashboard", GITHUB_TOKEN=token(stage), **environment)
    assert ran.code == 0, ran.output
    return ran.err


def dashboards(stage: Stage) -> list[Any]:
    return [
        issue for issue in stage.get("issues?state=all&labels=maintenance") if "pull_request" not in issue
    ]


def test_the_dashboard_is_opened_once_and_then_edited_only_when_something_happened(stage: Stage):
    assert "opened" in keep_dashboard(stage)
    [issue] = dashboards(stage)
    assert (issue["title"], issue["user"]["login"]) == ("Maintenance by Slash Agent", ACTIONS_BOT)
    number = pull_of(stage, "rare")
    assert "brought up to date" in keep_dashboard(stage)
    [issue] = dashboards(stage)
    assert f"  - open: #{number}\n" in issue["body"]


@pytest.mark.slow
def test_closing_the_dashboard_switches_it_off_and_reopening_on(stage: Stage):
    keep_dashboard(stage)
    [issue] = dashboards(stage)
    stage.edit(f"issues/{issue['number']}", state="closed")
    pull_of(stage, "rare")
    assert "is closed: reopen it to have it again" in keep_dashboard(stage)
    assert dashboards(stage)[0]["body"] == issue["body"]
    stage.edit(f"issues/{issue['number']}", state="open")
    assert "brought up to date" in keep_dashboard(stage)
    assert len(dashboards(stage)) == 1


def test_a_policy_that_wants_no_dashboard_has_none(stage: Stage):
    stage.forge.commit(stage.repo, {".github/agent.yml": "maintenance: { dashboard: false }\n"})
    assert "the policy wants no dashboard" in keep_dashboard(stage)
    assert dashboards(stage) == []


def test_a_ticked_task_runs_with_the_next_look_and_is_not_ticked_any_more_then(stage: Stage):
    keep_dashboard(stage)
    [issue] = dashboards(stage)
    stage.edit(f"issues/{issue['number']}", body=issue["body"].replace("- [ ] [`rare`]", "- [x] [`rare`]"))
    planned = plan(stage)
    assert sorted(due(planned)) == ["links", "rare", "tidy"]
    assert why(planned, "rare") == "Somebody ticked it on the dashboard."
    keep_dashboard(stage)
    assert "- [ ] [`rare`]" in dashboards(stage)[0]["body"]


def test_a131_a_strangers_issue_ticks_nothing(stage: Stage):
    keep_dashboard(stage)
    [issue] = dashboards(stage)
    body = issue["body"].replace("- [ ] [`rare`]", "- [x] [`rare`]")
    stage.forge.create_issue(
        stage.repo, "mira-okafor", "Maintenance by Slash Agent", body, labels=["maintenance"]
    )
    assert due(plan(stage)) == ["links", "tidy"]


def test_the_results_of_the_run_stay_on_the_dashboard_also_without_a_bundle(stage: Stage):
    run = scheduled(stage, 5)
    stage.forge.add_job(stage.repo, run, f"maintain / Run {stage.repo}: links", conclusion="failure")
    keep_dashboard(stage, GITHUB_RUN_ID=str(run))
    row = f"  - last: **failed** in [this run]({stage.forge.url}/{stage.repo}/actions/runs/{run}) on "
    assert row in dashboards(stage)[0]["body"]
    keep_dashboard(stage)
    assert row in dashboards(stage)[0]["body"]
