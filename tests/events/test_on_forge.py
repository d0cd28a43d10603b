"""Threads read from a real API: a pull request's head at the trigger, what people see, and what reading costs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.contracts.request import Request, Tier
from bot.events.thread_text import COMMENTS_BUDGET
from bot.github.client import GitHub, connect
from bot.verbs.registry import NAMES
from slash_forge import Forge
from tests.events.requests import Event, NoRequest, Refusal, build_request, expect
from tests.support.policies import admitting

REPO = "acme/lib"
POLICY = admitting({Tier.MAINTAINER: frozenset(NAMES)}, {})
FEW_CALLS = 14
UNSEEN = "<!-- evil -->\n\n[//]: # (evil)"


@dataclass
class Clock:
    now: datetime = field(default=datetime(2026, 3, 1, 12, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now

    def pass_minutes(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def forge(clock: Clock) -> Iterator[Forge]:
    with Forge(clock=clock) as forge:
        forge.create_repository("acme", "lib")
        forge.commit(REPO, {"calc.py": "def add(a, b):\n    return a - b\n"})
        for login in ("ada", "eve"):
            forge.add_user(login)
        forge.grant(REPO, "ada", "write")
        yield forge


def _github(forge: Forge) -> GitHub:
    permissions = {"contents": "read", "issues": "write", "pull_requests": "read", "checks": "read"}
    return connect(forge.token(permissions=permissions, repo=REPO), forge.api_url, REPO)


def _decide(github: GitHub, event: dict[str, Any]) -> Request | Refusal | NoRequest:
    return build_request(Event("issue_comment", event), github, lambda: POLICY)


def _pull(forge: Forge, clock: Clock, *, fork: bool = False, branch: str = "fix") -> tuple[int, str]:
    repo = forge.fork(REPO, "eve") if fork else REPO
    sha = forge.commit(repo, {"calc.py": "def add(a, b):\n    return a + b\n"}, branch=branch)
    number = forge.open_pull(REPO, "eve" if fork else "ada", f"eve:{branch}" if fork else branch)
    clock.pass_minutes(10)
    return number, sha


@pytest.mark.parametrize("fork", [False, True])
def test_a_push_after_the_command_is_found_out(forge: Forge, clock: Clock, fork: bool):
    number, _ = _pull(forge, clock, fork=fork)
    _, event = forge.comment(REPO, number, "ada", "/agent fix this")
    clock.pass_minutes(1)
    evil = forge.commit("eve/lib" if fork else REPO, {"calc.py": "evil\n"}, branch="fix")
    refusal = expect(Refusal, _decide(_github(forge), event))
    assert refusal.in_thread
    assert evil[:12] in refusal.reason


NAMES = ["feature/#42", 'it\'s-"quoted"', "no\u00a0break", "дом/日本語", "a" * 200, "$(id)"]


@pytest.mark.parametrize("name", NAMES)
def test_a_branch_of_any_name_is_asked_about_by_it(forge: Forge, clock: Clock, name: str):
    number, sha = _pull(forge, clock, branch=name)
    _, event = forge.comment(REPO, number, "ada", "/agent fix this")
    clock.pass_minutes(1)
    forge.comment(REPO, number, "eve", "hello")
    request = expect(Request, _decide(_github(forge), event))
    assert request.pull is not None
    assert (request.pull.head_ref, request.pull.head_sha) == (name, sha)
    assert request.thread is not None
    assert request.thread.left_out == ("1 comment written after the command",)


def test_a_thread_of_two_thousand_comments_costs_few_calls(forge: Forge, clock: Clock):
    number, _ = _pull(forge, clock)
    for index in range(2000):
        at = f"2026-02-01T{index // 3600:02}:{index // 60 % 60:02}:{index % 60:02}Z"
        forge.comment(REPO, number, "eve", f"comment {index} " + "x" * 100, at=at)
    _, event = forge.comment(REPO, number, "ada", "/agent fix it")
    before = len(forge.requests)
    request = expect(Request, _decide(_github(forge), event))
    assert request.thread is not None
    shown = request.thread.comments
    assert shown[-1].body.startswith("comment 1999 ")
    size = sum(len(comment.body) for comment in shown)
    assert COMMENTS_BUDGET - 200 < size <= COMMENTS_BUDGET
    assert request.thread.left_out == (
        f"{2000 - len(shown):,} comments older than the newest 40000 characters of the thread",
    )
    # Not the 21 pages that the thread has.
    assert len(forge.requests) - before <= FEW_CALLS


def test_every_text_of_a_pull_request_is_what_github_shows_for_no_call_more(forge: Forge, clock: Clock):
    forge.commit(REPO, {"calc.py": "def add(a, b):\n    return a + b\n"}, branch="fix")
    number = forge.open_pull(REPO, "ada", "fix", body=f"body {UNSEEN}")
    forge.comment(REPO, number, "ada", f"comment {UNSEEN}")
    forge.review(REPO, number, "ada", f"review {UNSEEN}")
    forge.review_comment(REPO, number, "ada", "calc.py", 2, body=f"remark {UNSEEN}")
    clock.pass_minutes(10)
    _, event = forge.comment(REPO, number, "ada", f"/agent explain this {UNSEEN}")
    before = len(forge.requests)
    request = expect(Request, _decide(_github(forge), event))
    assert request.thread is not None
    texts = [
        request.thread.body,
        *(one.body for one in request.thread.comments),
        *(one.body for thread in request.unresolved for one in thread.comments),
    ]
    assert request.instruction is None  # it said `this`
    assert texts == ["body", "comment", "(A review: commented.) review", "remark"]
    assert [one.path.partition("?")[0].rpartition("/")[2] for one in forge.requests[before:]] == [
        "lib",
        "permission",
        str(number),
        "comments",
        "graphql",
        "reviews",
    ]


def test_the_texts_of_an_issue_are_what_github_shows_for_one_call_more(forge: Forge):
    """The list of comments holds that of the command, and no list holds the issue."""
    number = forge.create_issue(REPO, "eve", "It breaks", "Badly. <!-- evil -->\n\n[//]: # (evil)")
    forge.comment(REPO, number, "eve", "See ![evil](x.png)", at="2026-01-01T00:00:00Z")
    _, event = forge.comment(REPO, number, "ada", '/agent fix [it](x "evil")')
    before = len(forge.requests)
    request = expect(Request, _decide(_github(forge), event))
    assert request.thread is not None
    assert (request.thread.body, request.instruction) == ("Badly.", "[it](x)")
    assert [one.body for one in request.thread.comments] == ["See ![](x.png)"]
    assert [one.path.partition("?")[0].rpartition("acme/lib")[2] for one in forge.requests[before:]] == [
        "",
        "/collaborators/ada/permission",
        f"/issues/{number}/comments",
        f"/issues/{number}",
    ]
