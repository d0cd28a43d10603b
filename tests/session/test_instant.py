"""`help`, `status` and `stop`: answered at once, in the thread, by the real program against the forge."""

import pytest

from slash_forge.bundled import MAINTAINER, REPORTER
from tests.support.model_server import ModelServer
from tests.support.stage import BOT, WORKFLOW, CommandResult, Stage


def ask(
    stage: Stage, model: ModelServer, body: str, login: str = MAINTAINER, *args: str, run: int = 900001
) -> CommandResult:
    stage.forge.grant(stage.repo, MAINTAINER, "maintain")
    token = stage.bot_token(actions="write")
    ran = stage.run(*args, model=model, event=stage.ask(body, login), token=token, **stage.job(run))
    assert "Traceback" not in ran.output
    return ran


def progress(
    stage: Stage,
    run: int,
    text: str = "**Working on it**\n\n- turn 3: edit",
    state: str = "on",
    login: str = BOT,
) -> int:
    mark = f"<!-- slash-agent progress request={stage.sample.comment} run={run} state={state} -->"
    return stage.forge.comment(stage.repo, stage.sample.issue, login, f"{text}\n\n{mark}\n")[0]


def answer(stage: Stage) -> str:
    """The newest answer."""
    [*_, body] = [body for body in stage.bot_comments() if "<!-- slash-agent answer " in body]
    return body


# -- help


def test_help_says_what_a_maintainer_may_with_an_example_each(stage: Stage, model: ModelServer):
    ran = ask(stage, model, "/agent help")
    assert ran.code == 0
    said = answer(stage)
    for example in ("`/agent fix this`", "`/agent plan`", "`/agent stop`", "`/agent continue "):
        assert example in said
    assert "/agent review" not in said, "there is nothing to review under an issue"
    assert "$5.00, 80 turns and 30 minutes a run; 50 runs a day" in said
    assert len(said.splitlines()) < 20
    # Nothing is checked out, and nothing is left.
    assert not [line for line in stage.bot_requests() if ".git/" in line]
    assert list(stage.temp.iterdir()) == []
    assert not stage.bundle.exists()


def test_help_leaves_out_options_that_the_policy_closes(stage: Stage, model: ModelServer):
    policy = "version: 1\npull_request: {draft: always}\noptions: {models: []}\n"
    stage.forge.commit(stage.repo, {".github/agent.yml": policy})
    ask(stage, model, "/agent help")
    assert "Options: `--budget USD`, `--base BRANCH`, `--skill NAME`, `--dry-run`." in answer(stage)


def test_an_outsider_gets_one_answer_of_each_kind_a_day(stage: Stage, model: ModelServer):
    for body in ("/agent help", "/agent help", "/agent fix this", "/agent help", "/agent fix this"):
        ask(stage, model, body, REPORTER)
    commands, refusal = stage.bot_comments()
    assert "`/agent status`" in commands
    assert "$" not in commands, "what they may ask for costs nothing"
    assert refusal.startswith("Thanks for your interest")


def test_help_tells_an_outsider_what_the_policy_gives_them_and_its_limits(stage: Stage, model: ModelServer):
    stage.forge.commit(stage.repo, {".github/agent.yml": "version: 1\nthread_author: [explain]\n"})
    assert ask(stage, model, "/agent help", REPORTER).code == 0
    assert "`/agent explain" in answer(stage)
    assert "$0.50, 20 turns and 10 minutes a run; 3 runs a day" in answer(stage)


# -- status


def test_status_tells_state_turn_and_since_when(stage: Stage, model: ModelServer):
    run = stage.add_run()
    progress(stage, run, "**Working on it**\n\n- turn 3: edit\n- 12034 tokens, $0.12 so far")
    assert ask(stage, model, "/agent status").code == 0
    said = answer(stage)
    assert said.startswith("**Running** since 20")
    assert f"/actions/runs/{run})" in said
    assert "- turn 3: edit\n- 12034 tokens, $0.12 so far" in said
    assert f"#issuecomment-{stage.sample.comment})" in said


def test_when_nothing_runs_status_has_the_last_word(stage: Stage, model: ModelServer):
    line = "**Done:** pull request [#2 Round \\[once\\]](https://x.test/2) · $0.04 · [run](https://x.test/r)"
    ended = progress(stage, stage.add_run("success"), line, state="over")
    ask(stage, model, "/agent status")
    said = answer(stage)
    assert said.startswith("**Nothing is running for this thread.**")
    url = f"{stage.forge.url}/{stage.repo}/issues/1#issuecomment-{ended}"
    assert f"[Done: pull request #2 Round \\[once\\]]({url})" in said


def test_a_comment_of_a_run_that_died_is_not_believed(stage: Stage, model: ModelServer):
    progress(stage, stage.add_run("failure"))
    ask(stage, model, "/agent status")
    assert answer(stage).startswith("**Nothing is running for this thread.**")


# -- stop


def test_stop_cancels_the_run_that_the_progress_comment_names(stage: Stage, model: ModelServer):
    run, other = stage.add_run(), stage.add_run()
    progress(stage, run)
    assert ask(stage, model, "/agent stop").code == 0
    assert stage.forge.run_state(stage.repo, run)[1] == "cancelled"
    assert stage.forge.run_state(stage.repo, other)[1] is None
    said = answer(stage)
    assert said.startswith("**Stopping** [the run](")
    assert "kept as an artifact" in said
    assert "/agent continue" in said


@pytest.mark.parametrize(
    ("login", "workflow", "run_in"),
    [
        (MAINTAINER, WORKFLOW, ""),
        (REPORTER, WORKFLOW, ""),
        (BOT, ".github/workflows/deploy.yml", ""),
        (BOT, WORKFLOW, "this job"),
        (BOT, WORKFLOW, "another repository"),
    ],
    ids=[
        "a mark by a maintainer",
        "by anybody",
        "another workflow",
        "the answering run",
        "another repository",
    ],
)
def test_a_run_that_is_not_ours_is_not_stopped(
    stage: Stage, model: ModelServer, login: str, workflow: str, run_in: str
):
    repo = stage.repo
    if run_in == "another repository":
        repo = stage.forge.create_repository("riverbend", "other", stage.forge.git_folder(stage.repo))
    run = stage.forge.add_run(repo, workflow=workflow, event="issue_comment", conclusion=None)
    progress(stage, run, login=login)
    ask(stage, model, "/agent stop", run=run if run_in == "this job" else 900001)
    assert stage.forge.run_state(repo, run)[1] is None


@pytest.mark.parametrize(("status", "said"), [(403, "`actions: write`"), (409, "had just ended")])
def test_a_run_that_cannot_be_cancelled_is_said_so(stage: Stage, model: ModelServer, status: int, said: str):
    progress(stage, stage.add_run())
    stage.forge.fail_next("POST", "/cancel", status=status, body={"message": "No."})
    ask(stage, model, "/agent stop")
    assert said in answer(stage)


@pytest.mark.parametrize("verb", ["help", "status", "stop"])
def test_an_instant_answer_costs_few_calls(stage: Stage, model: ModelServer, verb: str):
    progress(stage, stage.add_run())
    before = len(stage.bot_requests())
    ask(stage, model, f"/agent {verb}")
    assert len(stage.bot_requests()) - before <= 8
