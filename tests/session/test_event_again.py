"""`retry` and `continue`: what an earlier comment asked for, done again or gone on from, by the real program."""

import json
import shutil
from collections.abc import Callable

import pytest

from bot.contracts.writes import Write, Writes
from bot.publish.bundle import Bundle, read_bundle, write_bundle
from slash_forge.bundled import MAINTAINER, REPORTER
from tests.support.fix_script import DONE, EDITS, VIEW, fix_steps, shell
from tests.support.model_script import Call, Say, Step, Turn
from tests.support.stage import BOT, CommandResult, Stage

pytestmark = pytest.mark.bubblewrap

AGENT_JOB = "Run the agent"
RUNNER = {"RUNNER_NAME": "GitHub Actions 1"}
ASKS = Call("ask_user", {"question": "Which of the two roundings is meant?"})


def act(
    stage: Stage, steps: list[Step], event: object = None, run: int = 0, **more: str
) -> tuple[CommandResult, int, list[str]]:
    """One run as Actions has it, its bundle kept as an artifact. What was said, the run, the requests to the model."""
    if not run:
        run = stage.add_run()
        stage.forge.add_job(stage.repo, run, AGENT_JOB, conclusion=None)
    environment = {**stage.job(run), **RUNNER, **more}
    ran = stage.run(model=steps, event=event, token=stage.bot_token(), **environment)
    asked = [json.dumps(request.json) for request in ran.requests]
    assert "Traceback" not in ran.output
    stage.forge.set_run(stage.repo, run, conclusion="success")
    if (stage.bundle / "outcome.json").exists():
        stage.forge.add_artifact(stage.repo, run, "slash-agent-bundle-run-0-1-5fd0f6fb", bundle_files(stage))
        # Newer than the bundle, and none.
        stage.forge.add_artifact(stage.repo, run, "slash-agent-run-0-1-5fd0f6fb-report.html", b"<html>")
    return ran, run, asked


def bundle_files(stage: Stage) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in stage.bundle.iterdir() if file.is_file()}


def nothing_asked(stage: Stage, body: str, login: str = MAINTAINER) -> str:
    """Give a command that must not reach a model; what the thread is told."""
    before = stage.bot_comments()
    ran, _, asked = act(stage, [Say("Asked!")], stage.ask(body, login))
    assert asked == []
    assert ran.code in (2, 3)
    [told] = [comment for comment in stage.bot_comments() if comment not in before]
    return told


def progress(stage: Stage, comment: int, run: int = 77, login: str = BOT) -> int:
    mark = f"<!-- slash-agent progress request={comment} run={run} state=over -->"
    return stage.forge.comment(stage.repo, stage.sample.issue, login, f"**Done**\n\n{mark}\n")[0]


# -- retry


@pytest.mark.slow
def test_retry_does_the_last_request_again_and_is_published(stage: Stage):
    event = stage.ask("/agent fix the carry, and nothing else")
    act(stage, [Say("I will not.")], event)
    ran, _, asked = act(stage, fix_steps(), retry := stage.ask("/agent retry"))
    assert ran.code == 0, ran.output
    assert "fix the carry, and nothing else" in asked[0]
    stage.publish_event(retry)
    assert len(stage.pulls()) == 1


def command_of(
    login: str = MAINTAINER, mark_by: str = BOT, *, deleted: bool = False
) -> Callable[[Stage], None]:
    """An earlier command by `login`, and the mark of its run."""

    def write(stage: Stage) -> None:
        comment, _ = stage.forge.comment(stage.repo, stage.sample.issue, login, "/agent fix this")
        progress(stage, comment, login=mark_by)
        if deleted:
            stage.forge.delete_comment(stage.repo, comment)

    return write


LIMITED = "version: 1\ntiers:\n  contributor: {verbs: [retry, explain], usd: 1, turns: 5, minutes: 5}\n"


@pytest.mark.parametrize(
    ("earlier", "command", "login", "said"),
    [
        (str, "retry", MAINTAINER, "There is no earlier request in this thread"),
        (str, "continue yes", MAINTAINER, "There is no run to continue"),
        (command_of(deleted=True), "retry", MAINTAINER, "was deleted"),
        (command_of(REPORTER), "retry", MAINTAINER, f"{REPORTER}, who requested it, may not use"),
        (command_of(), "retry", REPORTER, f"{REPORTER} may not use `/agent fix`"),
        (command_of(mark_by=REPORTER), "retry", MAINTAINER, "There is no earlier request in this thread"),
    ],
    ids=["nothing", "no run", "deleted", "a stranger's", "by who may not", "a person's mark"],
)
def test_what_cannot_be_repeated_or_gone_on_from_is_said_in_a_sentence(
    stage: Stage, earlier: Callable[[Stage], object], command: str, login: str, said: str
):
    stage.forge.commit(stage.repo, {".github/agent.yml": LIMITED})
    if login == REPORTER:
        stage.forge.grant(stage.repo, REPORTER, "triage")
    earlier(stage)
    assert said in nothing_asked(stage, f"/agent {command}", login)


def test_a_request_edited_after_the_retry_is_not_done(stage: Stage):
    comment, _ = stage.forge.comment(stage.repo, stage.sample.issue, MAINTAINER, "/agent fix this")
    progress(stage, comment)
    event = stage.ask("/agent retry")
    stage.forge.edit_comment(stage.repo, comment, "/agent fix something else", at="2099-01-01T00:00:00Z")
    ran, _, asked = act(stage, [Say("Asked!")], event)
    assert (ran.code, asked) == (2, [])
    assert any("was edited after this" in body for body in stage.bot_comments())


@pytest.mark.slow
def test_after_a_refused_continue_retry_starts_nothing(stage: Stage):
    """The last request was the refused one; what came before it is not what was meant."""
    event = stage.ask("/agent fix the carry")
    act(stage, [Say("I will not.")], event)
    stage.forge.edit_comment(stage.repo, stage.sample.comment, "/agent fix this")
    policy = "version: 1\noptions: {models: []}\n"
    stage.forge.commit(stage.repo, {".github/agent.yml": policy})
    assert "`--model a/b`" in nothing_asked(stage, "/agent continue --model a/b")
    assert "was refused, so there is nothing to repeat" in nothing_asked(stage, "/agent retry")
    assert "was refused, so there is nothing to repeat" in nothing_asked(stage, "/agent retry")
    # A new request takes its place.
    act(stage, [Say("I will not.")], stage.ask("/agent fix it"))
    ran, _, asked = act(stage, [Say("No.")], stage.ask("/agent retry"))
    assert (ran.code, len(asked)) == (0, 1)


# -- the same event again


def test_a80_a_mark_that_a_person_wrote_makes_no_request_done(stage: Stage):
    event = stage.ask("/agent fix this")
    mark = f"<!-- slash-agent progress request={event['comment']['id']} state=over result=done -->"
    stage.forge.comment(stage.repo, stage.sample.issue, REPORTER, f"**Done**\n\n{mark}\n")
    _, _, asked = act(stage, [DONE], event)
    assert asked


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [("Prepare the environment", AGENT_JOB), ("Set up", AGENT_JOB), (AGENT_JOB, "Agent")]
)
def test_a123_a_bundle_that_code_of_the_repository_may_have_uploaded_is_not_gone_on_from(
    stage: Stage, names: tuple[str, str]
):
    """In a job before this one, whatever it is called, that code could upload any bundle."""
    event = stage.ask("/agent fix this")
    act(stage, fix_steps(), event)
    files = bundle_files(stage)
    shutil.rmtree(stage.bundle)
    run = stage.add_run()
    before, own = names
    stage.forge.add_job(stage.repo, run, before)
    stage.forge.add_artifact(stage.repo, run, "slash-agent-bundle", files, at="2020-01-01T00:00:00Z")
    stage.forge.add_job(stage.repo, run, own, conclusion=None)
    _, _, asked = act(stage, fix_steps(), event, run=run, GITHUB_RUN_ATTEMPT="2")
    assert asked


@pytest.mark.slow
def test_the_bundle_of_an_earlier_attempt_is_taken_with_its_proposed_writes(stage: Stage):
    """Publishing failed, and somebody chose "Re-run all jobs"."""
    event = stage.ask("/agent fix this")
    _, run, _ = act(stage, fix_steps(), event)
    bundle, patch = read_bundle(stage.bundle), (stage.bundle / "changes.patch").read_bytes()
    writes = Writes((Write("add_label", 1, label="bug"),))
    write_bundle(Bundle(stage.bundle, bundle.outcome, bundle.patch, writes=writes))
    stage.forge.add_artifact(stage.repo, run, "slash-agent-bundle-run-0-2-5fd0f6fb", bundle_files(stage))
    shutil.rmtree(stage.bundle)
    again = {"GITHUB_RUN_ID": str(run), "GITHUB_RUN_ATTEMPT": "2", **RUNNER}
    ran = stage.run(event=event, token=stage.bot_token(), **again)
    assert ran.code == 0, ran.output
    assert read_bundle(stage.bundle).writes == writes
    assert (stage.bundle / "changes.patch").read_bytes() == patch


# -- continue


@pytest.mark.slow
def test_a_question_stands_in_the_thread_and_its_answer_goes_on_from_the_bundle(stage: Stage):
    ran, _, _ = act(stage, [VIEW, Turn(EDITS), ASKS, Say("not reached")], stage.ask("/agent fix this"))
    assert stage.outcome()["status"] == "needs_input", ran.output
    assert stage.publish().code == 0
    [question] = [body for body in stage.bot_comments() if "Which of the two roundings is meant?" in body]
    assert "Answer with `/agent continue`" in question
    ran, _, asked = act(stage, [DONE], event := stage.ask("/agent continue the first one"))
    assert ran.code == 0, ran.output
    assert "the first one" in asked[0]
    assert "Which of the two roundings is meant?" in asked[0]
    assert b"round(abs(seconds))" in (stage.bundle / "changes.patch").read_bytes()
    stage.publish_event(event)
    assert len(stage.pulls()) == 1


@pytest.mark.slow
def test_only_who_asked_or_a_maintainer_goes_on(stage: Stage):
    policy = "version: 1\ntiers:\n  contributor: {verbs: [continue, fix], usd: 1, turns: 9, minutes: 9}\n"
    stage.forge.commit(stage.repo, {".github/agent.yml": policy})
    stage.forge.grant(stage.repo, REPORTER, "triage")
    act(stage, [ASKS], stage.ask("/agent fix this"))
    assert f"{REPORTER} did not start the last run" in nothing_asked(stage, "/agent continue yes", REPORTER)
    act(stage, [ASKS], stage.ask("/agent fix this", REPORTER))
    ran, _, asked = act(stage, [DONE], stage.ask("/agent continue yes", REPORTER))
    assert asked, ran.output


@pytest.mark.slow
def test_a_bundle_of_another_thread_is_refused(stage: Stage):
    other = stage.new_issue()
    _, run, _ = act(stage, fix_steps(), stage.ask("/agent fix this", number=other))
    progress(stage, stage.sample.comment, run=run)
    ran, _, asked = act(stage, [Say("Asked!")], stage.ask("/agent continue"))
    assert (ran.code, asked) == (2, [])
    assert "belongs to another thread" in ran.err


def test_paths_in_an_archive_are_not_followed(stage: Stage):
    run = stage.add_run()
    files = {"../../evil.txt": b"x", "/tmp/evil.txt": b"x", "sub/outcome.json": b"{}"}
    stage.forge.add_artifact(stage.repo, run, "slash-agent-bundle", files)
    progress(stage, stage.sample.comment, run=run)
    act(stage, [shell("true"), DONE], stage.ask("/agent continue"))
    assert not list(stage.folder.rglob("evil.txt"))


def test_a93_no_mark_makes_retry_repeat_a_command_of_another_thread(stage: Stage):
    elsewhere = stage.ask("/agent fix everything", number=stage.new_issue())["comment"]["id"]
    progress(stage, elsewhere)
    assert "was deleted. Write what to do" in nothing_asked(stage, "/agent retry")


@pytest.mark.slow
def test_a93_no_mark_makes_continue_take_the_bundle_of_another_workflow(stage: Stage):
    act(stage, [VIEW, Turn(EDITS)])
    other = stage.forge.add_run(stage.repo, workflow=".github/workflows/ci.yml", event="pull_request")
    stage.forge.add_artifact(stage.repo, other, "slash-agent-bundle-run-0-1-5fd0f6fb", bundle_files(stage))
    progress(stage, stage.ask("/agent fix that")["comment"]["id"], run=other)
    ran, _, asked = act(stage, [DONE], stage.ask("/agent continue with the rest"))
    assert (ran.code, asked) == (2, [])
    assert "The bundle of the last run is gone" in ran.err


def test_a_continue_without_the_last_runs_bundle_is_answered_in_one_comment(stage: Stage):
    progress(stage, stage.sample.comment, run=stage.add_run("success"))
    assert "The bundle of the last run is gone" in nothing_asked(stage, "/agent continue")


def test_a_comment_that_a_dead_run_left_open_is_closed(stage: Stage):
    dead = stage.add_run("cancelled")
    mark = f"<!-- slash-agent progress request={stage.sample.comment} run={dead} state=on -->"
    stage.forge.comment(stage.repo, stage.sample.issue, BOT, f"**Working on it**\n\n{mark}\n")
    act(stage, [DONE], stage.ask("/agent fix this"))
    [body] = [body for body in stage.bot_comments() if "This run ended without a result" in body]
    assert f"/actions/runs/{dead}), cancelled)" in body
    assert "state=over" in body
