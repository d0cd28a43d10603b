"""The client against the forge, over real HTTP: pull requests, reviews, checks, runs, issues."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from bot.contracts.pulls import Annotation, PullState, Side
from bot.github.client import GitHub, connect
from bot.github.errors import GitHubError
from bot.github.retry import Pace
from bot.github.tokens import TokenKind, token_facts
from bot.github.values import CheckRunDraft, ReviewDraft
from slash_forge import checks as forge_checks
from slash_forge.forge import Forge
from slash_forge.runs import Step

NAME = "octo/hello"
OLD = "".join(f"line {n}\n" for n in range(1, 21))
NEW = OLD.replace("line 3\n", "line three\n").replace("line 12\n", "line twelve\n")
ALL = {
    "actions": "write", "checks": "write", "contents": "read", "issues": "write", "metadata": "read",
    "pull_requests": "write",
}  # fmt: skip


@dataclass(frozen=True)
class World:
    """A pull request of ann's, and what the bot is to GitHub."""

    forge: Forge
    github: GitHub
    pull: int
    head: str
    token: str

    def as_other(self, permissions: Mapping[str, str]) -> GitHub:
        token = self.forge.token(permissions=permissions, repo=NAME)
        return connect(token, self.forge.api_url, pace=Pace(0))


@pytest.fixture
def world() -> Iterator[World]:
    with Forge() as forge:
        for login in ("octo", "ann", "bob"):
            forge.add_user(login)
        forge.create_repository("octo", "hello")
        forge.grant(NAME, "ann", "write")
        ci = "on: [push, workflow_dispatch]\njobs: {}\n"
        forge.commit(NAME, {"a.txt": OLD, ".github/workflows/ci.yml": ci})
        forge.commit(NAME, {"a.txt": NEW}, branch="change")
        number = forge.open_pull(NAME, "ann", "change", title="Words")
        token = forge.token(permissions=ALL, repo=NAME)
        github = connect(token, forge.api_url, pace=Pace(0, sleep=lambda _: None))
        head = forge.branch_sha(NAME, "change")
        assert head is not None
        yield World(forge, github, number, head, token)


def test_a_pull_request(world: World) -> None:
    found = world.github.pull(NAME, world.pull)
    assert (found.state, found.author, found.head_sha, found.head_ref) == (
        PullState.OPEN,
        "ann",
        world.head,
        "change",
    )
    assert (found.base_ref, found.from_fork(NAME)) == ("main", False)
    world.forge.merge(NAME, world.pull, "octo")
    assert world.github.pull(NAME, world.pull).state is PullState.MERGED


def test_a_pull_request_of_a_deleted_fork(world: World) -> None:
    fork = world.forge.fork(NAME, "bob")
    world.forge.commit(fork, {"b.txt": "b\n"}, branch="theirs")
    number = world.forge.open_pull(NAME, "bob", "bob:theirs")
    assert world.github.pull(NAME, number).head_repository == fork
    world.forge.delete_repository(fork)
    world.forge.delete_user("bob")
    gone = world.github.pull(NAME, number)
    assert (gone.head_repository, gone.from_fork(NAME), gone.author, gone.author_id) == ("", True, "ghost", 0)


def test_pull_requests_and_issues_are_listed(world: World) -> None:
    issue = world.forge.create_issue(NAME, "bob", "Broken", labels=["bug"])
    world.forge.set_thread(NAME, world.pull, state="closed")
    assert [one.number for one in world.github.pulls(NAME, state="closed")] == [world.pull]
    assert list(world.github.pulls(NAME)) == []
    assert [one.number for one in world.github.issues(NAME, labels=["bug"])] == [issue]
    assert [one.is_pull_request for one in world.github.issues(NAME, "all")] == [False, True]


def test_a_branch_with_an_odd_name_contains_its_commit(world: World) -> None:
    sha = world.forge.commit(NAME, {"b.txt": "b\n"}, branch="odd/#1%41")
    assert world.github.contains(NAME, "odd/#1%41", sha)
    assert not world.github.contains(NAME, "odd", sha)


def test_a_comment_that_was_deleted_is_none(world: World) -> None:
    number, _ = world.forge.comment(NAME, world.pull, "ann", "hello")
    found = world.github.comment(NAME, number)
    assert found is not None
    assert (found.body, found.author.login) == ("hello", "ann")
    world.forge.delete_comment(NAME, number)
    assert world.github.comment(NAME, number) is None


def test_threads_of_reviews_by_graphql_and_by_rest_are_the_same(world: World) -> None:
    one = world.forge.review_comment(NAME, world.pull, "ann", "a.txt", 3, body="why?", start_line=2)
    world.forge.reply(NAME, one, "bob", "because")
    world.forge.review_comment(NAME, world.pull, "bob", "a.txt", 12, body="old", side="LEFT")
    world.forge.review_comment(NAME, world.pull, "bob", "a.txt", None, body="the whole file")
    by_graphql = world.github.review_threads(NAME, world.pull)
    world.forge.fail_next("POST", "graphql", 403, body={"message": "Resource not accessible"})
    assert world.github.review_threads(NAME, world.pull) == by_graphql
    first, second, third = by_graphql
    assert (first.id, first.line, first.start_line, first.side) == (one, 3, 2, Side.RIGHT)
    assert [(c.author, c.body) for c in first.comments] == [("ann", "why?"), ("bob", "because")]
    assert (second.line, second.side, third.line, third.outdated) == (12, Side.LEFT, 0, False)


def test_many_threads_and_many_comments_are_all_read(world: World) -> None:
    ids = [world.forge.review_comment(NAME, world.pull, "ann", "a.txt", 3, body=f"{n}") for n in range(60)]
    for n in range(120):
        world.forge.reply(NAME, ids[0], "bob", f"reply {n}")
    threads = world.github.review_threads(NAME, world.pull)
    assert [thread.id for thread in threads] == ids
    assert len(threads[0].comments) == 121
    # Two pages of threads, and two of comments since one thread is longer than a page.
    assert len(world.forge.requests) == 4
    assert len(list(world.github.review_comments(NAME, world.pull))) == 180


def test_a_review_is_made_answered_and_edited(world: World) -> None:
    drafts = [ReviewDraft("a.txt", "better", 3), ReviewDraft("a.txt", "range", 13, start_line=11)]
    review = world.github.create_review(
        NAME, world.pull, commit_sha=world.head, body="Two", event="COMMENT", comments=drafts
    )
    assert [(one.id, one.body) for one in world.github.reviews(NAME, world.pull)] == [(review.id, "Two")]
    first, second = world.github.review_comments(NAME, world.pull)
    assert (second.line, second.start_line) == (13, 11)
    reply = world.github.reply_to_review_comment(NAME, world.pull, first.id, "done")
    assert reply.in_reply_to == first.id
    world.github.edit_review_comment(NAME, reply.id, "done now")
    found = world.github.review_comment(NAME, reply.id)
    assert found is not None
    assert found.body == "done now"
    world.forge.delete_review_comment(NAME, reply.id)
    assert world.github.review_comment(NAME, reply.id) is None


def test_reactions_on_both_kinds_of_comments(world: World) -> None:
    comment, _ = world.forge.comment(NAME, world.pull, "ann", "/agent fix")
    remark = world.forge.review_comment(NAME, world.pull, "ann", "a.txt", 3, body="/agent fix")
    for _ in range(2):
        world.github.add_reaction(NAME, comment, "eyes")
        world.github.add_reaction(NAME, remark, "eyes", review_comment=True)
    assert [exchange.status for exchange in world.forge.requests] == [201, 201, 200, 200]


def test_failed_checks_with_the_log_of_the_failed_step(world: World) -> None:
    run = world.forge.add_run(NAME, pull=world.pull, conclusion="failure")
    remarks = [forge_checks.Annotation("a.txt", 3, 3, "failure", "expected 3", "Test")]
    log = "".join(f"line {n}\n" for n in range(300))
    steps = [Step("Set up", log="ready\n"), Step("Test", "failure", log), Step("Clean up", log="clean\n")]
    world.forge.add_job(
        NAME, run, "unit", conclusion="failure", steps=steps, annotations=remarks, title="1 failed"
    )
    world.forge.add_job(NAME, run, "lint", conclusion="success")
    world.forge.add_check_run(NAME, world.head, "other", "timed_out", summary="too slow")
    found = {one.name: one for one in world.github.failed_checks(NAME, world.head)}
    assert set(found) == {"unit", "other"}
    assert found["unit"].annotations == (Annotation("a.txt", 3, "failure", "Test: expected 3"),)
    (step,) = found["unit"].steps
    shown = step.log.split("\n")
    assert step.name == "Test"
    assert shown[-2:] == ["line 299", "Error: Process completed with exit code 1."]
    assert len(shown) == 200
    assert (found["other"].conclusion, found["other"].summary, found["other"].steps) == (
        "timed_out",
        "too slow",
        (),
    )
    assert len(world.forge.requests) == 4  # the log lies in a storage, which the third leads to


def test_a_check_run_with_many_annotations(world: World) -> None:
    remarks = [Annotation("a.txt", n, "warning", f"remark {n}") for n in range(1, 121)]
    world.github.create_check_run(
        NAME,
        CheckRunDraft("review", world.head, "failure", "t", "s"),
        remarks,
    )
    assert len(world.forge.requests) == 3
    (found,) = world.github.failed_checks(NAME, world.head)
    assert [one.message for one in found.annotations] == [f"remark {n}" for n in range(1, 51)]


def test_runs_and_their_artifacts(world: World) -> None:
    old = world.forge.add_run(NAME, at="2026-01-02T03:04:05Z")
    run = world.forge.add_run(
        NAME, pull=world.pull, event="pull_request", actor="ann", conclusion=None, at="2026-01-03T03:04:05Z"
    )
    found = world.github.workflow_run(NAME, run)
    assert (found.event, found.status, found.conclusion) == ("pull_request", "in_progress", None)
    assert (found.path, found.head_repository.full_name) == (".github/workflows/ci.yml", NAME)
    assert [one.id for one in world.github.workflow_runs(NAME)] == [run, old]
    assert [one.id for one in world.github.workflow_runs(NAME, "ci.yml", event="push")] == [old]
    assert [one.id for one in world.github.workflow_runs(NAME, created=">=2026-01-03")] == [run]
    assert [one.id for one in world.github.workflow_runs(NAME, status="success")] == [old]
    world.forge.add_artifact(NAME, run, "bundle", {"outcome.json": b"{}"})
    gone = world.forge.add_artifact(NAME, run, "older", b"x", expired=True)
    by_name = {one.name: one for one in world.github.artifacts(NAME, run)}
    assert by_name["older"].expired
    content = world.github.download_artifact(NAME, by_name["bundle"].id, 10_000)
    assert zipfile.ZipFile(io.BytesIO(content)).namelist() == ["outcome.json"]
    with pytest.raises(GitHubError, match="bigger than the 10 bytes"):
        world.github.download_artifact(NAME, by_name["bundle"].id, 10)
    with pytest.raises(GitHubError, match="it no longer exists"):
        world.github.download_artifact(NAME, gone, 10_000)


@pytest.mark.parametrize("workflow", ["ci.yml", ".github/workflows/ci.yml"])
def test_a_workflow_is_started(world: World, workflow: str) -> None:
    world.github.dispatch_workflow(NAME, workflow, "main")
    started = world.forge.runs(NAME)[-1]
    assert (started["workflow"], started["branch"]) == (".github/workflows/ci.yml", "main")


def test_an_issue_is_opened_edited_labelled_and_closed(world: World) -> None:
    made = world.github.create_issue(NAME, title="Dashboard", body="one", labels=["agent"])
    world.github.edit_issue(NAME, made.number, body="two")
    world.github.add_labels(NAME, made.number, ["stale"])
    world.github.remove_label(NAME, made.number, "agent")
    world.github.remove_label(NAME, made.number, "agent")
    assert [one.body for one in world.github.issues(NAME, labels=["stale"])] == ["two"]
    world.github.close_issue(NAME, made.number, "not_planned")
    found = world.github.issue(NAME, made.number)
    assert (found.state, found.title, found.body) == ("closed", "Dashboard", "two")
    assert list(world.github.issues(NAME, labels=["stale"])) == []


def test_who_the_token_is_tells_whether_it_starts_workflows(world: World) -> None:
    me = world.github.me()
    assert me is not None
    assert token_facts(world.token, login=me.login).kind is TokenKind.ACTIONS
    world.forge.add_user("my-app[bot]", kind="Bot")
    token = world.forge.token("my-app[bot]", permissions=ALL, repo=NAME)
    app = connect(token, world.forge.api_url).me()
    assert app is not None
    assert token_facts(token, login=app.login).kind is TokenKind.APP


def test_failed_statuses_are_the_last_of_each_context(world: World) -> None:
    for context, state in (
        ("a", "failure"),
        ("a", "success"),
        ("b", "success"),
        ("b", "error"),
        ("c", "pending"),
    ):
        world.forge.add_status(
            NAME,
            world.head,
            context,
            state,
            description=f"{context} is {state}",
            target_url="https://ci.example/1",
        )
    (found,) = world.github.failed_statuses(NAME, world.head)
    assert (found.name, found.conclusion, found.summary, found.url) == (
        "b",
        "error",
        "b is error",
        "https://ci.example/1",
    )
    assert len(world.forge.requests) == 1


def test_reviews_come_newest_first_and_a_page_when_it_is_wanted(world: World) -> None:
    for number in range(130):
        world.forge.review(NAME, world.pull, "ann", f"review {number}")
    newest = world.github.newest_reviews(NAME, world.pull)
    assert [next(newest).body for _ in range(30)] == [f"review {number}" for number in range(129, 99, -1)]
    assert len(world.forge.requests) == 2
    assert next(newest).body == "review 99"
