from dataclasses import replace

import pytest

from bot.contracts.errors import UsageError
from bot.contracts.request import Actor, Request, ThreadState, Tier
from bot.contracts.writes import Write
from bot.maintenance.apply import with_task_instruction, with_task_limits
from bot.maintenance.task import Task, TaskWrites, ThreadFilter, path_of
from bot.maintenance.thread_fit import mismatch
from bot.policy.decide import decide, may_write
from bot.policy.load import load_policy
from bot.policy.tiers_and_budget import Budget

LINKS = Task("links", "Mend links.", paths=("docs/**", "README.md"), limits=Budget(usd=1, turns=10))
POLICY = load_policy(
    "budget: { usd: 0.5, minutes: 7, check_minutes: 3 }\nrules:\n  - { effect: deny, paths: [docs/old/**] }\n"
)


def request(instruction: str | None = None) -> Request:
    actor = Actor("schedule", 0, Tier.SCHEDULE)
    return Request("fix", instruction, actor, "a/b", "main", "https://github.test/a/b.git", task="links")


def test_the_request_is_in_the_tasks_own_words():
    assert with_task_instruction(request(), LINKS) == request("Mend links.")


def test_what_somebody_wrote_beside_it_comes_after():
    asked = with_task_instruction(request("Only in docs/api."), LINKS)
    assert asked.instruction == "Mend links.\n\nOnly in docs/api."


def test_folders_are_brought_beside_the_policys():
    policy = load_policy("bring: [node_modules]")
    assert with_task_limits(policy, Task("up", "Update.", bring=(".agent-input", "node_modules"))).bring == (
        "node_modules",
        ".agent-input",
    )


@pytest.mark.parametrize(("path", "may"), [("docs/a/b.md", True), ("README.md", True), ("src/a.py", False)])
def test_only_the_tasks_paths_may_change(path: str, may: bool):
    policy = with_task_limits(POLICY, LINKS)
    assert (may_write(policy, Tier.SCHEDULE)(path) is None) is may
    assert decide(policy, Tier.SCHEDULE, "edit", {"path": path}).allowed is may
    assert decide(policy, Tier.SCHEDULE, "view", {"path": path}).allowed


def test_a_denial_names_the_task_and_what_it_may():
    answer = may_write(with_task_limits(POLICY, LINKS), Tier.SCHEDULE)("src/a.py")
    assert answer == "the task links does not let it be written: it may change only docs/**, README.md"


def test_what_the_policy_forbids_stays_forbidden():
    assert may_write(with_task_limits(POLICY, LINKS), Tier.SCHEDULE)("docs/old/a.md")


def test_the_smaller_limit_holds_whoever_sets_it():
    assert with_task_limits(POLICY, LINKS).budget == Budget(usd=0.5, turns=10, minutes=7, check_minutes=3)
    assert with_task_limits(POLICY, LINKS).limits(Tier.SCHEDULE).usd == 0.5


@pytest.mark.parametrize("name", ["../../x", "a/b", "A", "", "a.md", "a\n", "-"])
def test_a_name_from_a_payload_leads_nowhere_else(name: str):
    with pytest.raises(UsageError):
        path_of(name)


# Whether a task fits a thread


THREADS = ThreadFilter(without=("pinned",), idle_days=60)
TASK = Task("keeper", "Look.", threads=THREADS, writes=TaskWrites(labels=("stale",)))
NOW = "2026-06-30T12:00:00Z"
QUIET = ThreadState(7, False, "open", False, ("bug",), "2026-03-01T00:00:00Z")
TOLD = QUIET._replace(told_at="2026-06-10T00:00:00Z", labels=("stale",))
ANSWERED = TOLD._replace(quiet_since="2026-06-11T00:00:00Z")


@pytest.mark.parametrize(
    ("write", "seen", "why"),
    [
        (Write("comment", 7, "a"), QUIET, ""),
        (Write("add_label", 7, label="stale"), QUIET, ""),
        (Write("add_label", 7, label="stale"), TOLD, "taken off by somebody"),
        (Write("add_label", 7, label="stale"), TOLD._replace(told_at="2026-06-30T00:00:00Z"), ""),
        (Write("close", 7), TOLD._replace(labels=("bug",)), "does not carry a label of this task's"),
        (Write("comment", 7, "a"), QUIET._replace(locked=True), "locked"),
        (Write("remove_label", 7, label="stale"), QUIET._replace(locked=True), "locked"),
        (Write("comment", 7, "a"), QUIET._replace(state="closed"), "closed now"),
        (Write("comment", 7, "a"), QUIET._replace(labels=("Pinned",)), "has the label `pinned`"),
        (
            Write("comment", 7, "a"),
            QUIET._replace(is_pull_request=True),
            "a pull request, and the task is about issues",
        ),
        (Write("comment", 7, "a"), QUIET._replace(quiet_since="2026-06-01T00:00:00Z"), "within 60 days"),
        (Write("comment", 7, "a"), TOLD, "a comment of this task's already"),
        (Write("close", 7), QUIET, "it has not yet"),
        (Write("close", 7), TOLD, ""),
        (Write("close", 7), TOLD._replace(told_at="2026-06-20T00:00:00Z"), "that was on 2026-06-20"),
        (Write("close", 7), ANSWERED, "within 60 days"),
        (Write("remove_label", 7, label="stale"), ANSWERED, ""),
        (Write("comment", 7, "a"), ANSWERED, "within 60 days"),
    ],
)
def test_a_thread_must_stand_as_the_task_says(write: Write, seen: ThreadState, why: str):
    said = mismatch(write, seen, TASK, at=NOW)
    assert why in said
    assert bool(why) == bool(said)


def test_an_answer_is_an_answer_even_where_no_idle_time_is_asked_for():
    task = replace(TASK, threads=replace(THREADS, idle_days=0))
    assert "since this task commented" in mismatch(Write("close", 7), ANSWERED, task, at=NOW)
    assert mismatch(Write("comment", 7, "a"), ANSWERED, task, at=NOW) == ""
    assert (
        mismatch(Write("close", 7), QUIET, replace(task, writes=TaskWrites(close_after_days=0)), at=NOW) == ""
    )


def test_what_happened_after_the_run_looked_was_not_thought_of():
    since = "2026-02-01T00:00:00Z"
    assert "since the run looked" in mismatch(
        Write("add_label", 7, label="stale"), QUIET, TASK, at=NOW, since=since
    )
    assert mismatch(Write("remove_label", 7, label="stale"), QUIET, TASK, at=NOW, since=since) == ""
    assert mismatch(Write("comment", 7, "a"), QUIET, None, at=NOW, since="2026-03-01T00:00:00Z") == ""
