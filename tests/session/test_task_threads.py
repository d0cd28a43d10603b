"""What a task is shown of the tracker: which threads, in which order, how much of them, and what is left out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.agent.first_message import triage_text
from bot.contracts.request import Triage
from bot.github.client import GitHub, connect
from bot.github.retry import Pace
from bot.maintenance.task import read_task
from bot.session.event.task_threads import BUDGET, NEWEST, gather
from slash_forge import Forge
from tests.support.files import write_file

REPO = "octo/hello"
NOW = datetime(2026, 6, 30, 12, 0, tzinfo=UTC)
WRITES = "writes: { comment: 20, label: 20, close: 5, labels: [stale], close_after_days: 14 }"


@dataclass
class Tracker:
    forge: Forge
    github: GitHub

    def issue(self, title: str, days: float, body: str = "", labels: Sequence[str] = ()) -> int:
        number = self.forge.create_issue(REPO, "bob", title, body, at=ago(days))
        self.forge.label(REPO, number, *labels)
        return number

    def gather(self, threads: str = "{ idle_days: 60 }") -> Triage:
        task = read_task(f"---\nthreads: {threads}\n{WRITES}\n---\nLook.", "keeper.md")
        return gather(task, self.github, ago(0))

    def asked(self) -> int:
        return sum(1 for exchange in self.forge.requests if "/issues" in exchange.path)


def ago(days: float) -> str:
    return (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def titles(triage: Triage) -> list[str]:
    return [thread.title for thread in triage.threads]


@pytest.fixture
def tracker(tmp_path: Path) -> Iterator[Tracker]:
    with Forge(clock=lambda: NOW) as forge:
        for login in ("octo", "bob"):
            forge.add_user(login)
        source = tmp_path / "source"
        write_file(source / "README.md", "Hello\n")
        forge.create_repository("octo", "hello", source)
        token = forge.token(permissions={"contents": "read", "issues": "read"}, repo=REPO)
        yield Tracker(forge, connect(token, forge.api_url, REPO, pace=Pace(0, lambda seconds: None)))


def test_those_come_first_that_have_been_quiet_for_the_longest_time(tracker: Tracker):
    tracker.issue("90 days", 90)
    tracker.issue("59 days", 59)
    tracker.issue("200 days", 200)
    talked = tracker.issue("300 days, talked about", 300)
    tracker.forge.comment(REPO, talked, "bob", "Still so.", at=ago(70))
    triage = tracker.gather()
    assert titles(triage) == ["200 days", "90 days", "300 days, talked about"]
    assert triage.threads[2].state.quiet_since == ago(70)
    assert [comment.body for comment in triage.threads[2].comments] == ["Still so."]


def test_labels_let_in_and_keep_out_whatever_their_case(tracker: Tracker):
    tracker.issue("bug", 90, labels=["bug"])
    tracker.issue("pinned bug", 90, labels=["bug", "Pinned"])
    tracker.issue("none", 90)
    assert titles(tracker.gather("{ idle_days: 60, labels: [Bug], without: [pinned] }")) == ["bug"]


def test_what_carries_the_tasks_label_is_shown_again_when_something_has_happened(tracker: Tracker):
    tracker.issue("answered", 5, labels=["stale"])
    assert titles(tracker.gather()) == ["answered"]


def test_of_long_threads_a_part_is_shown_and_that_is_said(tracker: Tracker):
    number = tracker.issue("long\u202e", 90, body="x" * 20_000 + "<!-- hidden -->")
    for turn in range(10):
        tracker.forge.comment(REPO, number, "bob", f"turn {turn}", at=ago(80))
    triage = tracker.gather()
    [thread] = triage.threads
    assert thread.title == "long"
    assert "characters left out" in thread.body
    assert len(thread.body) < 3_000
    assert [comment.body for comment in thread.comments] == [f"turn {n}" for n in range(10 - NEWEST, 10)]
    assert "1 HTML comment taken out" in triage.left_out


def test_all_together_keep_to_a_budget(tracker: Tracker):
    for number in range(60):
        tracker.issue(f"issue {number}", 90 + number, body="word " * 1_000)
    triage = tracker.gather("{ idle_days: 60, limit: 60 }")
    assert len(triage_text(triage)) < BUDGET * 1.2
    assert 10 < len(triage.threads) < 60
    [said] = [words for words in triage.left_out if "characters that there is room for" in words]
    assert said.startswith(f"{60 - len(triage.threads)} threads")
