"""`describe_change`, `submit_plan`, `ask_user`, `todo` and `propose_write`: typed, and each says what to mend
(S-125, S-162)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bot.agent.arguments import BadArgumentsError, parse_arguments
from bot.agent.findings import AnchoredFinding, ReportFinding
from bot.agent.first_message import triage_text
from bot.agent.prompt import prompt_text, system_prompt
from bot.agent.submission_tools import PROPOSE_WRITE, AskUser, DescribeChange, ProposeWrite, SubmitPlan
from bot.agent.todo_list import MAX_ITEMS, MAX_TEXT, Todo
from bot.agent.toolbox import CallExecution
from bot.contracts.cancel import CancelToken
from bot.contracts.outcome import Description, StopReason
from bot.contracts.plan import MAX_STEPS, PlanStep
from bot.contracts.pulls import Comment, Finding, Kind, Severity
from bot.contracts.request import ThreadState, Triage, TriageThread
from bot.contracts.tool_descriptions import TOOL_SPECS
from bot.contracts.tools import ToolOutcome
from bot.contracts.writes import Write, Writes
from tests.support.sessions import execute


def test_the_last_description_wins():
    describe = DescribeChange()
    execute(describe, title="First", summary="One.", notes="n")
    executed = execute(describe, title=" Second\n line ", summary=" Two. ")
    assert executed.result.content == "Noted."
    assert describe.description == Description("Second line", "Two.", "")


@pytest.mark.parametrize(
    ("title", "said"),
    [("x" * 80, "title: expected at most 72 characters, got 80"), (" \n ", "only white space")],
)
def test_a_title_that_is_none_is_sent_back(title: str, said: str):
    describe = DescribeChange()
    assert said in execute(describe, title=title, summary="s").result.content
    assert describe.description == Description()


def step(text: str = "Do it", *paths: str) -> dict[str, Any]:
    return {"text": text, "paths": list(paths)}


def test_the_last_plan_wins():
    submit = SubmitPlan()
    execute(submit, title="First", steps=[step()])
    executed = execute(
        submit, title=" Second\n line ", steps=[step(" One. ", "./a.py", "a.py"), {"text": "Two"}],
        risks=" r ", estimate_turns=7,
    )  # fmt: skip
    assert executed.result.content == "Noted."
    plan = submit.plan
    assert plan is not None
    assert (plan.title, plan.risks, plan.estimate_turns) == ("Second line", "r", 7)
    assert plan.steps == (PlanStep("One.", ("a.py",)), PlanStep("Two"))
    assert executed.outcome.metadata["plan"] == plan.hash


WRONG = {
    "no steps": ({"steps": []}, "steps: expected at least 1"),
    "steps as text": ({"steps": "do it"}, "steps: expected"),
    "too many steps": ({"steps": [step()] * (MAX_STEPS + 1)}, f"at most {MAX_STEPS}"),
    "a step without text": ({"steps": [{"paths": ["a"]}]}, "steps[0].text"),
    "a blank step": ({"steps": [step("  ")]}, "steps.0.text"),
    "a path upwards": ({"steps": [step("x", "../etc/passwd")]}, "'../etc/passwd' is no path inside"),
    "an absolute path": ({"steps": [step("x", "/etc/passwd")]}, "'/etc/passwd' is no path inside"),
    "a blank title": ({"title": " \n"}, "title: expected one line"),
    "a negative estimate": ({"estimate_turns": -1}, "estimate_turns"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_plan_is_said(name: str):
    arguments, said = WRONG[name]
    submit = SubmitPlan()
    executed = execute(submit, **{"title": "t", "steps": [step()], **arguments})
    assert executed.result.is_error
    assert said in executed.result.content
    assert submit.plan is None


def test_a_plan_that_is_not_taken_leaves_the_one_before_it():
    submit = SubmitPlan()
    execute(submit, title="Good", steps=[step()])
    executed = execute(submit, title="Bad", steps=[step("x", "/")])
    assert "The plan submitted before stands." in executed.result.content
    assert submit.plan is not None
    assert submit.plan.title == "Good"


def test_a_question_ends_the_run():
    ask = AskUser()
    assert ask.stop() is None
    assert not execute(ask, question=" Cents or dollars? ").result.is_error
    stop = ask.stop()
    assert stop is not None
    assert stop.stop is StopReason.NEEDS_INPUT
    assert ask.question == "Cents or dollars?"


def test_there_is_one_question():
    ask = AskUser()
    execute(ask, question="First?")
    assert execute(ask, question="Second?").result.is_error
    assert ask.question == "First?"


def test_a_blank_question_is_none():
    ask = AskUser()
    assert execute(ask, question=" \n ").result.is_error
    assert ask.stop() is None


def give(todo: Todo, *items: dict[str, str]) -> CallExecution:
    return execute(todo, items=list(items))


def item(text: str, status: str = "pending") -> dict[str, str]:
    return {"text": text, "status": status}


def test_the_list_comes_back_whole_and_the_last_one_counts():
    todo = Todo()
    give(todo, item("Old"))
    result = give(
        todo, item(" Read\nit ", "completed"), item("Mend it", "in_progress"), item("Test it")
    ).result
    assert result.content == "1. [x] Read it\n2. [>] Mend it\n3. [ ] Test it\n(1 of 3 done)"
    assert [one.text for one in todo.open] == ["Mend it", "Test it"]


def test_an_empty_list_is_a_list():
    todo = Todo()
    give(todo, item("Old"))
    assert give(todo).result.content == "The list is empty."
    assert todo.open == ()


WRONG_LISTS: dict[str, tuple[list[Any], str]] = {
    "two in progress": ([item("a", "in_progress"), item("b"), item("c", "in_progress")], "items 1 and 3"),
    "an unknown status": ([item("a", "done")], "items[0].status"),
    "no text": ([{"status": "pending"}], "items[0].text"),
    "a blank text": ([item("ok"), item(" \n")], "item 2 has no text"),
    "too many": ([item(str(n)) for n in range(MAX_ITEMS + 1)], f"{MAX_ITEMS} are the most"),
}


@pytest.mark.parametrize("name", WRONG_LISTS)
def test_a_wrong_list_is_refused_and_the_one_before_stands(name: str):
    items, said = WRONG_LISTS[name]
    todo = Todo()
    give(todo, item("Old"))
    result = give(todo, *items).result
    assert result.is_error
    assert said in result.content
    assert [one.text for one in todo.items] == ["Old"]


def test_a_long_text_is_cut():
    todo = Todo()
    give(todo, item("x" * 300))
    assert [len(one.text) for one in todo.items] == [MAX_TEXT]


GOLDEN = Path(__file__).parent / "golden" / "triage_system.md"


def only_seven(write: Write, before: Sequence[Write]) -> str:
    return "" if write.number == 7 else "Only #7."


def call(tool: ProposeWrite, arguments: str) -> ToolOutcome:
    return tool(parse_arguments(arguments, PROPOSE_WRITE.parameters).values, CancelToken())


@pytest.mark.parametrize(
    ("arguments", "write"),
    [
        ('{"kind": "comment", "number": 7, "body": " Hello \\n"}', Write("comment", 7, "Hello")),
        ('{"kind": "reply", "number": 7, "comment_id": 3, "body": "Hello"}', Write("reply", 7, "Hello", comment_id=3)),
        ('{"kind": "add_label", "number": 7, "label": "stale"}', Write("add_label", 7, label="stale")),
        ('{"kind": "remove_label", "number": 7, "label": "stale"}', Write("remove_label", 7, label="stale")),
        ('{"kind": "close", "number": 7}', Write("close", 7, reason="not_planned")),
        ('{"kind": "close", "number": 7, "reason": "completed"}', Write("close", 7, reason="completed")),
        ('{"kind": "edit", "number": 7, "title": "Better"}', Write("edit", 7, title="Better")),
        # Half a character, which JSON can spell and no file can hold.
        ('{"kind": "comment", "number": 7, "body": "a\\ud800"}', Write("comment", 7, "a\ufffd")),
    ],
)  # fmt: skip
def test_each_kind_is_taken_down(arguments: str, write: Write):
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
def test_a_refusal_says_why_and_nothing_is_kept(arguments: str, why: str):
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
def test_what_does_not_fit_the_schema_never_gets_here(arguments: str):
    with pytest.raises(BadArgumentsError):
        parse_arguments(arguments, PROPOSE_WRITE.parameters)


def test_the_judge_sees_what_was_accepted_and_every_proposal_is_recorded():
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


def test_the_system_prompt_is_the_agreed_one():
    tools = (*(spec for spec in TOOL_SPECS if not spec.writes), PROPOSE_WRITE)
    text = system_prompt(
        prompt_text("triage"), (*tools, next(spec for spec in TOOL_SPECS if spec.name == "bash"))
    )
    assert text == GOLDEN.read_text("utf-8")
    assert len(text.encode()) < 3_600


def test_what_the_model_is_shown_of_a_thread():
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


# Findings


def take(finding: Finding) -> AnchoredFinding | str:
    return AnchoredFinding(finding._replace(fingerprint=f"{finding.path}:{finding.title}"))


def reported(report: ReportFinding, **given: Any) -> CallExecution:
    arguments = {"path": "a.py", "line": 3, "severity": "major", "title": "T", "body": "B"}
    arguments |= {"kind": "crash", **given}
    return execute(report, **arguments)


def test_a_finding_is_kept_as_it_was_judged():
    report = ReportFinding(take, 30)
    executed = reported(
        report, path="./src/a.py", start_line=1, title=" Never\nclosed ", suggestion="x\n", side="RIGHT"
    )
    assert executed.result.content == "Noted, src/a.py lines 1-3."
    assert report.findings == (
        Finding(
            "src/a.py", 3, Severity.MAJOR, "Never closed", "B", 1, suggestion="x\n",
            fingerprint="src/a.py:Never closed", kind=Kind.CRASH,
        ),
    )  # fmt: skip
    assert executed.outcome.metadata["title"] == "Never closed"


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({}, "a.py line 3."),
        ({"start_line": 3}, "a.py line 3."),
        ({"side": "LEFT"}, "a.py line 3 of the old file."),
        ({"line": 0}, "a.py as a whole."),
    ],
)
def test_the_answer_says_where_it_stands(given: dict[str, Any], where: str):
    assert f"Noted, {where}" in reported(ReportFinding(take, 30), **given).result.content


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"title": " \n "}, "only white space"),
        ({"body": " "}, "only white space"),
        ({"title": "x" * 121}, "at most 120 characters"),
        ({"line": -1}, "line: expected"),
        ({"severity": "blocker"}, 'severity: expected one of "critical", "major"'),
        ({"side": "MIDDLE"}, 'side: expected one of "LEFT", "RIGHT"'),
    ],
)
def test_what_is_no_finding_is_sent_back(given: dict[str, Any], said: str):
    report = ReportFinding(take, 30)
    executed = reported(report, **given)
    assert executed.result.is_error
    assert said in executed.result.content
    assert report.findings == ()


def test_a_second_finding_on_the_same_fault_is_refused_and_the_first_one_named():
    report = ReportFinding(take, 30)
    reported(report, title="Fails on nothing")
    executed = reported(report, title="The mean of [] raises", start_line=2, line=4, severity="critical")
    assert (
        "Not taken: it is the finding “Fails on nothing”, a.py line 3, of the same kind"
        in executed.result.content
    )
    assert [finding.title for finding in report.findings] == ["Fails on nothing"]
    assert report.refused == ()


@pytest.mark.parametrize("given", [{"line": 9}, {"kind": "security"}, {"side": "LEFT"}, {"path": "b.py"}])
def test_on_other_lines_or_of_another_kind_it_is_another_fault(given: dict[str, Any]):
    report = ReportFinding(take, 30)
    reported(report)
    assert "Noted" in reported(report, **given).result.content


def test_the_worst_are_kept():
    report = ReportFinding(take, max_findings=2)
    reported(report, title="one", severity="note")
    reported(report, title="two", line=4, severity="minor")
    assert "Noted" in reported(report, title="three", line=5, severity="major").result.content
    assert "it was left out" in reported(report, title="four", line=6, severity="minor").result.content
    assert "it was left out" in reported(report, title="five", line=7, severity="note").result.content
    assert [finding.title for finding in report.findings] == ["three", "two"]
    assert report.left_out == ("3 findings beyond the 2 worst ones",)


def test_what_an_earlier_review_found_takes_no_room_and_is_no_refusal():
    report = ReportFinding(
        lambda finding: AnchoredFinding(finding, known="Known." if finding.line < 9 else ""), max_findings=1
    )
    assert reported(report, severity="critical").result.content == "Known."
    assert "Noted" in reported(report, line=9, title="new", severity="note").result.content
    assert ([finding.title for finding in report.findings], report.left_out, report.refused) == (
        ["new"],
        (),
        (),
    )


@pytest.mark.parametrize(
    ("then", "left"),
    [
        ({}, 2),
        ({"line": 2}, 0),  # on a line that fits: it was corrected, by its path and kind
        ({"line": 2, "path": "b.py"}, 0),  # by its title, on the right file
        ({"line": 2, "path": "b.py", "title": "another"}, 2),
    ],
)
def test_refused_reports_are_kept_until_they_are_corrected(then: dict[str, Any], left: int):
    report = ReportFinding(lambda finding: "Not there." if finding.line > 5 else AnchoredFinding(finding), 30)
    reported(report, line=9)
    reported(report, line=10, title="T2", path="a.py")
    if then:
        reported(report, **then)
        reported(report, **{**then, "title": f"{then.get('title', 'T')}2", "line": 3})
    assert len(report.refused) == left
    if left:
        assert report.refused[0] == "T (a.py line 9): Not there."
