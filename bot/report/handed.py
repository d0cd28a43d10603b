"""What the model handed over in a run, for the page: the plan, the question, the findings. From the journal alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bot.agent.arguments import BadArgumentsError, parse
from bot.agent.findings import REPORT_FINDING
from bot.agent.journal_file import JournalFile
from bot.agent.plans import SUBMIT_PLAN, SubmitPlan
from bot.agent.questions import ASK_USER, AskUser
from bot.agent.replay import RecordedCall, recorded_calls
from bot.agent.results import DESCRIBE_CHANGE, DescribeChange
from bot.contracts.cancel import CancelToken
from bot.contracts.outcome import Description
from bot.contracts.plan import Plan
from bot.report.letter import suggestion_diff


@dataclass(frozen=True, slots=True)
class FindingRow:
    """`code` is the lines that it is about, `diff` what they should become; both may be empty."""

    where: str
    severity: str
    title: str
    body: str
    path: str = ""
    code: str = ""
    diff: str = ""


@dataclass(frozen=True, slots=True)
class HandedOver:
    """Empty where the run was of another kind. A cut journal has what was handed over until then."""

    description: Description = field(default_factory=Description)
    plan: Plan | None = None
    question: str = ""
    findings: tuple[FindingRow, ...] = ()


def handed_over(journal: JournalFile) -> HandedOver:
    submit, ask, describe = SubmitPlan(), AskUser(), DescribeChange()
    findings: list[FindingRow] = []
    for call in recorded_calls(journal):
        if call.result is None or call.result.is_error:
            continue
        if call.call.name == SUBMIT_PLAN.name:
            submit(_arguments(call, submit.spec.parameters), CancelToken())
        elif call.call.name == DESCRIBE_CHANGE.name:
            describe(_arguments(call, describe.spec.parameters), CancelToken())
        elif call.call.name == ASK_USER.name:
            ask(_arguments(call, ask.spec.parameters), CancelToken())
        elif call.call.name == REPORT_FINDING.name:
            findings.append(_finding(call))
    return HandedOver(describe.description, submit.plan, ask.question, tuple(findings))


def _arguments(call: RecordedCall, schema: Any) -> dict[str, Any]:
    """What the redactor masked may have been a bracket: then the result's own account has to do."""
    try:
        return dict(parse(call.call.arguments, schema).values)
    except BadArgumentsError:
        noted = call.result.metadata if call.result else {}
        title, question = str(noted.get("title", "")), str(noted.get("question", ""))
        return {"title": title, "steps": [], "question": question, "summary": ""}


def _finding(call: RecordedCall) -> FindingRow:
    noted = call.result.metadata if call.result else {}
    line = noted.get("line")
    where = f"{noted.get('path', '')}:{line}" if line else str(noted.get("path", ""))
    arguments = _arguments(call, REPORT_FINDING.parameters)
    path, code, suggestion = (
        str(noted.get("path", "")),
        str(noted.get("code", "")),
        arguments.get("suggestion"),
    )
    start = int(arguments.get("start_line") or arguments.get("line") or 0)
    return FindingRow(
        where,
        str(noted.get("severity", "")),
        str(noted.get("title", "")),
        str(arguments.get("body", "")),
        path,
        code,
        suggestion_diff(code, suggestion, start) if code and isinstance(suggestion, str) else "",
    )
