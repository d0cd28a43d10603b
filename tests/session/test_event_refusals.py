"""Events that nothing comes of: who may not, what is no command, what cannot be read. Nothing is begun for them."""

from typing import Any

import pytest

from slash_forge.bundled import MAINTAINER, REPORTER
from tests.support.model_server import ModelServer
from tests.support.stage import CommandResult, Stage


def assert_nothing_began(stage: Stage) -> None:
    assert not [line for line in stage.bot_requests() if ".git/" in line], "something was fetched"
    assert list(stage.temp.iterdir()) == []
    assert not stage.bundle.exists()
    assert stage.remaining_processes() == []


def assert_one_sentence(ran: CommandResult) -> None:
    assert "Traceback" not in ran.output
    # What the runner is told to mask is for the runner.
    lines = [line for line in ran.output.splitlines() if line.strip() and not line.startswith("::add-mask::")]
    assert len(lines) == 1, ran.output


OPEN_DOOR = "version: 1\ntiers:\n  outsider: {verbs: [fix], usd: 5, turns: 9, minutes: 9}\n"
MODELS = "version: 1\noptions: {models: [anthropic/claude-haiku-4-5]}\n"
LISTED = (
    "`--model anthropic/claude-opus-4-5` is not an allowed model here: "
    "this repository's policy lists `anthropic/claude-haiku-4-5` under `options: models`."
)
SORRY = f"Thanks for your interest, {REPORTER}. Only people with write access"


@pytest.mark.parametrize(
    ("words", "login", "code", "answer"),
    [
        ("/agent fix this", REPORTER, 3, SORRY),
        ("/agent --base lax fix this", REPORTER, 3, SORRY),
        ("please /agent fix this", REPORTER, 3, ""),
        ("/agent --model anthropic/claude-opus-4-5 fix this", MAINTAINER, 2, LISTED),
        ("/agent --base lax --model anthropic/claude-opus-4-5 fix this", MAINTAINER, 2, LISTED),
        ("Thanks!", MAINTAINER, 0, ""),
    ],
)
def test_what_is_refused_is_answered_in_one_line_once_and_nothing_is_begun(
    stage: Stage, model: ModelServer, words: str, login: str, code: int, answer: str
):
    """By the default branch's policy: a branch that the commenter names lets nobody in and widens nothing."""
    stage.forge.commit(stage.repo, {".github/agent.yml": OPEN_DOOR}, branch="lax", author=REPORTER)
    stage.forge.commit(stage.repo, {".github/agent.yml": MODELS})
    event = stage.ask(words, login)
    ran = stage.run(model=model, event=event)
    stage.run(model=model, event=event)
    assert ran.code == code
    assert_one_sentence(ran)
    comments = stage.bot_comments()
    assert [one.startswith(answer) for one in comments] == ([True] if answer else [])
    assert answer or stage.writes() == []
    assert_nothing_began(stage)


@pytest.mark.parametrize("state", ["archived", "disabled"])
def test_a_repository_that_takes_nothing_is_named_before_the_model_is_asked(
    stage: Stage, model: ModelServer, state: str
):
    event = stage.ask("/agent fix this")
    event["repository"][state] = True
    ran = stage.run(model=model, event=event)
    assert (ran.code, f"is {state}" in ran.output) == (3, True)
    assert_nothing_began(stage)


@pytest.mark.parametrize(
    ("name", "event", "code", "said"),
    [
        ("push", {}, 0, "a push starts nothing"),
        ("made_up", {}, 0, "`made_up`"),
        ("issue_comment", "{", 2, "is not JSON"),
        ("issue_comment", {"action": "created"}, 2, "comment.id"),
    ],
)
def test_an_event_that_asks_for_nothing_or_is_broken_is_one_sentence_and_no_call(
    stage: Stage, model: ModelServer, name: str, event: Any, code: int, said: str
):
    ran = stage.run(model=model, event=event, name=name)
    assert (ran.code, said in ran.output) == (code, True), ran.output
    assert_one_sentence(ran)
    assert stage.bot_requests() == []
    assert_nothing_began(stage)


def test_a_slip_of_somebody_who_may_command_gets_a_reaction_and_the_right_form(
    stage: Stage, model: ModelServer
):
    event = stage.ask("Hello, /agent fix this")
    ran = stage.run(model=model, event=event)
    assert ran.code == 2
    [line] = stage.bot_comments()
    assert "`/agent fix this`" in line.partition("\n")[0]
    reactions = stage.get(f"issues/comments/{event['comment']['id']}/reactions")
    assert [one["content"] for one in reactions] == ["confused"]
    assert_nothing_began(stage)


def test_an_event_file_without_network_is_refused_since_it_gives_no_rights(stage: Stage, model: ModelServer):
    ran = stage.run("--dry-run", model=model, GITHUB_API_URL="http://127.0.0.1:9/api/v3")
    assert ran.code == 75
    assert_one_sentence(ran)
    assert "did not answer an attempt to read contents/.github/agent.yml" in ran.err
    assert "are always read from GitHub, in a dry run too, never from the event's file" in ran.err
    assert stage.bot_requests() == []
    assert_nothing_began(stage)


@pytest.mark.parametrize(
    ("options", "environment", "said"),
    [
        ([], {"GITHUB_TOKEN": ""}, "GITHUB_TOKEN"),
        ([], {"SLASH_AGENT_BUDGET_USD": "lots"}, "'lots'"),
        ([], {"SLASH_AGENT_BUDGET_USD": "nan"}, "'nan'"),
        ([], {"SLASH_AGENT_SANDBOX": "of"}, "'of'"),
        (["--sandbox", "off"], {"GITHUB_ACTIONS": "true"}, "--sandbox off is for a person at their own terminal"),
        (["--event-name", ""], {}, "--event-name and --event"),
    ],
)  # fmt: skip
def test_a_setting_of_the_workflow_that_makes_no_sense_is_refused(
    stage: Stage, model: ModelServer, options: list[str], environment: dict[str, str], said: str
):
    ran = stage.run(*options, model=model, **environment)
    assert (ran.code, said in ran.err) == (2, True), ran.output
    assert "Traceback" not in ran.err
    assert_nothing_began(stage)


def test_a_policy_that_is_not_yaml_is_told_to_whoever_may_command(stage: Stage, model: ModelServer):
    stage.forge.commit(stage.repo, {".github/agent.yml": "checks: [\n"})
    ran = stage.run(model=model)
    assert ran.code == 2
    assert ".github/agent.yml:" in ran.err
    [comment] = stage.bot_comments()
    assert "The run failed" in comment
    assert_nothing_began(stage)


def test_a_policy_that_is_not_yaml_is_nothing_to_tell_an_outsider(stage: Stage, model: ModelServer):
    stage.forge.commit(stage.repo, {".github/agent.yml": "checks: [\n"})
    ran = stage.run(model=model, event=stage.ask("/agent fix this", REPORTER))
    assert ran.code == 2
    assert stage.bot_comments() == []
