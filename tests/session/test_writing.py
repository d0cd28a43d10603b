"""What a run may propose: the tool as a run has it, against everything that an attacker would want written."""

from typing import Any

import pytest

from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.outcome import Status
from bot.contracts.request import Request, ThreadState, Tier, Triage, TriageThread
from bot.contracts.tool_descriptions import WRITING
from bot.maintenance.task import read_task
from bot.policy.load import load_policy
from bot.policy.settings import Policy
from bot.session.context.profiles import profile_of
from bot.session.tools.result_tools import ResultTools, propose_writes
from bot.verbs.record import PROPOSE_WRITE, REPORT_FINDING
from tests.support.outcomes import make_request

TASK = read_task(
    "---\nthreads: { kind: all }\n"
    "writes: { comment: 20, label: 5, close: 1, labels: [stale], close_after_days: 0 }\n---\nLook after them.",
    "keeper.md",
)
POLICY = load_policy("triggers: { labels: { please fix: fix } }")
DAY = "2026-01-02T00:00:00Z"
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def shown(*numbers: int) -> Triage:
    states = (ThreadState(number, False, "open", False, (), DAY) for number in numbers)
    return Triage(DAY, tuple(TriageThread(state, "", "", "bob", DAY) for state in states))


def request(**fields: Any) -> Request:
    asked = make_request(task="keeper", thread=None, triage=shown(7, 8))
    return asked._replace(**{"actor": asked.actor._replace(tier=Tier.SCHEDULE), **fields})


def tell(arguments: dict[str, Any], policy: Policy = POLICY, **fields: Any) -> str:
    tool = propose_writes(policy, request(**fields), TASK, lambda line: None)
    assert tool is not None
    return tool(arguments, CancelToken()).content


def comment(body: str, number: int = 7) -> dict[str, Any]:
    return {"kind": "comment", "number": number, "body": body}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (comment("Hello", 9), "#9 is not among the threads of this run: #7, #8"),
        (comment(f"The key is {KEY}"), "looks like a credential"),
        ({"kind": "add_label", "number": 7, "label": "please fix"}, "starts this bot"),
    ],
)
def test_what_the_policy_the_detector_or_the_run_refuses_has_its_reason(arguments: dict[str, Any], why: str):
    said = tell(arguments)
    assert said.startswith("Refused: ")
    assert why in said


def test_of_many_writes_as_many_are_taken_as_the_task_allows_and_all_are_journalled():
    journalled: list[lines.Record] = []
    tool = propose_writes(POLICY, request(), TASK, journalled.append)
    assert tool is not None
    results = ResultTools(propose=tool)
    assert (results.submission().writes, results.notes()) == (None, ())
    answers = [tool(comment(f"Hello {n}"), CancelToken()) for n in range(30)]
    assert sum(not answer.is_error for answer in answers) == 20
    assert results.submission().writes == tool.writes
    assert results.notes() == ("20 writes on threads proposed.",)
    proposed = [line for line in journalled if isinstance(line, lines.WriteProposed)]
    assert (len(proposed), sum(line.accepted for line in proposed)) == (30, 20)


def test_where_a_thread_stands_counts_at_once():
    busy = shown(7).threads[0]._replace(state=shown(7).threads[0].state._replace(locked=True))
    assert "it is locked" in tell(comment("Hello"), triage=Triage(DAY, (busy,)))


@pytest.mark.parametrize("tier", [Tier.CONTRIBUTOR, Tier.OUTSIDER, Tier.BOT, Tier.LOCAL])
def test_nobody_else_may_propose(tier: Tier):
    asked = request()
    asked = asked._replace(actor=asked.actor._replace(tier=tier))
    assert propose_writes(POLICY, asked, TASK, lambda line: None) is None


def test_a_task_without_the_key_and_a_task_that_is_gone_write_nothing():
    silent = read_task("Mend it.", "keeper.md")
    assert propose_writes(POLICY, request(), silent, lambda line: None) is None
    assert propose_writes(POLICY, request(), None, lambda line: None) is None


def test_the_tool_is_offered_only_where_something_may_be_proposed():
    assert all(
        PROPOSE_WRITE not in profile_of(make_request(verb=verb)).all_tools for verb in ("fix", "review")
    )
    assert PROPOSE_WRITE not in profile_of(request()).all_tools
    review = profile_of(make_request(verb="review"), writes=True)
    assert {REPORT_FINDING, PROPOSE_WRITE} <= set(review.all_tools)
    triage = profile_of(request(), writes=True)
    assert triage.prompt.startswith("You are Slash Agent, a software engineer who looks after")
    assert (triage.read_only, triage.success) == (True, Status.ANSWERED)
    assert not set(triage.all_tools) & set(WRITING)
    assert not triage.checks
    assert not triage.setup
