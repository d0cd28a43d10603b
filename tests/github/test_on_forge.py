"""The client against the forge, over real HTTP: pull requests, reviews, checks, runs, issues."""

import io
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

from bot.github.client import GitHub, connect
from bot.github.errors import GitHubError
from bot.github.retry import Pace
from slash_forge.forge import Forge
from tests.support import openapi

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
        github = connect(token, forge.api_url, NAME, pace=Pace(0, sleep=lambda _: None))
        head = forge.branch_sha(NAME, "change")
        assert head is not None
        yield World(forge, github, number, head, token)


def test_a_pull_request_of_a_deleted_fork(world: World):
    fork = world.forge.fork(NAME, "bob")
    world.forge.commit(fork, {"b.txt": "b\n"}, branch="theirs")
    number = world.forge.open_pull(NAME, "bob", "bob:theirs")
    assert world.github.pull(number).head_repository == fork
    world.forge.delete_repository(fork)
    world.forge.delete_user("bob")
    gone = world.github.pull(number)
    assert (gone.head_repository, gone.from_fork(NAME), gone.author) == ("", True, "ghost")


def test_pull_requests_and_issues_are_listed(world: World):
    issue = world.forge.create_issue(NAME, "bob", "Broken", labels=["bug"])
    world.forge.set_thread(NAME, world.pull, state="closed")
    assert [one.number for one in world.github.pulls(state="closed")] == [world.pull]
    assert list(world.github.pulls()) == []
    assert [one.number for one in world.github.issues(labels=["bug"])] == [issue]
    assert [one.is_pull_request for one in world.github.issues("all")] == [False, True]


def test_a_branch_with_an_odd_name_contains_its_commit(world: World):
    sha = world.forge.commit(NAME, {"b.txt": "b\n"}, branch="odd/#1%41")
    assert world.github.contains("odd/#1%41", sha)
    assert world.github.merge_base("odd/#1%41", "main") == world.forge.branch_sha(NAME)
    assert not world.github.contains("odd", sha)


def test_runs_and_their_artifacts(world: World):
    old = world.forge.add_run(NAME, at="2026-01-02T03:04:05Z")
    run = world.forge.add_run(
        NAME, pull=world.pull, event="pull_request", actor="ann", conclusion=None, at="2026-01-03T03:04:05Z"
    )
    found = world.github.workflow_run(run)
    assert (found.event, found.status, found.conclusion) == ("pull_request", "in_progress", None)
    assert (found.path, found.head_repository.full_name) == (".github/workflows/ci.yml", NAME)
    assert [one.id for one in world.github.workflow_runs()] == [run, old]
    assert [one.id for one in world.github.workflow_runs("ci.yml", event="push")] == [old]
    assert [one.id for one in world.github.workflow_runs(created=">=2026-01-03")] == [run]
    assert [one.id for one in world.github.workflow_runs(status="success")] == [old]
    world.forge.add_artifact(NAME, run, "bundle", {"outcome.json": b"{}"})
    gone = world.forge.add_artifact(NAME, run, "older", b"x", expired=True)
    by_name = {one.name: one for one in world.github.artifacts(run)}
    assert by_name["older"].expired
    content = world.github.download_artifact(by_name["bundle"].id, 10_000)
    assert zipfile.ZipFile(io.BytesIO(content)).namelist() == ["outcome.json"]
    with pytest.raises(GitHubError, match="bigger than the 10 bytes"):
        world.github.download_artifact(by_name["bundle"].id, 10)
    with pytest.raises(GitHubError, match="it no longer exists"):
        world.github.download_artifact(gone, 10_000)


@pytest.mark.parametrize("workflow", ["ci.yml", ".github/workflows/ci.yml"])
def test_a_workflow_is_started(world: World, workflow: str):
    world.github.dispatch_workflow(workflow, "main")
    started = world.forge.runs(NAME)[-1]
    assert (started["workflow"], started["branch"]) == (".github/workflows/ci.yml", "main")


def test_failed_statuses_are_the_last_of_each_context(world: World):
    for status in ("a failure", "a success", "b success", "b error", "c pending"):
        said = {"description": status.replace(" ", " is "), "target_url": "https://ci.example/1"}
        world.forge.add_status(NAME, world.head, *status.split(), **said)
    (found,) = world.github.failed_statuses(world.head)
    assert (found.name, found.conclusion, found.summary) == ("b", "error", "b is error")
    assert found.url == "https://ci.example/1"
    assert len(world.forge.requests) == 1


def test_comments_since_a_time(world: World):
    number = world.forge.create_issue(NAME, "ann", "Title")
    for minute in range(5):
        world.forge.comment(NAME, number, "bob", str(minute), at=f"2026-01-02T03:0{minute}:00Z")
    found = world.github.comments(number, since="2026-01-02T03:03:00Z")
    assert [comment.body for comment in found] == ["3", "4"]


def test_who_we_are_is_known_for_a_person_and_for_an_app(world: World):
    person = connect(world.forge.token("ann"), world.forge.api_url, NAME).me
    assert person is not None
    assert (person.id, person.kind) == (world.forge.add_user("ann"), "User")
    app = world.github.me
    assert app is not None
    assert (app.login, app.kind) == ("github-actions[bot]", "Bot")


def test_a_dry_run_reads_and_does_not_write(world: World):
    number = world.forge.create_issue(NAME, "ann", "Title")
    world.forge.comment(NAME, number, "bob", "hello")
    said: list[str] = []
    dry = world.github.dry(said.append)
    made = dry.create_comment(number, "first\n\nsecond")
    dry.edit_comment(made.id, "third")
    assert [comment.body for comment in dry.comments(number)] == ["hello"]
    assert said[0] == f"would comment on {NAME}#{number}:\n    first\n\n    second"
    assert said[1] == f"would edit the new comment in {NAME}:\n    third"
    assert len(said) == 2


# The newest comments


REPO = "acme/lib"


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    with Forge() as forge:
        forge.create_repository("acme", "lib")
        forge.add_user("eve")
        yield forge
        if os.environ.get("SLASH_AGENT_TEST_EVERYTHING"):
            assert [str(finding) for finding in openapi.findings(forge.requests)] == []


def _thread(forge: Forge, comments: int) -> tuple[GitHub, int]:
    number = forge.create_issue(REPO, "eve", "It breaks")
    for index in range(comments):
        forge.comment(REPO, number, "eve", f"{index}")
    return connect(forge.token(permissions={"issues": "read"}, repo=REPO), forge.api_url, REPO), number


@pytest.mark.parametrize(("comments", "calls"), [(0, 1), (1, 1), (100, 1), (101, 2), (250, 3)])
def test_all_comments_come_newest_first(forge: Forge, comments: int, calls: int):
    github, number = _thread(forge, comments)
    read = [int(comment.body) for comment in github.newest_comments(number)]
    assert read == list(range(comments - 1, -1, -1))
    assert len(forge.requests) == calls


def test_a_page_that_nobody_wants_is_not_asked_for(forge: Forge):
    github, number = _thread(forge, 450)
    assert len(list(islice(github.newest_comments(number), 50))) == 50
    assert len(forge.requests) == 2
