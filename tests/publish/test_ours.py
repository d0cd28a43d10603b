"""Whose words count as the bot's own: what makes a mark more than text that anybody can copy."""

import re
from types import SimpleNamespace
from typing import cast

import pytest
from github.WorkflowRun import WorkflowRun

from bot.checkout.branches import Signature
from bot.contracts.errors import PublishError
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.signatures import Signer
from bot.github.values import Account, CommentData
from bot.policy.publish_settings import Identity
from bot.publish.commit_author import UNKNOWN, author_of
from bot.publish.plan import PLAN
from bot.publish.review.posted_reviews import FINDING, REVIEW
from bot.publish.thread.comments import ThreadRef
from bot.publish.thread.history import is_own_run
from bot.publish.thread.markers import (
    ANSWER,
    ENDED,
    PROGRESS,
    PULL_REQUEST,
    REFUSED,
    SUGGESTED,
    WRITE,
    is_ours,
    may_be_ours,
)
from tests.publish.conftest import REPO, WRITES, World

ACTIONS = Account("github-actions[bot]", 41_898_282, "Bot")
APP = Account("my-app[bot]", 7, "Bot")
PERSON = Account("ann", 5, "User")
OURS = ".github/workflows/agent.yml"


@pytest.mark.parametrize(
    ("author", "me", "ours"),
    [
        (ACTIONS, ACTIONS, True),
        (APP, APP, True),
        (PERSON, PERSON, True),
        (ACTIONS, APP, False),
        (ACTIONS, PERSON, False),
        (APP, ACTIONS, False),
        (PERSON, APP, False),
        (APP, PERSON, False),
        (Account("github-actions[bot]", 9, "User"), APP, False),
        (Account("ghost", 0, "User"), APP, False),
        # A token that may not ask who it is: an app's.
        (APP, None, True),
        (PERSON, None, False),
    ],
)
def test_whose_words_are_ours(author: Account, me: Account | None, ours: bool):
    assert is_ours(author, me, PLAN) is ours


@pytest.mark.parametrize("kind", [REFUSED, PULL_REQUEST, SUGGESTED])
def test_what_the_workflows_own_token_writes_beside_an_apps_counts(kind: str):
    assert is_ours(ACTIONS, APP, kind)
    assert is_ours(ACTIONS, PERSON, kind)


@pytest.mark.parametrize("kind", [PLAN, FINDING, REVIEW, ANSWER, ENDED, WRITE, PROGRESS])
def test_a74_nothing_else_by_the_workflows_bot_does(kind: str):
    assert not is_ours(ACTIONS, APP, kind)


def test_the_first_answer_is_found_to_be_written_over_and_nothing_else_of_that_bots():
    assert may_be_ours(ACTIONS, APP, PROGRESS)
    assert not may_be_ours(ACTIONS, APP, PLAN)
    assert not may_be_ours(PERSON, APP, PROGRESS)


# What the workflow's own bot began and an app wrote over


def of_app(world: World, key: str = "the app's key") -> GitHub:
    client = world.github(world.app_token())
    client.signer = Signer(key)
    return client


def read(world: World, client: GitHub, comment: int) -> CommentData:
    return next(one for one in client.comments(world.issue) if one.id == comment)


def author(world: World, client: GitHub, comment: int) -> str:
    return read(world, client, comment).author.login


def written_over(world: World) -> tuple[int, str]:
    """The first answer, as an app left it: its id and text."""
    thread_ref = ThreadRef(of_app(world), world.issue, "11")
    begun = world.github().create_comment(world.issue, thread_ref.marked(PROGRESS, "**Working on it**"))
    app = of_app(world)
    assert author(world, app, begun.id) == ACTIONS.login
    done = thread_ref.marked(PROGRESS, "**Done**", {"result": "done"})
    for _ in range(2):
        app.edit_comment(begun.id, done)
    data = read(world, app, begun.id)
    assert data.body.count(" sig=") == 1
    return begun.id, data.body


def test_what_the_app_signed_is_the_apps(world: World):
    comment, body = written_over(world)
    app = of_app(world)
    assert author(world, app, comment) == "our-app[bot]"
    assert [one.author.login for one in app.comments(world.issue) if one.id == comment] == ["our-app[bot]"]
    again = body.replace("**Done**", "**Done again**")
    app.edit_comment(comment, again)
    assert author(world, app, comment) == "our-app[bot]"


def test_with_another_key_or_none_it_is_as_without_a_signature(world: World):
    comment, _ = written_over(world)
    assert author(world, of_app(world, "a new key"), comment) == ACTIONS.login
    assert author(world, world.github(), comment) == ACTIONS.login


def test_a64_a_signed_mark_that_was_copied_is_nobodys(world: World):
    _, body = written_over(world)
    copy = world.github().create_comment(world.issue, body)
    assert author(world, of_app(world), copy.id) == ACTIONS.login


def test_a64_nor_is_one_that_was_changed(world: World):
    comment, body = written_over(world)
    for change in (("result=done", "result=none"), (" progress ", " plan "), ("sig=", "sig=0 sig=")):
        world.github().edit_comment(comment, body.replace(*change))
        assert author(world, of_app(world), comment) == ACTIONS.login


@pytest.mark.parametrize(
    ("event", "head", "path", "own"),
    [
        ("issue_comment", REPO, f"{OURS}@refs/heads/main", True),
        ("pull_request", REPO, OURS, True),
        ("pull_request", "mallory/hello", OURS, False),
        ("pull_request_review", "mallory/hello", OURS, False),
        ("pull_request", "", OURS, False),
        ("pull_request_target", "mallory/hello", OURS, True),
        ("issue_comment", REPO, ".github/workflows/ci.yml", False),
    ],
)
def test_a93_which_runs_are_our_workflows(event: str, head: str, path: str, own: bool):
    repository = SimpleNamespace(full_name=head) if head else None
    run = cast(WorkflowRun, SimpleNamespace(path=path, event=event, head_repository=repository))
    assert is_own_run(run, REPO, OURS) is own
    assert is_own_run(run, REPO, "") is (own or path != OURS)


def test_a64_nor_one_of_another_repository():
    signer = Signer("key")
    body = signer.sign("octo/hello", 7, "Done\n\n<!-- slash-agent progress request=11 -->\n")
    assert signer.verifies("Octo/Hello", 7, body)
    assert not signer.verifies("octo/other", 7, body)


# The author of a commit


SIGNED_OFF = "pull_request: {sign_off: true, ci: start}\n"


@pytest.mark.parametrize(
    ("account", "url", "name", "email"),
    [
        (ACTIONS, "https://github.com/o/r.git", ACTIONS.login,
         "41898282+github-actions[bot]@users.noreply.github.com"),
        (Account("our-app[bot]", 7, "Bot"), "https://acme.ghe.com/o/r.git", "our-app[bot]",
         "7+our-app[bot]@users.noreply.acme.ghe.com"),
        (Account("ann", 12, "User"), "https://git.example.org:8443/o/r", "ann",
         "12+ann@users.noreply.git.example.org"),
        (None, "https://github.com/o/r.git", *UNKNOWN),
    ],
)  # fmt: skip
def test_the_author_is_the_account_by_its_address_on_the_server(
    account: Account | None, url: str, name: str, email: str
):
    assert author_of(account, Identity(), url) == Signature(name, email)


def test_the_policys_identity_replaces_the_accounts_one_by_one():
    url = "https://github.com/o/r.git"
    email = author_of(ACTIONS, Identity(), url).email
    assert author_of(ACTIONS, Identity("our-bot", ""), url) == ("our-bot", email)
    assert author_of(ACTIONS, Identity("our-bot", "b@our.example"), url) == ("our-bot", "b@our.example")


def _token(world: World, kind: str) -> tuple[str, str]:
    """The login and a token of this kind."""
    match kind:
        case "GITHUB_TOKEN":
            return "github-actions[bot]", world.token
        case "app":
            return "our-app[bot]", world.app_token()
        case _:
            return "ann", world.forge.token("ann", permissions=WRITES, repo=REPO)


@pytest.mark.parametrize("kind", ["GITHUB_TOKEN", "app", "fine-grained"])
def test_a_commit_passes_checks_of_sign_offs_and_licence_agreements(world: World, kind: str):
    world.base_sha = world.forge.commit(REPO, {".github/agent.yml": SIGNED_OFF})
    login, token = _token(world, kind)
    published = world.publish(world.bundle(), token=token)
    (commit,) = world.api(f"/pulls/{published.pr_number}/commits")
    # CLA bots look up the accounts of author and committer, and then who has signed.
    assert [commit[role]["login"] for role in ("author", "committer")] == [login, login]
    # Probot's DCO lets bots pass, and wants of others a sign-off by the author's or the committer's name and address.
    author = commit["commit"]["author"]
    # Whose token it is, is not named twice.
    assert ("Co-authored-by: ann" in commit["commit"]["message"]) == (login != "ann")
    signed = re.findall(r"^Signed-off-by: (.+) <(.+)>$", commit["commit"]["message"], re.MULTILINE)
    assert signed == [(author["name"], author["email"])]
    assert re.fullmatch(rf"\d+\+{re.escape(login)}@users\.noreply\.127\.0\.0\.1", author["email"])


def test_a_token_that_may_not_read_its_account_publishes_with_a_note(world: World):
    world.base_sha = world.forge.commit(REPO, {".github/agent.yml": "pull_request: {ci: start}\n"})
    world.forge.fail_next("GET", "/user$", 403, body={"message": "Resource not accessible"})
    published = world.publish(world.bundle(), token=world.forge.token("ann"))
    assert UNKNOWN.email in world.commit(published.commit)
    assert "in the policy to an account's name" in world.pulls()[0]["body"]


def test_a_suspended_account_is_named_as_the_reason(world: World):
    body = {"message": "Sorry. Your account was suspended."}
    world.forge.fail_next("*", "/user$|/graphql$", 403, body=body, times=9)
    with pytest.raises((PublishError, GitHubError), match="is suspended, which stopped"):
        world.publish(world.bundle(), token=world.forge.token("ann"))
    assert world.pulls() == []
