"""The first screen of the page: a summary of the run, and the model's results (plan, question, findings)."""

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bot.agent.findings import REPORT_FINDING, finding_of
from bot.agent.journal import JournalFile
from bot.agent.recorded_calls import repeat_calls, submitted
from bot.agent.submission_tools import AskUser, DescribeChange, SubmitPlan
from bot.contracts.formatting import count_of, duration
from bot.contracts.journal import Evidence
from bot.contracts.outcome import ChangedFile, Description, Outcome, Status, StopReason
from bot.contracts.plan import Plan
from bot.contracts.pulls import Finding
from bot.evidence.from_journal import recorded_evidence
from bot.evidence.view import View, view_of
from bot.report.text import usd
from bot.report.timeline import Timeline, counts
from bot.review.diff import parse_diff

_SECTION = re.compile(r"^diff --git ", re.MULTILINE)
_STATUS: Mapping[str, tuple[str, str]] = {
    "changed": ("Changed", "good"),
    "reviewed": ("Reviewed", "good"),
    "planned": ("Planned", "good"),
    "answered": ("Answered", "good"),
    "partial": ("Ended early", "open"),
    "no_change": ("Nothing changed", "open"),
    "needs_input": ("A question is open", "open"),
    "refused": ("Refused", "bad"),
    "failed": ("Failed", "bad"),
}


MOST_LISTED = 200
"""The most entries of a list of problems or tests."""


class NetFile(NamedTuple):
    """A file of the change as the pull request has it. `diff` is empty if it is not text."""

    path: str
    additions: int
    removals: int
    diff: str


class FirstScreen(NamedTuple):
    """`status` is the label of the run's status, `kind` its colour."""

    title: str
    status: str
    kind: str
    description: Description
    evidence: Evidence
    view: View
    figures: str
    files: Sequence[NetFile]
    answer: str

    @property
    def changed(self) -> str:
        """`2 files, +3 −6`."""
        added, removed = sum(one.additions for one in self.files), sum(one.removals for one in self.files)
        return f"{count_of(self.files, 'file')}, +{added:,} −{removed:,}" if self.files else ""


def build_first_screen(
    journal: JournalFile, timeline: Timeline, description: Description, patch: bytes | None
) -> FirstScreen:
    request, ended = journal.header.request, timeline.run
    sections = _SECTION.split((patch or b"").decode("utf-8", "replace"))[1:]
    names = [one.path for one in parse_diff(patch or b"").files]
    files = list(map(_net_file, names, sections))
    thread = request.thread
    status, kind = _STATUS.get(ended.status, (ended.status, "open")) if ended else ("Not ended", "bad")
    kind = "bad" if ended and ended.stop_reason == "checks_failing" else kind
    evidence = recorded_evidence(journal)
    view = view_of(_outcome(journal, timeline, evidence, files), listed=MOST_LISTED)
    if kind == "good" and not view.summary.verified:
        status, kind = f"{status}, not verified", "open"
    kind = "open" if kind == "good" and view.summary.doubtful else kind
    last = timeline.turns[-1].texts if timeline.turns else []
    return FirstScreen(
        title=description.title or (thread.title if thread else request.full_instruction) or request.verb,
        status=status,
        kind=kind,
        description=description,
        evidence=evidence,
        view=view,
        figures=", ".join((duration(timeline.seconds), usd(timeline.cost), count_of(timeline.turns, "turn"))),
        files=files,
        answer="\n\n".join(last) if ended and ended.status == "answered" else "",
    )


def suggestion_diff(finding: Finding) -> str:
    """Return a finding's suggestion as a diff that begins at its first line; empty without one."""
    if not finding.text or finding.suggestion is None:
        return ""
    old, new = (text.removesuffix("\n").split("\n") for text in (finding.text, finding.suggestion))
    rows = [row for row in difflib.ndiff(old, new) if not row.startswith("?")]
    line = finding.lines[0]
    return "\n".join([f"@@ -{line} +{line} @@", *(row[0] + row[2:] for row in rows)])


def _net_file(path: str, section: str) -> NetFile:
    _, at, hunks = section.partition("\n@@")
    text = f"@@{hunks}" if at else ""
    return NetFile(path, *counts(text), text)


def _outcome(journal: JournalFile, timeline: Timeline, evidence: Evidence, files: list[NetFile]) -> Outcome:
    """Return an outcome with the fields that the view needs."""
    header = journal.header
    paths = [one.path for one in files] or list(timeline.files)
    return Outcome(
        header.schema,
        header.version,
        Status.CHANGED,
        StopReason.END_TURN,
        "",
        header.request,
        header.base_sha,
        header.model,
        header.sandbox,
        header.started_at,
        header.started_at,
        len(timeline.turns),
        timeline.usage,
        timeline.cost,
        checks=evidence.checks,
        diagnostics=evidence.diagnostics,
        files=tuple(ChangedFile(path, "M", "", "", 0, 0) for path in paths),
    )


class Handover(NamedTuple):
    """The results that the model submitted until the end of the journal; empty for other kinds of runs."""

    description: Description
    plan: Plan | None
    question: str
    findings: tuple[Finding, ...]


def handover_of(journal: JournalFile) -> Handover:
    submit, ask, describe = SubmitPlan(), AskUser(), DescribeChange()
    for tool in (submit, ask, describe):
        repeat_calls(tool, journal)
    findings = tuple(
        finding_of(arguments)._replace(text=str(result.metadata.get("code", "")))
        for arguments, result in submitted(journal, REPORT_FINDING)
    )
    return Handover(describe.description, submit.plan, ask.question, findings)
