"""Events that nothing comes of: who may not, what is no command, what cannot be read. Nothing is begun for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from slash_forge.bundled import REPORTER
from tests.support.model_script import Say
from tests.support.model_server import ModelServer
from tests.support.stage import CommandResult, Stage


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model that would answer, and must not be asked."""
    with ModelServer([Say("Asked!")]) as server:
        yield server
        assert server.requests == []


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


def test_an_outsider_gets_one_line_and_nothing_is_begun(stage: Stage, model: ModelServer) -> None:
    ran = stage.run(model=model, event=stage.ask("/agent fix this", REPORTER))
    assert ran.code == 3
    [line] = stage.bot_comments()
    assert line.startswith(f"Thanks for your interest, {REPORTER}. Only people with write access")
    assert_one_sentence(ran)
    assert_nothing_began(stage)


@pytest.mark.parametrize("state", ["archived", "disabled"])
def test_a_repository_that_takes_nothing_is_named_before_the_model_is_asked(
    stage: Stage, model: ModelServer, state: str
) -> None:
    event = stage.ask("/agent fix this")
    event["repository"][state] = True
    ran = stage.run(model=model, event=event)
    assert (ran.code, f"is {state}" in ran.output) == (3, True)
    assert_nothing_began(stage)


def test_a_slip_of_somebody_who_may_command_gets_a_reaction_and_the_right_form(
    stage: Stage, model: ModelServer
) -> None:
    event = stage.ask("Hello, /agent fix this")
    ran = stage.run(model=model, event=event)
    assert ran.code == 2
    [line] = stage.bot_comments()
    assert "`/agent fix this`" in line.partition("\n")[0]
    reactions = stage.get(f"issues/comments/{event['comment']['id']}/reactions")
    assert [one["content"] for one in reactions] == ["confused"]
    assert_nothing_began(stage)


def test_a_strangers_slip_gets_nothing(stage: Stage, model: ModelServer) -> None:
    ran = stage.run(model=model, event=stage.ask("please /agent fix this", REPORTER))
    assert ran.code == 3
    assert stage.bot_comments() == []
    assert stage.writes() == []


def test_a_refusal_delivered_twice_is_one_comment(stage: Stage, model: ModelServer) -> None:
    event = stage.ask("/agent fix this", REPORTER)
    stage.run(model=model, event=event)
    stage.run(model=model, event=event)
    assert len(stage.bot_comments()) == 1


def test_a_dry_run_of_a_refusal_says_the_line_and_does_not_write_it(stage: Stage, model: ModelServer) -> None:
    ran = stage.run("--dry-run", model=model, event=stage.ask("/agent fix this", REPORTER))
    assert ran.code == 3
    assert "would comment on riverbend/tidytime#1" in ran.out
    assert stage.writes() == []


OPEN_DOOR = "version: 1\ntiers:\n  outsider: {verbs: [fix], usd: 5, turns: 9, minutes: 9}\n"


def test_a_branch_that_the_commenter_names_does_not_let_them_in(stage: Stage, model: ModelServer) -> None:
    stage.forge.commit(stage.repo, {".github/agent.yml": OPEN_DOOR}, branch="open-door", author=REPORTER)
    ran = stage.run(model=model, event=stage.ask("/agent --base open-door fix this", REPORTER))
    assert ran.code == 3
    assert_nothing_began(stage)


def test_a_policy_that_lets_outsiders_in_is_heeded_on_the_default_branch(
    stage: Stage, model: ModelServer
) -> None:
    stage.forge.commit(stage.repo, {".github/agent.yml": OPEN_DOOR})
    ran = stage.run("--model", "nobody/knows", model=model, event=stage.ask("/agent fix this", REPORTER))
    assert ran.code == 2
    assert "There is no provider 'nobody'" in ran.out


@pytest.mark.parametrize(
    ("name", "action", "said"),
    [
        ("issue_comment", "created", "no `/agent` command"),
        ("issue_comment", "edited", "the comment was edited"),
        ("push", "", "a push starts nothing"),
        ("made_up", "", "`made_up`"),
    ],
)
def test_what_is_no_command_is_ignored_with_a_word(
    stage: Stage, model: ModelServer, name: str, action: str, said: str
) -> None:
    ran = stage.run(model=model, event={**stage.ask("Thanks!"), "action": action}, name=name)
    assert ran.code == 0
    assert said in ran.out
    assert_one_sentence(ran)
    # Outside a workflow the policy is read: it may take replies as commands.
    assert len(stage.bot_requests()) == (action == "created")
    assert_nothing_began(stage)


def test_a_slip_in_a_command_is_answered_in_the_thread(stage: Stage, model: ModelServer) -> None:
    ran = stage.run(model=model, event=stage.ask("/agent revew this"))
    assert ran.code == 2
    assert "Did you mean `/agent review`?" in stage.bot_comments()[0]
    assert_one_sentence(ran)
    assert_nothing_began(stage)


MODELS = "version: 1\noptions: {models: [anthropic/claude-haiku-4-5]}\n"
LAX = "version: 1\npull_request: {draft: true}\n"


@pytest.mark.parametrize("base", ["", "--base lax "])
def test_a_model_that_the_policy_does_not_list_is_refused_in_one_comment(
    stage: Stage, model: ModelServer, base: str
) -> None:
    """By the default branch's policy: a branch that the commenter names does not widen it."""
    stage.forge.commit(stage.repo, {".github/agent.yml": LAX}, branch="lax", author=REPORTER)
    stage.forge.commit(stage.repo, {".github/agent.yml": MODELS})
    event = stage.ask(f"/agent {base}--model anthropic/claude-opus-4-5 fix this")
    ran = stage.run(model=model, event=event)
    stage.run(model=model, event=event)
    assert ran.code == 2
    [comment] = stage.bot_comments()
    assert comment.startswith(
        "`--model anthropic/claude-opus-4-5` is not an allowed model here: "
        "this repository's policy lists `anthropic/claude-haiku-4-5` under `options: models`."
    )
    assert_one_sentence(ran)
    assert_nothing_began(stage)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (None, "is not JSON"),
        ({"repository": None}, "repository.full_name"),
        ({"issue": "seven"}, "The event's field issue is not an object"),
    ],
)
def test_a_broken_payload_is_one_sentence(
    stage: Stage, model: ModelServer, changes: dict[str, Any] | None, said: str
) -> None:
    ran = stage.run(model=model, event={**stage.sample.event, **changes} if changes else "{")
    assert ran.code == 2
    assert said in ran.err
    assert_one_sentence(ran)
    assert stage.bot_requests() == []


def test_no_event_at_all_names_the_options(stage: Stage) -> None:
    ran = stage.cli("run")
    assert ran.code == 2
    assert "--event-name and --event" in ran.err
    assert_one_sentence(ran)


def test_without_a_token_the_variable_is_named(stage: Stage, model: ModelServer) -> None:
    ran = stage.run(model=model, token="")
    assert ran.code == 2
    assert "GITHUB_TOKEN" in ran.err
    assert_one_sentence(ran)


def test_an_event_file_without_network_is_refused_since_it_gives_no_rights(
    stage: Stage, model: ModelServer
) -> None:
    ran = stage.run("--dry-run", model=model, GITHUB_API_URL="http://127.0.0.1:9/api/v3")
    assert ran.code == 75
    assert_one_sentence(ran)
    assert "did not answer an attempt to read contents/.github/agent.yml" in ran.err
    assert "are always read from GitHub, in a dry run too, never from the event's file" in ran.err
    assert stage.bot_requests() == []
    assert_nothing_began(stage)


@pytest.mark.parametrize(
    "name", ["SLASH_AGENT_BUDGET_USD=lots", "SLASH_AGENT_BUDGET_USD=nan", "SLASH_AGENT_SANDBOX=of"]
)
def test_a_setting_of_the_workflow_that_makes_no_sense_is_refused(
    stage: Stage, model: ModelServer, name: str
) -> None:
    variable, _, value = name.partition("=")
    ran = stage.run(model=model, **{variable: value})
    assert ran.code == 2
    assert repr(value) in ran.err
    assert "Traceback" not in ran.err


def test_in_actions_the_sandbox_cannot_be_turned_off(stage: Stage, model: ModelServer) -> None:
    ran = stage.run("--sandbox", "off", model=model, GITHUB_ACTIONS="true")
    assert ran.code == 2
    assert "--sandbox off is for a person at their own terminal" in ran.err
    assert_one_sentence(ran)
    assert_nothing_began(stage)
