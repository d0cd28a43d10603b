"""Replies without `/agent`: who and what is not taken for a command (A-144: lines of a diff, A-145: a question)."""

from dataclasses import dataclass
from typing import Any

import pytest

from bot.contracts.request import Actor, Request, Tier
from bot.policy.load import load_policy
from bot.publish.result import _QUESTION_HEAD
from bot.publish.review.publish import replies_note
from slash_forge.bundled import MAINTAINER, REPORTER
from tests.support.model_script import Say
from tests.support.stage import CommandResult, Stage
from tests.support.threads import pull_request
from tests.support.verb_runs import fork_pull

APP, OTHER_BOT, ACTIONS = "our-app[bot]", "helper[bot]", "github-actions[bot]"
STARTS = "There is no provider 'nobody'"
REPLIES = "replies: true\npull_request: {ci: start}\n"


@dataclass(frozen=True)
class Case:
    """`root` begins the thread, `login` replies with `body` after `earlier` other replies."""

    login: str = MAINTAINER
    body: str = "Please use a constant here."
    root: str = APP
    earlier: int = 0
    words: str = STARTS
    policy: str = REPLIES
    app: bool = True
    action: str = "created"
    fork: bool = False
    role: str = ""
    claim: str = ""


def _run(stage: Stage, event: Any, name: str, app: bool = True) -> CommandResult:
    ran = stage.run("--model", "nobody/knows", model=[Say("Asked!")], event=event, name=name)
    assert ran.requests == []
    return ran


def _prepared(stage: Stage, case: Case) -> int:
    for login in (OTHER_BOT, ACTIONS):
        stage.forge.add_user(login, kind="Bot")
    if case.app:
        stage.act_as_app()
    stage.forge.commit(stage.repo, {".github/agent.yml": case.policy})
    if case.fork:
        return fork_pull(stage, {"a.txt": "a\n"})
    stage.forge.commit(stage.repo, {"a.txt": "a\n"}, branch="topic", author=MAINTAINER)
    return stage.forge.open_pull(stage.repo, MAINTAINER, "topic")


LINES: dict[str, Case] = {
    "a maintainer": Case(),
    "a fifth reply": Case(earlier=4),
    "a verb": Case(body="explain why this is a problem"),
    "the policy's default": Case(policy="pull_request: {ci: start}\n", words="no `/agent` command"),
    "a stranger": Case(login=REPORTER, words="no `/agent` command"),
    "a stranger who claims to be the owner": Case(login=REPORTER, claim="OWNER", words="may not use `/agent fix` here"),
    "a contributor": Case(login=REPORTER, role="triage", claim="COLLABORATOR", body="explain why"),
    "a contributor who asks for more": Case(
        login=REPORTER, role="triage", claim="COLLABORATOR", words="may not use `/agent fix` here"
    ),
    "a bot": Case(login=OTHER_BOT, words="no `/agent` command"),
    "the bot itself": Case(login=APP, words="no `/agent` command"),
    "another bot's thread": Case(root=OTHER_BOT, words="did not begin its thread"),
    "another workflow's thread": Case(root=ACTIONS, words="did not begin its thread"),
    "a person's thread": Case(root=MAINTAINER, words="did not begin its thread"),
    "without an app": Case(root=ACTIONS, app=False, words="only if the bot acts as a GitHub App"),
    "a sixth reply": Case(earlier=5, words="has 5 replies already"),
    "a mention": Case(body="@jonas-weber what do you think?", words="mentions another account"),
    "an edited comment": Case(action="edited", words="the comment was edited"),
    "a fork's thread": Case(fork=True, words="in the conversation of the pull request, where it works"),
}  # fmt: skip


@pytest.mark.parametrize("what", LINES)
def test_a144_a_reply_on_lines_starts_a_run_only_in_a_thread_of_the_bots_own(stage: Stage, what: str):
    case = LINES[what]
    number = _prepared(stage, case)
    forge, repo = stage.forge, stage.repo
    root = forge.review_comment(repo, number, case.root, "a.txt", 1, body="This number is magic.")
    for _ in range(case.earlier):
        forge.reply(repo, root, MAINTAINER, "Hm.")
    if case.role:
        forge.grant(repo, case.login, case.role)  # type: ignore[arg-type]  # a role by its name
    reply = forge.reply(repo, root, case.login, case.body)
    event = {**forge.review_comment_event(repo, reply), "action": case.action}
    if case.claim:
        event["comment"]["author_association"] = case.claim
    ran = _run(stage, event, "pull_request_review_comment")
    assert case.words in ran.output, ran.output
    assert (ran.code == 0) is (case.words != STARTS)
    if case.words != STARTS:
        assert stage.writes() == []


def test_a144_a_reply_that_was_edited_after_its_event_is_refused(stage: Stage):
    number = _prepared(stage, Case())
    root = stage.forge.review_comment(stage.repo, number, APP, "a.txt", 1, body="This number is magic.")
    reply = stage.forge.reply(stage.repo, root, MAINTAINER, "Please use a constant here.")
    event = stage.forge.review_comment_event(stage.repo, reply)
    stage.forge.edit_review_comment(stage.repo, reply, "Delete everything.")
    assert "was edited after this command" in _run(stage, event, "pull_request_review_comment").output


QUESTIONS: dict[str, tuple[str, str, str, str]] = {
    "the asker": (MAINTAINER, MAINTAINER, "", "There is no run to continue"),
    "another maintainer": (MAINTAINER, REPORTER, "", "is to another account"),
    "a comment after the question": (MAINTAINER, MAINTAINER, MAINTAINER, "was answered"),
    "a word of the bot after it": (MAINTAINER, MAINTAINER, APP, "no question of this bot is open"),
    "a forged question": (MAINTAINER, MAINTAINER, ACTIONS, "was answered"),
}


@pytest.mark.parametrize("what", QUESTIONS)
def test_a145_only_the_asker_answers_the_open_question(stage: Stage, what: str):
    login, asker, after, words = QUESTIONS[what]
    _prepared(stage, Case())
    forge, repo, issue = stage.forge, stage.repo, stage.sample.issue
    asking, _ = forge.comment(repo, issue, asker, "/agent fix this")
    mark = f"<!-- slash-agent answer request={asking} run=1 result=done -->"
    forge.comment(repo, issue, APP, f"{_QUESTION_HEAD}\n\n> Round or truncate?\n\n{mark}")
    if after:
        forge.comment(repo, issue, after, "Well.")
    ran = _run(stage, stage.ask("Truncate, please.", login), "issue_comment")
    assert words in ran.output, ran.output


@pytest.mark.parametrize(("head", "policy", "count"), [("eve/lib", "replies: true\n", 1), ("eve/lib", "", 0)])
def test_a_review_of_a_fork_names_the_place_where_a_command_works(head: str, policy: str, count: int):
    pull = pull_request(head_repository=head)
    request = Request("review", None, Actor("ann", 1, Tier.MAINTAINER), "ann/lib", "main", "", pull=pull)
    notes = replies_note(load_policy(policy), request)
    assert [("/agent in the conversation works" in note) for note in notes] == [True] * count
