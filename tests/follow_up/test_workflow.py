"""The workflow that `init` writes, job by job with the tokens that its permissions give, and what people see of it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
import yaml

from bot.contracts.request import FOLLOW_UP_FILE
from bot.doctor.propose import propose
from bot.environment.detection import CIStep, Detection
from bot.policy.follow_up import FollowUpPolicy
from bot.policy.load import load_policy
from slash_forge.bundled import MAINTAINER
from tests.follow_up.conftest import BRANCH, Followed, mark_fields
from tests.follow_up.test_events import FIX
from tests.support.model_script import Script, Step
from tests.support.model_server import ModelServer
from tests.support.runner import ROOT, WORKFLOW, Job, Runner, holds
from tests.support.stage import BOT
from tests.support.warm import warm_venv

pytestmark = pytest.mark.bubblewrap

KEY = "sk-canary-7be2"
_FILES = propose(Detection(workflows=("CI",)), "anthropic", tasks=False, follow_up=True)
TEXT = next(file.text for file in _FILES if file.path == FOLLOW_UP_FILE)
JOBS: Mapping[str, Any] = yaml.safe_load(TEXT)["jobs"]
ALL = dict.fromkeys(("decide", "run", "publish"), "success")

Jobs = Callable[..., dict[str, Job]]


@pytest.fixture
def jobs(followed: Followed) -> Jobs:
    def run(
        event: Any,
        name: str = "workflow_run",
        model: Script | list[Step] = FIX,
        text: str = TEXT,
        only: str = "",
    ) -> dict[str, Job]:
        """The jobs for an event, in a run of their own, which is active until `only` is empty."""
        path = FOLLOW_UP_FILE if text == TEXT else ".github/workflows/agent.yml"
        number = followed.forge.add_run(followed.repo, workflow=path, conclusion=None)
        stage = replace(followed.stage, folder=followed.stage.folder / str(number))
        for folder in ("home", "temp"):
            (stage.folder / folder).mkdir(parents=True)
        with ModelServer(model) as server:
            variables = {
                "ANTHROPIC_BASE_URL": server.url, "SLASH_AGENT_TEST_LEAVE_OUT_CHECKS": "1",
                "GITHUB_RUN_ID": str(number), "GITHUB_WORKFLOW_REF": f"{followed.repo}/{path}@refs/heads/main",
            }  # fmt: skip
            runner = Runner(stage, warm_venv(), {"ANTHROPIC_API_KEY": KEY}, variables)
            part = yaml.safe_load(text)
            part["jobs"] = {id: job for id, job in part["jobs"].items() if not only or id == only}
            done = runner.workflow(event, yaml.safe_dump(part, sort_keys=False), name)
            assert [one.headers["x-api-key"] for one in server.requests] == [KEY] * len(server.requests)
        if not only:
            followed.forge.set_run(followed.repo, number, conclusion="success")
        logs = [job.log for job in done.values()]
        assert "failure" not in {job.result for job in done.values()}, logs
        assert KEY not in "".join(logs)
        return done

    return run


def results(done: Mapping[str, Job]) -> dict[str, str]:
    return {name: job.result for name, job in done.items()}


def red(followed: Followed, **more: str) -> Any:
    return followed.forge.workflow_run_event(followed.repo, followed.ci(**more))


def test_only_the_job_that_runs_the_agent_has_the_key_and_its_token_only_reads():
    assert set(JOBS["run"]["permissions"].values()) == {"read"}
    assert [id for id, job in JOBS.items() if "ANTHROPIC_API_KEY" in str(job)] == ["run"]
    queued = [job["concurrency"] for job in JOBS.values()]
    assert all(one["queue"] == "max" and one["cancel-in-progress"] is False for one in queued)
    assert "needs.decide.outputs.number" in queued[1]["group"] + queued[2]["group"]


def test_the_page_has_the_permissions_and_the_picture_has_the_states():
    page = (ROOT / "docs" / "follow-up.md").read_text()
    steps = (CIStep("install", "ci.yml", raw={"run": "make"}),)
    [text] = [one.text for one in propose(Detection(prepare=steps), "openai", tasks=False, follow_up=True)
              if one.path == FOLLOW_UP_FILE]  # fmt: skip
    for name, job in yaml.safe_load(text)["jobs"].items():
        given = ", ".join(f"`{what}: {how}`" for what, how in job["permissions"].items())
        assert f"| `{name}` | {'yes' if name == 'run' else 'no'} | {given} |" in page
    picture = (ROOT / "docs" / "images" / "follow-up.svg").read_text()
    states = re.findall(
        r"^\| ([a-z ]+) \| (?!entered|why)", page.partition("## What you see")[0], re.MULTILINE
    )
    assert len(states) == 9
    assert [
        state for state in states if f">{state}" not in picture and f">round: {state}<" not in picture
    ] == []
    shown, *_ = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert load_policy(shown).follow_up == FollowUpPolicy()


def test_three_jobs_run_a_round_and_the_comment_and_the_report_tell_all_of_them(
    followed: Followed, jobs: Jobs
):
    first = followed.head
    assert results(jobs(red(followed))) == ALL
    second = followed.head
    assert second != first
    again = [FIX[0], *FIX[1:]]
    assert results(jobs(red(followed, name="lint", log="error: other"), model=_write_once_more(again))) == ALL
    rows = [line.split(" | ") for line in followed.comment.splitlines() if line.startswith(f"| {first[:12]}")]
    assert rows[0][1:3] == ["fixing failed checks: test", f"pushed {second[:12]}: Fix the failing test"]
    assert re.fullmatch(r"\[under \$0\.01\]\(http\S+\) \|", rows[0][3])
    assert followed.comment.startswith("**Following this pull request.** Waiting for checks. Next: CI.\n")
    assert re.search(r"<sub>2 rounds of 6, \S.* of \$3\.00\. ", followed.comment)
    *_, page = sorted(followed.stage.folder.rglob("slash-agent-bundle/report.html"))
    story = page.read_text().partition("The rounds of this pull request</h2>")[2].partition("</table>")[0]
    assert f"pushed {second[:12]}: Fix the failing test" in story
    assert "fixing failed checks: lint" in story
    assert re.search(r'<a rel="[^"]*" href="http[^"]+">under \$0\.01</a>', story)
    assert "<td>this run</td>" in story


def _write_once_more(steps: list[Step]) -> list[Step]:
    from tests.support.model_script import Call

    return [Call("write", {"path": "again.txt", "content": "fixed\n"}), *steps[1:]]


@pytest.mark.parametrize("name", ["schedule", "workflow_dispatch"])
def test_a_sweep_and_a_start_by_hand_run_a_round(followed: Followed, jobs: Jobs, name: str):
    before = followed.head
    red(followed)
    event = followed.stage.schedule
    if name == "workflow_dispatch":
        event = {
            "inputs": {"number": str(followed.number)},
            "repository": event["repository"],
            "sender": event["repository"]["owner"],
        }
    assert results(jobs(event, name)) == ALL
    assert followed.head != before
    assert "by=" not in followed.comment  # nobody armed it but the policy


def test_what_needs_no_model_is_done_by_the_first_job(followed: Followed, jobs: Jobs):
    done = jobs(followed.forge.workflow_run_event(followed.repo, followed.ci("success")), model=[])
    assert results(done) == {"decide": "success", "run": "skipped", "publish": "skipped"}
    assert followed.pull["draft"] is False
    assert re.match(
        r"\*\*Ready for review\.\*\* All checks pass at [0-9a-f]{12}\. Next: a reviewer\.\n", followed.comment
    )


def test_follow_arms_and_starts_the_workflow_whose_next_step_counts_for_that_person(
    followed: Followed, jobs: Jobs
):
    forge = followed.forge
    forge.commit(followed.repo, {".github/agent.yml": "version: 1\nchecks: []\n", FOLLOW_UP_FILE: TEXT})
    followed.ci()
    event = followed.stage.ask("/agent follow", number=followed.number)
    done = jobs(event, "issue_comment", text=WORKFLOW.read_text())
    assert results(done) == {"instant": "success", "gate": "skipped", "run": "skipped", "publish": "skipped"}
    [started] = [one for one in forge.runs(followed.repo) if one["event"] == "workflow_dispatch"]
    assert started["inputs"] == {"number": str(followed.number)}
    assert "until it can be merged" in followed.stage.bot_comments(followed.number)[-1]
    dispatch = {
        "inputs": started["inputs"],
        "repository": event["repository"],
        "sender": event["repository"]["owner"],
    }
    before = followed.head
    assert results(jobs(dispatch, "workflow_dispatch")) == ALL
    assert followed.head != before
    assert mark_fields(followed.comment)["login"] == MAINTAINER


def test_follow_says_if_the_workflow_is_missing_and_refuses_pull_requests_of_others(
    followed: Followed, jobs: Jobs
):
    event = followed.stage.ask("/agent follow", number=followed.number)
    jobs(event, "issue_comment", text=WORKFLOW.read_text())
    assert "`slash-agent init --follow-up` writes" in followed.stage.bot_comments(followed.number)[-1]
    followed.forge.commit(followed.repo, {"a.txt": "a\n"}, branch="feature", author=MAINTAINER)
    number = followed.forge.open_pull(followed.repo, MAINTAINER, "feature")
    jobs(followed.stage.ask("/agent follow", number=number), "issue_comment", text=WORKFLOW.read_text())
    [answer] = followed.stage.bot_comments(number)
    assert answer.startswith("**Not followed:** I follow only pull requests that I opened")


def test_status_tells_round_money_and_who_is_next_and_stop_cancels_and_disarms(
    followed: Followed, jobs: Jobs
):
    event, before = red(followed), followed.head
    jobs(event, only="decide")
    run = int(mark_fields(followed.comment)["run"])
    jobs(
        followed.stage.ask("/agent status", number=followed.number),
        "issue_comment",
        text=WORKFLOW.read_text(),
    )
    status = followed.stage.bot_comments(followed.number)[-1]
    assert status.startswith(
        "**Round 1 of 6:** fixing failed checks: test. Next: this bot. 1 round of 6, $0.00 of $3.00."
    )
    assert "[What was done](http" in status
    jobs(
        followed.stage.ask("/agent stop", number=followed.number), "issue_comment", text=WORKFLOW.read_text()
    )
    answer = followed.stage.bot_comments(followed.number)[-1]
    assert re.match(
        r"\*\*Stopping\*\* \[the run\]\(\S+\), for \S+\. Nothing of it is published\. I do not follow", answer
    )
    assert followed.forge.run_state(followed.repo, run)[1] == "cancelled"
    assert followed.comment.startswith("**Stopped:** `/agent stop`. Next: a maintainer.\n")
    assert results(jobs(event))["run"] == "skipped"
    assert followed.head == before


def test_a_round_that_was_stopped_publishes_nothing(followed: Followed):
    event, job, before = red(followed), followed.stage.job(), followed.head
    name, token = "workflow_run", followed.token
    assert followed.stage.run(model=FIX, event=event, name=name, token=token, **job).code == 0
    followed.stage.run(
        event=followed.stage.ask("/agent stop", number=followed.number), token=token, **followed.stage.job()
    )
    where = {"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(followed.stage.event_file(event))}
    assert followed.stage.publish(token=token, **where, **job).code != 0
    assert followed.head == before


def test_a_red_dependency_update_goes_through_the_same_jobs(followed: Followed, jobs: Jobs):
    forge, repo, login = followed.forge, followed.repo, "dependabot[bot]"
    bot = forge.add_user(login, kind="Bot")
    forge.commit(repo, {"requirements.txt": "x==2\n"}, branch="dependabot/x", author=login)
    followed.number = forge.open_pull(
        repo, login, "dependabot/x", title="Bump x", body="Release notes: y is gone."
    )
    policy = f"version: 1\nchecks: []\ntriggers: {{failed_runs: {{authors: [{bot}]}}}}\n"
    forge.commit(repo, {".github/agent.yml": policy})
    run = forge.add_run(repo, event="pull_request", pull=followed.number, conclusion="failure", actor=login)
    forge.add_job(repo, run, "test", conclusion="failure")
    assert results(jobs(forge.workflow_run_event(repo, run))) == ALL
    [stacked] = [one for one in followed.stage.pulls() if one["base"]["ref"] == "dependabot/x"]
    assert (stacked["draft"], stacked["user"]["login"]) == (True, BOT)


@pytest.mark.parametrize(
    ("branch", "repository", "body", "starts"),
    [
        (BRANCH, "own", "Please rename it.", True),
        (BRANCH, "fork", "Please rename it.", False),
        (BRANCH, "own", "/agent fix this", False),
        ("feature", "own", "Please rename it.", False),
    ],
)
def test_only_a_review_on_a_branch_of_ours_that_is_no_command_starts_it(
    branch: str, repository: str, body: str, starts: bool
):
    head = {"ref": branch, "repo": {"full_name": repository}}
    event = {"review": {"body": body}, "pull_request": {"head": head}}
    context = {"github": {"event": event, "repository": "own"}}
    assert holds(JOBS["decide"]["if"], context, failed=False) is starts
    suite = {"check_suite": {"head_branch": branch}}
    assert holds(JOBS["decide"]["if"], {"github": {"event": suite}}, failed=False) is (branch == BRANCH)
