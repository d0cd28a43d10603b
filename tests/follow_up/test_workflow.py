"""The workflow that `init` writes, job by job with the tokens that its permissions give, and what people see of it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
import yaml

from bot.contracts.request import FOLLOW_UP_FILE
from bot.doctor.init_files import propose
from bot.environment.detection_result import CIStep, Detection
from bot.policy.follow_up import FollowUpPolicy
from bot.policy.load import load_policy
from slash_forge.bundled import MAINTAINER
from tests.follow_up.conftest import BRANCH, FIX, UPDATE, UPDATER, Followed
from tests.support.act import Act
from tests.support.model_script import Call, Step
from tests.support.model_server import ModelServer
from tests.support.runner import ROOT, WORKFLOW, Job, Runner, holds
from tests.support.stage import BOT
from tests.support.warm import warm_venv

pytestmark = [pytest.mark.bubblewrap, pytest.mark.slow]

KEY = "sk-canary-7be2"


def written(**detected: Any) -> str:
    files = propose(Detection(**detected), "anthropic", tasks=False, follow_up=True)
    return next(file.text for file in files if file.path == FOLLOW_UP_FILE)


TEXT = written(workflows=("CI",))
JOBS: Mapping[str, Any] = yaml.safe_load(TEXT)["jobs"]
ALL = dict.fromkeys(("decide", "run", "publish"), "success")
DECIDED = {**ALL, "run": "skipped", "publish": "skipped"}

Jobs = Callable[..., dict[str, str]]


@pytest.fixture
def jobs(followed: Followed) -> Jobs:
    def run(
        event: Any, name: str = "workflow_run", model: list[Step] = FIX, only: str = ""
    ) -> dict[str, str]:
        """The results of the jobs for an event, in a run of their own; with `only` one job, in a run that goes on."""
        text = WORKFLOW.read_text() if name == "issue_comment" else TEXT
        path = ".github/workflows/agent.yml" if name == "issue_comment" else FOLLOW_UP_FILE
        number = followed.forge.add_run(followed.repo, workflow=path, conclusion=None)
        stage = replace(followed.stage, folder=followed.stage.folder / str(number))
        stage.folder.mkdir()
        with ModelServer(model) as server:
            variables = {
                "ANTHROPIC_BASE_URL": server.url, "SLASH_AGENT_TEST_LEAVE_OUT_CHECKS": "1",
                "GITHUB_RUN_ID": str(number), "GITHUB_WORKFLOW_REF": f"{followed.repo}/{path}@refs/heads/main",
            }  # fmt: skip
            runner = Runner(stage, warm_venv(), {"ANTHROPIC_API_KEY": KEY}, variables)
            part = yaml.safe_load(text)
            part["jobs"] = {id: job for id, job in part["jobs"].items() if only in ("", id)}
            done: dict[str, Job] = runner.workflow(event, yaml.safe_dump(part, sort_keys=False), name)
            for kept in filter(re.compile("slash-agent-bundle").match, runner.artifacts):
                followed.forge.add_artifact(followed.repo, number, kept, {})
            assert all(one.headers["x-api-key"] == KEY for one in server.requests)
        if not only:
            followed.forge.set_run(followed.repo, number, conclusion="success")
        logs = [job.log for job in done.values()]
        assert "failure" not in {job.result for job in done.values()} and KEY not in str(logs), logs
        return {id: job.result for id, job in done.items()}

    return run


def red(followed: Followed, **more: str) -> Any:
    return followed.forge.workflow_run_event(followed.repo, followed.ci(**more))


def command(followed: Followed, jobs: Jobs, words: str, number: int = 0) -> str:
    """The answer to a command, by the workflow `agent.yml`."""
    number = number or followed.number
    done = jobs(followed.stage.ask(words, number=number), "issue_comment")
    assert done["instant"] == "success" and set(done.values()) == {"success", "skipped"}
    return followed.stage.bot_comments(number)[-1]


def test_only_the_job_that_runs_the_agent_has_the_key_and_its_token_only_reads():
    assert set(JOBS["run"]["permissions"].values()) == {"read"}
    assert [id for id, job in JOBS.items() if "ANTHROPIC_API_KEY" in str(job)] == ["run"]
    assert all(job["concurrency"]["queue"] == "max" and job["timeout-minutes"] <= 45 for job in JOBS.values())
    assert not any(job["concurrency"]["cancel-in-progress"] for job in JOBS.values())
    assert all("needs.decide.outputs.number" in JOBS[id]["concurrency"]["group"] for id in ("run", "publish"))


def test_the_page_has_the_permissions_and_the_picture_has_the_states():
    page = (ROOT / "docs" / "follow-up.md").read_text()
    text = written(prepare=(CIStep("install", "ci.yml", raw={"run": "make"}),))
    for name, job in yaml.safe_load(text)["jobs"].items():
        given = ", ".join(f"`{what}: {how}`" for what, how in job["permissions"].items())
        assert f"| `{name}` | {'yes' if name == 'run' else 'no'} | {given} |" in page
    picture = (ROOT / "docs" / "images" / "follow-up.svg").read_text()
    states = re.findall(r"^\| ([a-z ]+) \| (?!entered)", page.partition("## What you see")[0], re.MULTILINE)
    assert len(states) == 9
    assert [state for state in states if not re.search(f">(round: )?{state}", picture)] == []
    shown, *_ = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert load_policy(shown).follow_up == FollowUpPolicy()


def test_three_jobs_run_a_round_and_the_comment_and_the_report_tell_all_of_them(
    followed: Followed, jobs: Jobs
):
    first = followed.head
    event, before = red(followed), len(followed.calls)
    assert jobs(event) == ALL
    assert len(followed.calls) - before <= 40, followed.calls[before:]  # the number in the docs
    second = followed.head
    again = [Call("write", {"path": "again.txt", "content": "fixed\n"}), *FIX[1:]]
    assert jobs(red(followed, name="lint", log="error: other"), model=again) == ALL
    assert len({first, second, followed.head}) == 3
    kept = followed.stage.get(f"actions/artifacts?name=slash-agent-bundle-round-{followed.number}")
    assert kept["total_count"] == 2
    [row, _] = [
        line.split(" | ") for line in followed.comment.splitlines() if "fixing failed checks: " in line
    ]
    pushed = f"pushed {second[:12]}: Fix the failing test"
    assert row[:3] == [f"| {first[:12]}", "fixing failed checks: test", pushed]
    assert re.fullmatch(r"\[under \$0\.01\]\(http\S+\) \|", row[3])
    assert followed.comment.startswith("**Following this pull request.** Waiting for checks. Next: CI.\n")
    assert re.search(r"<sub>2 rounds of 6, \S.* of \$3\.00\. ", followed.comment)
    *_, page = sorted(followed.stage.folder.rglob("slash-agent-bundle/report.html"))
    story = page.read_text().partition("The rounds of this pull request</h2>")[2].partition("</table>")[0]
    for part in (pushed, "fixing failed checks: lint", ">under $0.01</a>", "<td>this run</td>"):
        assert part in story


@pytest.mark.act
@pytest.mark.node
def test_a_runner_that_is_not_ours_reads_it_as_we_mean_it(followed: Followed):
    event, before, run = red(followed), followed.head, str(followed.stage.add_run())
    with ModelServer(FIX) as server:
        variables = {"ANTHROPIC_BASE_URL": server.url, "GITHUB_RUN_ID": run}
        act = Act(followed.stage, {"ANTHROPIC_API_KEY": KEY}, variables, warm_venv())
        ran = act.run(TEXT, event, "workflow_run")
    assert ran.jobs == ALL and KEY not in ran.log, ran.log
    assert followed.head != before


def test_a_sweep_runs_a_round_for_the_policy(followed: Followed, jobs: Jobs):
    before, _ = followed.head, red(followed)
    assert jobs(followed.stage.schedule, "schedule") == ALL
    assert followed.head != before and "by" not in followed.mark


def test_what_needs_no_model_is_done_by_the_first_job(followed: Followed, jobs: Jobs):
    assert jobs(followed.forge.workflow_run_event(followed.repo, followed.ci("success"))) == DECIDED
    assert followed.pull["draft"] is False
    assert (
        f"**Ready for review.** All checks pass at {followed.head[:12]}. Next: a reviewer.\n"
        in followed.comment
    )


def test_follow_arms_and_starts_the_workflow_whose_round_is_that_persons(followed: Followed, jobs: Jobs):
    forge, number, before = followed.forge, followed.number, followed.head
    forge.commit(followed.repo, {".github/agent.yml": "version: 1\nchecks: []\n"})
    assert "`slash-agent init --follow-up` writes" in command(followed, jobs, "/agent follow")
    forge.commit(followed.repo, {FOLLOW_UP_FILE: TEXT})
    followed.ci()
    assert "until it can be merged.\n" in command(followed, jobs, "/agent follow")
    [started] = [one for one in forge.runs(followed.repo) if one["event"] == "workflow_dispatch"]
    assert started["inputs"] == {"number": str(number)}
    repository = followed.stage.sample.event["repository"]
    event = {"inputs": started["inputs"], "repository": repository, "sender": repository["owner"]}
    assert jobs(event, "workflow_dispatch") == ALL
    assert followed.head != before and followed.mark["login"] == MAINTAINER
    forge.commit(followed.repo, {"a.txt": "a\n"}, branch="feature", author=MAINTAINER)
    of_others = forge.open_pull(followed.repo, MAINTAINER, "feature")
    assert command(followed, jobs, "/agent follow", of_others).startswith("**Not followed:** I follow only")


def test_status_tells_round_money_and_who_is_next_and_stop_cancels_and_disarms(
    followed: Followed, jobs: Jobs
):
    event, before = red(followed), followed.head
    jobs(event, only="decide")
    run = int(followed.mark["run"])
    state = (
        "**Round 1 of 6:** fixing failed checks: test. Next: this bot. 1 round of 6, $0.00 of $3.00. [What"
    )
    assert command(followed, jobs, "/agent status").startswith(state)
    stopping = command(followed, jobs, "/agent stop")
    assert re.match(
        r"\*\*Stopping\*\* \[the run\]\(\S+\), for \S+\. Nothing of it is published\. I do not", stopping
    )
    assert followed.forge.run_state(followed.repo, run)[1] == "cancelled"
    assert re.match(r"\*\*Stopped:\*\* .*/agent stop.* Next: a maintainer\.\n", followed.comment)
    assert jobs(event) == DECIDED and followed.head == before
    assert "I follow this pull request until" in command(followed, jobs, "/agent follow")


def test_a_round_that_was_stopped_publishes_nothing(followed: Followed, jobs: Jobs):
    before, round = followed.head, followed.begin(followed.ci())
    command(followed, jobs, "/agent stop")
    assert followed.publish(*round).code != 0
    assert followed.head == before


def test_a_red_dependency_update_goes_through_the_same_jobs(followed: Followed, jobs: Jobs):
    forge, repo, bot = followed.forge, followed.repo, followed.dependency_update()
    policy = f"version: 1\nchecks: []\ntriggers: {{failed_runs: {{authors: [{bot}]}}}}\n"
    forge.commit(repo, {".github/agent.yml": policy})
    run = followed.run_of_ci(actor=UPDATER)
    forge.add_job(repo, run, "test", conclusion="failure")
    assert jobs(forge.workflow_run_event(repo, run)) == ALL
    kept = followed.stage.get(f"actions/artifacts?name=slash-agent-bundle-round-{followed.number}")
    assert kept["total_count"] == 1  # it counts as a round
    [stacked] = [one for one in followed.stage.pulls() if one["base"]["ref"] == UPDATE]
    assert (stacked["draft"], stacked["user"]["login"]) == (True, BOT)


def test_only_a_review_on_a_branch_of_ours_that_is_no_command_starts_it():
    def starts(branch: str = BRANCH, repository: str = "own", body: str = "Rename it.") -> bool:
        pull = {"head": {"ref": branch, "repo": {"full_name": repository}}}
        context = {"github": {"event": {"review": {"body": body}, "pull_request": pull}, "repository": "own"}}
        suite = {"github": {"event": {"check_suite": {"head_branch": branch}}}}
        assert holds(JOBS["decide"]["if"], suite, failed=False) is (branch == BRANCH)
        return holds(JOBS["decide"]["if"], context, failed=False)

    assert starts()
    assert not any([starts("feature"), starts(repository="fork"), starts(body="/agent fix this")])
