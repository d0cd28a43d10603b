"""Who may write what on which thread, and when: the caps' table, and each reason why not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.contracts.request import ThreadState, Tier
from bot.contracts.writes import (
    AddComment,
    AddLabel,
    AddReply,
    CloseThread,
    EditThread,
    RemoveLabel,
    Write,
    WriteCaps,
)
from bot.policy.load import load_policy
from bot.policy.problems import PolicyError
from bot.policy.writes import (
    HIGHEST,
    TIERS,
    VERBS,
    Allowance,
    ThreadConditions,
    caps_of,
    is_ours,
    mismatch,
    refusal,
)

ALLOWED = Allowance(
    WriteCaps(comment=2, label=2, close=1, reply=1),
    {7: False, 8: True},
    labels=("Stale", "triage"),
    replies=frozenset({31}),
    triggers=frozenset({"please fix"}),
)
RULES = ThreadConditions(
    "open", "issues", (), ("pinned",), idle_days=60, own_labels=("stale",), close_after_days=14
)
NOW = "2026-06-30T12:00:00Z"
QUIET = ThreadState(7, False, "open", False, ("bug",), "2026-03-01T00:00:00Z")
TOLD = replace(QUIET, told_at="2026-06-10T00:00:00Z", labels=("stale",))
ANSWERED = replace(TOLD, quiet_since="2026-06-11T00:00:00Z")


@pytest.mark.parametrize(
    "write", [AddComment(7, "a"), AddLabel(8, "stale"), CloseThread(7), AddReply(8, 31, "a")]
)
def test_what_is_allowed(write: Write) -> None:
    assert refusal(write, ALLOWED, ()) == ""


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (AddComment(9, "a"), "#9 is not among the threads of this run: #7, #8."),
        (AddComment(7, "/agent fix"), "bots take for a command"),
        (AddLabel(7, "pinned"), "not one of those that may be set or taken off here: `Stale`, `triage`."),
        (AddLabel(7, "agent:fix"), "starts this bot"),
        (RemoveLabel(7, "Please Fix"), "starts this bot"),
        (AddReply(8, 32, "a"), "no review comment that this run was shown"),
        (EditThread(7, "a"), "no write of the kind `edit`"),
        (CloseThread(8), "no write of the kind `close_pulls`"),
    ],
)
def test_what_is_not_says_why(write: Write, why: str) -> None:
    assert why in refusal(write, ALLOWED, ())


def test_caps_count_what_was_proposed() -> None:
    before = (AddComment(7, "a"), AddComment(7, "b"), AddLabel(7, "stale"))
    assert "2 writes of the kind `comment`" in refusal(AddComment(8, "c"), ALLOWED, before)
    assert refusal(AddLabel(8, "stale"), ALLOWED, before) == ""
    assert "proposed already" in refusal(AddLabel(7, "stale"), ALLOWED, before)


@pytest.mark.parametrize(
    "label", ["agent", "agent:fix", "Agent fix", "agent-fix", "slash-agent/x", " agent:x"]
)
def test_labels_that_start_this_bot(label: str) -> None:
    assert is_ours(label)


@pytest.mark.parametrize("label", ["agents", "reagent", "stale", "user-agent", "agenta"])
def test_labels_that_do_not(label: str) -> None:
    assert not is_ours(label)


@pytest.mark.parametrize(
    ("write", "seen", "why"),
    [
        (AddComment(7, "a"), QUIET, ""),
        (AddLabel(7, "stale"), QUIET, ""),
        (AddLabel(7, "stale"), TOLD, "taken off by somebody"),
        (AddLabel(7, "stale"), replace(TOLD, told_at="2026-06-30T00:00:00Z"), ""),
        (CloseThread(7), replace(TOLD, labels=("bug",)), "does not carry a label of this task's"),
        (AddComment(7, "a"), replace(QUIET, locked=True), "locked"),
        (RemoveLabel(7, "stale"), replace(QUIET, locked=True), "locked"),
        (AddComment(7, "a"), replace(QUIET, state="closed"), "closed now"),
        (AddComment(7, "a"), replace(QUIET, labels=("Pinned",)), "has the label `pinned`"),
        (
            AddComment(7, "a"),
            replace(QUIET, is_pull_request=True),
            "a pull request, and the task is about issues",
        ),
        (AddComment(7, "a"), replace(QUIET, quiet_since="2026-06-01T00:00:00Z"), "within 60 days"),
        (AddComment(7, "a"), TOLD, "a comment of this task's already"),
        (CloseThread(7), QUIET, "it has not yet"),
        (CloseThread(7), TOLD, ""),
        (CloseThread(7), replace(TOLD, told_at="2026-06-20T00:00:00Z"), "that was on 2026-06-20"),
        (CloseThread(7), ANSWERED, "within 60 days"),
        (RemoveLabel(7, "stale"), ANSWERED, ""),
        (AddComment(7, "a"), ANSWERED, "within 60 days"),
    ],
)
def test_a_thread_must_stand_as_the_task_says(write: Write, seen: ThreadState, why: str) -> None:
    said = mismatch(write, seen, RULES, at=NOW)
    assert why in said
    assert bool(why) == bool(said)


def test_an_answer_is_an_answer_even_where_no_idle_time_is_asked_for() -> None:
    rules = replace(RULES, idle_days=0)
    assert "since this task commented" in mismatch(CloseThread(7), ANSWERED, rules, at=NOW)
    assert mismatch(AddComment(7, "a"), ANSWERED, rules, at=NOW) == ""
    assert mismatch(CloseThread(7), QUIET, replace(rules, close_after_days=0), at=NOW) == ""


def test_what_happened_after_the_run_looked_was_not_thought_of() -> None:
    since = "2026-02-01T00:00:00Z"
    assert "since the run looked" in mismatch(AddLabel(7, "stale"), QUIET, RULES, at=NOW, since=since)
    assert mismatch(RemoveLabel(7, "stale"), QUIET, RULES, at=NOW, since=since) == ""
    assert mismatch(AddComment(7, "a"), QUIET, ThreadConditions(), at=NOW, since="2026-03-01T00:00:00Z") == ""


@pytest.mark.parametrize("tier", [Tier.CONTRIBUTOR, Tier.OUTSIDER, Tier.BOT, Tier.LOCAL])
def test_who_may_not_push_writes_nothing_of_its_own_accord(tier: Tier) -> None:
    assert not caps_of({"comment": 50}, tier)


def test_the_policy_lowers_and_raises_within_the_highest() -> None:
    policy = load_policy("writes: { comment: 50, close: 0 }").writes
    caps = caps_of(policy.caps, Tier.SCHEDULE)
    assert (caps.comment, caps.close, caps.label) == (50, 0, TIERS[Tier.SCHEDULE].label)
    assert all(one.capped_by(HIGHEST) == one for one in (*TIERS.values(), *VERBS.values()))
    assert caps_of({"comment": 10_000}, Tier.SCHEDULE).comment == HIGHEST.comment


def test_verbs_and_their_labels() -> None:
    policy = load_policy("writes: { verbs: [review], labels: [needs work, needs work] }").writes
    assert (policy.verbs, policy.labels) == (frozenset({"review"}), ("needs work",))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("writes: { comment: 51 }", "from 0 to 50"),
        ("writes: { comments: 5 }", "unknown key `comments`; the nearest known one is `comment`"),
        ("writes: { labels: ['agent:fix'] }", "`agent:fix` starts this bot"),
        ("writes: { verbs: [stop] }", "`stop` is not one of"),
    ],
)
def test_a_mistake_in_the_policy_is_named(text: str, why: str) -> None:
    with pytest.raises(PolicyError, match=r"agent\.yml:1:") as caught:
        load_policy(text)
    assert why in str(caught.value)
