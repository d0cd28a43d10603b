"""Writes of a bundle that was tampered with, or is published twice or late: judged again, whatever was accepted."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.contracts.errors import GateError, PublishError, UsageError
from bot.contracts.outcome import Outcome, Status
from bot.contracts.pulls import ReviewThread, Side
from bot.contracts.records import as_data
from bot.contracts.request import Actor, ThreadState, Tier, Triage, TriageThread
from bot.contracts.writes import Write, Writes
from bot.publish.bundle import Bundle, parse, read_bundle, write_bundle
from bot.publish.result import PublishResult
from bot.publish.thread.markers import WRITE, marked, read_mark
from tests.publish.conftest import REPO, World

TASK = """---
threads: { kind: all, without: [pinned] }
writes: { comment: 2, label: 3, close: 1, edit: 1, labels: [Stale, triage], close_after_days: 0 }
---
Look after the issues.
"""
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture(autouse=True)
def task(world: World) -> None:
    world.base_sha = world.forge.commit(
        REPO,
        {
            ".github/agent/keeper.md": TASK,
            ".github/agent/silent.md": "Mend it.",
            ".github/agent.yml": "triggers: { labels: { please fix: fix } }",
        },
    )


@pytest.fixture
def other(world: World) -> int:
    """An issue that no run was shown."""
    return world.forge.create_issue(REPO, "bob", "Another")


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def triaged(world: World, *numbers: int, **fields: Any) -> Outcome:
    threads = tuple(
        TriageThread(ThreadState(number, False, "open", False, (), now()), "", "", "bob", now())
        for number in (world.issue, *numbers)
    )
    by, triage = Actor("schedule", 0, Tier.SCHEDULE), Triage(now(), threads)
    request = world.outcome().request._replace(
        actor=by, thread=None, trigger=None, task="keeper", triage=triage
    )
    request = request._replace(**fields)
    return world.outcome(request=request, status=Status.ANSWERED, answer="Looked at it.")


def bundled(world: World, outcome: Outcome, *writes: Write) -> Bundle:
    folder = world.room("bundle")
    write_bundle(Bundle(folder, outcome, writes=Writes(writes)))
    return read_bundle(folder)


def publish(world: World, *writes: Write, outcome: Outcome | None = None, **options: Any) -> PublishResult:
    return world.publish(bundled(world, outcome or triaged(world), *writes), **options)


def words(world: World, number: int = 0) -> list[str]:
    """What was written in the thread by us."""
    return [body for body in world.comments(number) if read_mark(body, WRITE) is not None]


def test_what_happened_in_the_second_of_the_look_itself_was_not_seen(world: World):
    seen = ThreadState(world.issue, False, "open", False, (), "2026-01-01T00:00:00Z")
    moment = world.api(f"/issues/{world.issue}")["updated_at"]
    triage = Triage(moment, (TriageThread(seen, "", "", "bob", "2026-01-01T00:00:00Z"),))
    published = publish(
        world, Write("comment", world.issue, "Still so?"), outcome=triaged(world, triage=triage)
    )
    assert "something has happened on it since the run looked" in str(published.withheld)
    assert words(world) == []


def test_each_kind_is_made_once_however_often_it_is_published(world: World):
    bundle = bundled(
        world,
        triaged(world),
        Write("close", world.issue, reason="completed"),
        Write("add_label", world.issue, label="stale"),
        Write("comment", world.issue, "Is this *still* so, @bob? See #1."),
        Write("edit", world.issue, title="Totals: off by a cent"),
    )
    published = world.publish(bundle)
    number = f"#{world.issue}"
    # The comment first, since by it the rest is known to be ours.
    assert published.written == (
        f"comment on {number}", f"edit the title of {number}", f"label {number} with `stale`",
        f"close {number} as completed",
    )  # fmt: skip
    [said] = words(world)
    assert said.startswith("Is this *still* so, @\u200bbob?")
    assert "Written by the maintenance task `keeper`" in said
    issue = world.api(f"/issues/{world.issue}")
    assert (issue["title"], issue["state"], issue["state_reason"]) == (
        "Totals: off by a cent", "closed", "completed",
    )  # fmt: skip
    again = world.publish(bundle)
    assert (again.written, again.withheld) == ((), ())
    assert words(world) == [said]


BAD: dict[str, Callable[[int, int], Write]] = {
    "a thread that was not shown": lambda issue, other: Write("comment", other, "Hello"),
    "a mark": lambda issue, other: Write(
        "comment", issue, "Hello <!-- slash-agent pull-request task=keeper -->"
    ),
    "mentions": lambda issue, other: Write(
        "comment", issue, " ".join(f"@user{number}" for number in range(50))
    ),
    "a long text": lambda issue, other: Write("comment", issue, "x" * 65_537),
}
FORGED: list[dict[str, Any]] = [
    {"task": "silent"},
    {"task": "gone"},
    {"task": "../agent"},
    {"task": ""},
    {"triage": None},
    {"actor": Actor("ann", 5, Tier.CONTRIBUTOR)},
    {"actor": Actor("ann", 5, Tier.LOCAL)},
    {"repository": "octo/other"},
]


def test_a_write_that_the_run_may_not_make_keeps_all_from_being_made(world: World, other: int):
    before = world.writes()
    for write in BAD.values():
        with pytest.raises((PublishError, UsageError)):
            publish(world, Write("comment", world.issue, "Harmless"), write(world.issue, other))
    for fields in FORGED:
        with pytest.raises((PublishError, UsageError)):
            outcome = triaged(world, **fields)
            publish(world, Write("comment", world.issue, "Hello"), outcome=outcome, repository=REPO)
    assert world.writes() == before


def test_a_secret_in_a_text_keeps_all_from_being_made(world: World, other: int):
    before = world.writes()
    with pytest.raises(GateError, match="credential"):
        publish(world, Write("comment", world.issue, f"Use {KEY}"))
    writes = (Write("comment", world.issue, "Harmless"), Write("comment", other, f"Use {KEY}"))
    with pytest.raises(GateError, match="credential"):
        publish(world, *writes, outcome=triaged(world, other))
    assert world.writes() == before


def test_more_than_the_task_allows(world: World):
    with pytest.raises(PublishError, match="2 writes of the kind `comment`"):
        publish(world, *(Write("comment", world.issue, f"Hello {n}") for n in range(3)))
    with pytest.raises(UsageError, match="1,000, and 1 to 200 are allowed"):
        publish(world, *(Write("comment", world.issue, f"Hello {n}") for n in range(1_000)))
    assert words(world) == []


def test_a_branch_of_the_attackers_brings_no_other_task(world: World):
    loose = TASK.replace("comment: 2", "comment: 50").replace("[Stale, triage]", "[anything]")
    sha = world.forge.commit(REPO, {".github/agent/keeper.md": loose}, branch="topic")
    outcome = triaged(world, base_ref="topic")
    with pytest.raises(PublishError, match="not one of those that may be set"):
        publish(
            world, Write("add_label", world.issue, label="anything"), outcome=outcome._replace(base_sha=sha)
        )


CHANGES: list[Callable[[dict[str, Any]], object]] = [
    lambda data: data["writes"][0].update(repository="octo/other"),
    lambda data: data["writes"][0].update(kind="delete"),
    lambda data: data["writes"][0].update(kind="close"),
    lambda data: data["writes"][0].update(number="1"),
    lambda data: data["writes"][0].update(number=-1),
    lambda data: data["writes"][0].pop("body"),
    lambda data: data.update(writes=[]),
    lambda data: data.update(more=1),
    lambda data: data["writes"].append({"kind": "close", "number": 1, "reason": "duplicate"}),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_is_not_as_the_schema_is_no_bundle(change: Callable[[dict[str, Any]], object]):
    data = json.loads(json.dumps(as_data(Writes((Write("comment", 1, "Hello"),)))))
    assert parse(Writes, json.dumps(data).encode()).writes == (Write("comment", 1, "Hello"),)
    change(data)
    with pytest.raises(UsageError, match=r"writes\.json is not a valid list of writes"):
        parse(Writes, json.dumps(data).encode())


def test_a_pull_request_passed_off_as_an_issue_is_not_closed(world: World):
    world.forge.commit(REPO, {"README.md": "Bye\n"}, branch="topic")
    number = world.open("topic")
    published = publish(world, Write("close", number), outcome=triaged(world, number))
    assert published.withheld == (
        f"close #{number} as not planned: it is not the kind of thread that the bundle says",
    )
    assert world.api(f"/pulls/{number}")["state"] == "open"


def test_a_run_that_failed_writes_nothing_and_that_is_said(world: World):
    outcome = triaged(world)._replace(status=Status.FAILED)
    published = publish(world, Write("comment", world.issue, "Hello"), outcome=outcome)
    assert published.withheld == (f"comment on #{world.issue}: the run failed",)
    assert words(world) == []


def test_what_github_did_not_take_is_an_error_and_the_rest_is_made_by_publishing_again(
    world: World, other: int
):
    bundle = bundled(
        world, triaged(world, other), Write("comment", world.issue, "Hello"), Write("comment", other, "Hello")
    )
    world.forge.fail_next("POST", f"/issues/{world.issue}/comments", status=403)
    with pytest.raises(PublishError, match="Publishing the bundle again makes what is missing"):
        world.publish(bundle)
    assert (words(world), len(words(world, other))) == ([], 1)
    assert world.publish(bundle).written == (f"comment on #{world.issue}",)
    assert len(words(world, other)) == 1


# Without a task: where the policy lets a verb write


REVIEWS = "writes: { verbs: [explain, fix], labels: [needs tests] }"


def test_a_reply_goes_to_a_conversation_of_that_very_pull_request(world: World):
    world.base_sha = world.forge.commit(REPO, {".github/agent.yml": REVIEWS})
    world.forge.commit(REPO, {"invoice.py": "total = sum\n"}, branch="topic")
    number = world.open("topic")
    comment = world.forge.review_comment(REPO, number, "ann", "invoice.py", 1, body="Why?")
    remark = ReviewThread(comment, "invoice.py", 1, 0, Side.RIGHT, "", ())
    outcome = world.on_pull(number, verb="fix", unresolved=(remark, remark._replace(id=comment + 999)))
    trigger = outcome.request.trigger
    assert trigger is not None
    request = outcome.request._replace(trigger=trigger._replace(at=now()))
    outcome = outcome._replace(request=request, status=Status.NO_CHANGE, files=())
    write = Write("reply", number, comment_id=comment, body="Since it is one line.")
    for _ in range(2):
        publish(world, write, Write("reply", number, comment_id=comment + 999, body="Hello"), outcome=outcome)
    said = [remark["body"] for remark in world.api(f"/pulls/{number}/comments")]
    assert len(said) == 2
    assert said[1].startswith("Since it is one line.")


def test_a_lower_cap_of_the_tasks_file_counts_now(world: World):
    bundle = bundled(world, triaged(world), Write("comment", world.issue, "Hello"))
    world.forge.commit(REPO, {".github/agent/keeper.md": TASK.replace("comment: 2", "comment: 0")})
    with pytest.raises(PublishError, match="no write of the kind `comment`"):
        world.publish(bundle)


def test_what_this_bot_opened_is_no_thread_of_a_tasks(world: World):
    own = world.github().create_issue(title="Maintenance", body="").number
    published = publish(world, Write("edit", own, title="Mine"), outcome=triaged(world, own))
    assert "opened by this bot" in published.withheld[0]


def test_more_threads_than_the_task_is_shown(world: World):
    outcome = triaged(world, *range(100, 130))
    with pytest.raises(PublishError, match="is shown 30 threads"):
        publish(world, Write("comment", world.issue, "Hello"), outcome=outcome)


@pytest.mark.slow
def test_a_mark_that_somebody_copied_is_not_ours(world: World):
    bundle = bundled(world, triaged(world), Write("comment", world.issue, "Hello"))
    world.publish(bundle, dry_run=True)
    [ours] = re.findall(r"<!-- slash-agent write .*-->", "".join(world.said))
    world.forge.comment(REPO, world.issue, "bob", marked("Hello", ours), at="2026-01-01T00:00:00Z")
    assert world.publish(bundle).written == (f"comment on #{world.issue}",)
