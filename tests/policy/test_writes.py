"""Who may write what on which thread: the caps, and each reason why not."""

import pytest

from bot.contracts.writes import Write, WriteCaps
from bot.policy.load import load_policy
from bot.policy.policy_error import PolicyError
from bot.policy.writes import Allowance, is_ours, refusal

ALLOWED = Allowance(
    WriteCaps(comment=2, label=2, close=1, reply=1),
    {7: False, 8: True},
    labels=("Stale", "triage"),
    replies=frozenset({31}),
    triggers=frozenset({"please fix"}),
)


@pytest.mark.parametrize(
    "write",
    [
        Write("comment", 7, "a"),
        Write("add_label", 8, label="stale"),
        Write("close", 7),
        Write("reply", 8, comment_id=31, body="a"),
    ],
)
def test_what_is_allowed(write: Write):
    assert refusal(write, ALLOWED, ()) == ""


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (Write("comment", 9, "a"), "#9 is not among the threads of this run: #7, #8."),
        (Write("comment", 7, "/agent fix"), "bots take for a command"),
        (Write("add_label", 7, label="pinned"), "that may be set or taken off here: `Stale`, `triage`."),
        (Write("add_label", 7, label="agent:fix"), "starts this bot"),
        (Write("remove_label", 7, label="Please Fix"), "starts this bot"),
        (Write("reply", 8, comment_id=32, body="a"), "no review comment that this run was shown"),
        (Write("edit", 7, title="a"), "no write of the kind `edit`"),
        (Write("close", 8), "no write of the kind `close_pulls`"),
    ],
)
def test_what_is_not_says_why(write: Write, why: str):
    assert why in refusal(write, ALLOWED, ())


def test_caps_count_what_was_proposed():
    before = (Write("comment", 7, "a"), Write("comment", 7, "b"), Write("add_label", 7, label="stale"))
    assert "2 writes of the kind `comment`" in refusal(Write("comment", 8, "c"), ALLOWED, before)
    assert refusal(Write("add_label", 8, label="stale"), ALLOWED, before) == ""
    assert "proposed already" in refusal(Write("add_label", 7, label="stale"), ALLOWED, before)


@pytest.mark.parametrize(
    "label", ["agent", "agent:fix", "Agent fix", "agent-fix", "slash-agent/x", " agent:x"]
)
def test_labels_that_start_this_bot(label: str):
    assert is_ours(label)


@pytest.mark.parametrize("label", ["agents", "reagent", "stale", "user-agent", "agenta"])
def test_labels_that_do_not(label: str):
    assert not is_ours(label)


def test_verbs_and_their_labels():
    policy = load_policy("writes: { verbs: [review], labels: [needs work, needs work] }").writes
    assert (policy.verbs, policy.labels) == (frozenset({"review"}), ("needs work",))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("writes: { label: [x] }", "unknown key `label`; the nearest known one is `labels`"),
        ("writes: { labels: ['agent:fix'] }", "`agent:fix` starts this bot"),
        ("writes: { verbs: [stop] }", "`stop` is not one of"),
    ],
)
def test_a_mistake_in_the_policy_is_named(text: str, why: str):
    with pytest.raises(PolicyError, match=r"agent\.yml:1:") as caught:
        load_policy(text)
    assert why in str(caught.value)
