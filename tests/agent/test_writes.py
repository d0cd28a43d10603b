"""`propose_write`: each proposal is accepted or refused with a reason, and the prompt of a run about threads."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.agent.arguments import BadArgumentsError, parse_arguments
from bot.agent.first_message import triage_text
from bot.agent.prompt import prompt_text, system_prompt
from bot.agent.submission_tools import PROPOSE_WRITE, ProposeWrite
from bot.contracts.cancel import CancelToken
from bot.contracts.pulls import Comment
from bot.contracts.request import ThreadState, Triage, TriageThread
from bot.contracts.tools import ToolOutcome
from bot.contracts.workspace_tools import TOOL_SPECS
from bot.contracts.writes import Write, Writes

GOLDEN = Path(__file__).parent / "golden" / "triage_system.md"


def only_seven(write: Write, before: Sequence[Write]) -> str:
    return "" if write.number == 7 else "Only #7."


def call(tool: ProposeWrite, arguments: str) -> ToolOutcome:
    return tool(parse_arguments(arguments, PROPOSE_WRITE.parameters).values, CancelToken())


@pytest.mark.parametrize(
    ("arguments", "write"),
    [
        ('{"kind": "comment", "number": 7, "body": " Hello \\n"}', Write("comment", 7, "Hello")),
        (
            '{"kind": "reply", "number": 7, "comment_id": 3, "body": "Hello"}',
            Write("reply", 7, "Hello", comment_id=3),
        ),
        ('{"kind": "add_label", "number": 7, "label": "stale"}', Write("add_label", 7, label="stale")),
        ('{"kind": "remove_label", "number": 7, "label": "stale"}', Write("remove_label", 7, label="stale")),
        ('{"kind": "close", "number": 7}', Write("close", 7, reason="not_planned")),
        ('{"kind": "close", "number": 7, "reason": "completed"}', Write("close", 7, reason="completed")),
        ('{"kind": "edit", "number": 7, "title": "Better"}', Write("edit", 7, title="Better")),
        # Half a character, which JSON can spell and no file can hold.
        ('{"kind": "comment", "number": 7, "body": "a\\ud800"}', Write("comment", 7, "a\ufffd")),
    ],
)
def test_each_kind_is_taken_down(arguments: str, write: Write) -> None:
    tool = ProposeWrite(only_seven)
    outcome = call(tool, arguments)
    assert not outcome.is_error
    assert outcome.content.startswith("Accepted: ")
    assert tool.writes == Writes((write,))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ('{"kind": "comment", "number": 7}', "comment needs body"),
        ('{"kind": "reply", "number": 7}', "reply needs comment_id and body"),
        ('{"kind": "add_label", "number": 7, "body": "stale"}', "add_label needs label"),
        ('{"kind": "comment", "number": 8, "body": "Hello"}', "Refused: Only #7."),
    ],
)
def test_a_refusal_says_why_and_nothing_is_kept(arguments: str, why: str) -> None:
    tool = ProposeWrite(only_seven)
    outcome = call(tool, arguments)
    assert outcome.is_error
    assert why in outcome.content
    assert tool.writes is None


@pytest.mark.parametrize(
    "arguments",
    [
        '{"kind": "delete", "number": 7}',
        '{"kind": "comment", "number": 0, "body": "Hello"}',
        '{"kind": "comment", "body": "Hello"}',
        '{"kind": "close", "number": 7, "reason": "duplicate"}',
        '{"kind": "comment", "number": 7, "body": "' + "x" * 65_537 + '"}',
    ],
)
def test_what_does_not_fit_the_schema_never_gets_here(arguments: str) -> None:
    with pytest.raises(BadArgumentsError):
        parse_arguments(arguments, PROPOSE_WRITE.parameters)


def test_the_judge_sees_what_was_accepted_and_every_proposal_is_recorded() -> None:
    seen: list[tuple[Write, str]] = []
    asked: list[int] = []

    def judge(write: Write, before: Sequence[Write]) -> str:
        asked.append(len(before))
        return only_seven(write, before)

    tool = ProposeWrite(judge, lambda write, refused: seen.append((write, refused)))
    for number in (7, 8, 7):
        call(tool, f'{{"kind": "close", "number": {number}}}')
    assert asked == [0, 1, 1]
    assert [(write.number, refused) for write, refused in seen] == [(7, ""), (8, "Only #7."), (7, "")]


def test_the_system_prompt_is_the_agreed_one() -> None:
    tools = (*(spec for spec in TOOL_SPECS if not spec.writes), PROPOSE_WRITE)
    text = system_prompt(
        prompt_text("triage"), (*tools, next(spec for spec in TOOL_SPECS if spec.name == "bash"))
    )
    assert text == GOLDEN.read_text("utf-8")
    assert len(text.encode()) < 3_600


def test_what_the_model_is_shown_of_a_thread() -> None:
    state = ThreadState(
        7, False, "open", False, ("bug", "stale"), "2026-06-11T00:00:00Z", "2026-06-10T00:00:00Z"
    )
    comment = Comment(1, "ann", "Still so.", "2026-06-11T00:00:00Z", "2026-06-11T00:00:00Z")
    thread = TriageThread(state, "It crashes", "Always.", "bob", "2026-01-02T00:00:00Z", (comment,))
    assert triage_text(Triage("2026-06-30T00:00:00Z", (thread,), ("3 threads, it is too early",))) == (
        "It is 2026-06-30T00:00:00Z.\n\n"
        "(Left out: 3 threads, it is too early.)\n\n"
        "Issue #7 by bob, 2026-01-02: It crashes\n"
        "labels: bug, stale; last activity: 2026-06-11; this task commented on 2026-06-10, and something has happened "
        "since\n\n"
        "Always.\n\n"
        "Comment on #7 by ann, 2026-06-11:\nStill so."
    )
