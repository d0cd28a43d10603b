"""`report_finding`: the model reports review findings, one a call. Each is checked at once, so that the model
can fix it.

The caller's `check` compares a finding with the diff and the work tree: this module opens no file.
"""

from collections.abc import Callable
from typing import NamedTuple

from bot.contracts import tool_schema as schema
from bot.contracts.cancel import CancelToken
from bot.contracts.formatting import count_of
from bot.contracts.pulls import Finding, Kind, Severity, Side, same_fault
from bot.contracts.tools import ToolArguments, ToolOutcome, ToolSpec

MAX_TITLE = 120
MAX_BODY = 4_000
MAX_SUGGESTION = 20_000
_MAX_CODE = 4_000

REPORT_FINDING = ToolSpec(
    name="report_finding",
    description=(
        "Report one problem of the change; it becomes a comment on its lines. Call it as soon as you are sure, once a "
        "problem. Lines are those of the diff, in numbers of the side: RIGHT is the new file, LEFT the old one, for "
        "removed lines only. A problem that no line of the diff shows takes line 0: the file as a whole. Two findings "
        "of one kind on the same lines are one."
    ),
    parameters=schema.record(
        "path line severity kind title body",
        path=schema.text("The file, as the diff names it", minLength=1),
        line=schema.whole("The last line it is about", minimum=0),
        start_line=schema.whole("The first line, where it is about several of one hunk", minimum=0),
        side=schema.text("RIGHT if left out", enum=[side.value for side in Side]),
        severity=schema.text(
            "critical: must not be merged (data loss, a hole, an outage); major: goes wrong in use; minor: "
            "of small reach; note: good to know",
            enum=[severity.value for severity in Severity],
        ),
        kind=schema.text("What goes wrong", enum=[kind.value for kind in Kind]),
        title=schema.text("The problem, one line", minLength=1, maxLength=MAX_TITLE),
        body=schema.text(
            "When it goes wrong and with what result, Markdown, a few sentences",
            minLength=1,
            maxLength=MAX_BODY,
        ),
        suggestion=schema.text(
            "What exactly the lines from start_line to line should become, whole lines with their indentation; "
            "only on the RIGHT, and only if that fixes the problem",
            maxLength=MAX_SUGGESTION,
        ),
    ),
)


class AnchoredFinding(NamedTuple):
    """A finding with its position, text and fingerprint. `known` says which finding of an earlier review it repeats: it
    is not reported again."""

    finding: Finding
    known: str = ""


FindingCheck = Callable[[Finding], AnchoredFinding | str]
"""Returns the finding as it will be posted, or what is wrong with it and how to fix that."""

UNCORRECTED = (
    "You said you are done, but reports of yours were refused, and nothing of them is posted:\n{rows}\nReport them "
    "again as they should be, on line 0 if no line fits, or say why they are not needed. This is said once."
)


class ReportFinding:
    """Collects findings. Above `max_findings` the least severe are removed, the newest of them first."""

    spec = REPORT_FINDING

    def __init__(self, check: FindingCheck, max_findings: int) -> None:
        self._check = check
        self._max_findings = max_findings
        self._findings: list[Finding] = []
        self._refused: list[tuple[Finding, str]] = []
        self._dropped_count = 0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, most severe first, then in the order of the reports."""
        return tuple(self._findings)

    @property
    def left_out(self) -> tuple[str, ...]:
        """A sentence about removed findings, if any."""
        if not self._dropped_count:
            return ()
        return (f"{count_of(self._dropped_count, 'finding')} beyond the {self._max_findings} worst ones",)

    @property
    def refused(self) -> tuple[str, ...]:
        """A line for each report that was refused and not corrected."""
        return tuple(f"{finding.title} ({_position(finding)}): {reason}" for finding, reason in self._refused)

    def __call__(self, arguments: ToolArguments, cancel: CancelToken) -> ToolOutcome:
        proposal = finding_of(arguments)
        if not proposal.title or not proposal.body:
            return ToolOutcome("title and body: expected text, got only white space", is_error=True)
        anchored = self._check(proposal)
        # The last report of a finding counts: an earlier one was corrected by it.
        accepted = not isinstance(anchored, str)
        self._refused = [
            (one, reason)
            for one, reason in self._refused
            if one.title != proposal.title
            and not (accepted and (one.path, one.kind) == (proposal.path, proposal.kind))
        ]
        if isinstance(anchored, str):
            self._refused.append((proposal, anchored))
            return ToolOutcome(f"Not taken. {anchored}", is_error=True)
        finding = anchored.finding
        if anchored.known:
            words = anchored.known
        elif first := next((one for one in self._findings if same_fault(one, finding)), None):
            words = (
                f"Not taken: it is the finding “{first.title}”, {_position(first)}, of the same kind on the same "
                "lines. Another fault there is another kind, or stands on other lines."
            )
        elif not self._add(finding):
            words = (
                f"There are {self._max_findings} findings as grave as this one or graver: it was left out."
            )
        else:
            words = f"Noted, {_position(finding)}."
        metadata = {
            "path": finding.path,
            "line": finding.line,
            "severity": finding.severity.value,
            "kind": finding.kind.value,
            "title": finding.title,
            "fingerprint": finding.fingerprint,
            "code": finding.text[:_MAX_CODE],
        }
        return ToolOutcome(words, metadata=metadata)

    def _add(self, finding: Finding) -> bool:
        severities = list(Severity)
        self._findings.append(finding)
        self._findings.sort(key=lambda one: severities.index(one.severity))
        if len(self._findings) <= self._max_findings:
            return True
        self._dropped_count += 1
        return self._findings.pop() is not finding


def finding_of(arguments: ToolArguments) -> Finding:
    """Return the finding that the model reports, before it is anchored."""
    suggestion = arguments.get("suggestion")
    line, start = int(arguments["line"]), int(arguments.get("start_line", 0))
    return Finding(
        path=str(arguments["path"]).removeprefix("./"),
        line=line,
        severity=Severity(arguments["severity"]),
        title=" ".join(str(arguments["title"]).split()),
        body=str(arguments["body"]).strip(),
        start_line=0 if start == line else start,
        side=Side(arguments.get("side", Side.RIGHT)),
        suggestion=None if suggestion is None else str(suggestion),
        kind=Kind(arguments.get("kind", Kind.OTHER)),
    )


def _position(finding: Finding) -> str:
    if not finding.line:
        return f"{finding.path} as a whole"
    first = finding.start_line or finding.line
    lines = f"line {finding.line}" if first == finding.line else f"lines {first}-{finding.line}"
    return f"{finding.path} {lines}{' of the old file' if finding.side is Side.LEFT else ''}"
