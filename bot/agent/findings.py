"""`report_finding`: how a review's model hands over its remarks, one a call, judged at once so that it can mend them.

What a finding is held against (the diff, the work tree) is for `judge` to know: this room opens no file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bot.contracts.cancel import CancelToken
from bot.contracts.pulls import Side
from bot.contracts.review import Finding, Severity
from bot.contracts.tools import ToolOutcome, ToolSpec
from bot.contracts.wording import count_of

MAX_FINDINGS = 30
MAX_TITLE = 120
MAX_BODY = 4_000
MAX_SUGGESTION = 20_000
_MOST_CODE = 4_000

REPORT_FINDING = ToolSpec(
    name="report_finding",
    description=(
        "Report one problem of the change; it becomes a comment on its lines. Call it as soon as you are sure, once a "
        "problem. Lines are those of the diff, in numbers of the side: RIGHT is the new file, LEFT the old one, for "
        "removed lines only. A problem that no line of the diff shows takes line 0: the file as a whole."
    ),
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "The file, as the diff names it"},
            "line": {"type": "integer", "minimum": 0, "description": "The last line it is about"},
            "start_line": {
                "type": "integer",
                "minimum": 0,
                "description": "The first line, where it is about several of one hunk",
            },
            "side": {
                "type": "string",
                "enum": [side.value for side in Side],
                "description": "RIGHT if left out",
            },
            "severity": {
                "type": "string",
                "enum": [severity.value for severity in Severity],
                "description": (
                    "critical: must not be merged (data loss, a hole, an outage); major: goes wrong in use; minor: "
                    "of small reach; note: good to know"
                ),
            },
            "title": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_TITLE,
                "description": "The problem, one line",
            },
            "body": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_BODY,
                "description": "When it goes wrong and with what result, Markdown, a few sentences",
            },
            "suggestion": {
                "type": "string",
                "maxLength": MAX_SUGGESTION,
                "description": (
                    "What exactly the lines from start_line to line should become, whole lines with their indentation; "
                    "only on the RIGHT, and only if that fixes the problem"
                ),
            },
        },
        "required": ["path", "line", "severity", "title", "body"],
    },
)


class Judged(NamedTuple):
    """A finding where it stands, its text and fingerprint set; `remark` goes to the model with the answer."""

    finding: Finding
    remark: str = ""


Judge = Callable[[Finding, CancelToken], Judged | str]
"""The finding as it will be posted, or what is wrong with it and how to mend that."""


class ReportFinding:
    """Collects findings. Beyond `most` the mildest go, the newest of them first."""

    spec = REPORT_FINDING

    def __init__(self, judge: Judge, most: int = MAX_FINDINGS) -> None:
        self._judge = judge
        self._most = most
        self._kept: list[Finding] = []
        self._dropped = 0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was kept, worst first, else in the order in which it was reported."""
        return tuple(sorted(self._kept, key=lambda finding: _rank(finding.severity)))

    @property
    def left_out(self) -> tuple[str, ...]:
        """A sentence on what was dropped, where something was."""
        if not self._dropped:
            return ()
        return (f"{count_of(self._dropped, 'finding')} beyond the {self._most} worst ones",)

    def __call__(self, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        """The handler for the toolbox; the arguments fit the schema already."""
        made = _finding(arguments)
        if not made.title or not made.body:
            return ToolOutcome("title and body: expected text, got only white space", is_error=True)
        judged = self._judge(made, cancel)
        if isinstance(judged, str):
            return ToolOutcome(f"Not taken. {judged}", is_error=True)
        finding = judged.finding
        if any(_same(kept, finding) for kept in self._kept):
            return ToolOutcome("This was reported already, on the same lines.", metadata=_metadata(finding))
        if not self._keep(finding):
            words = f"There are {self._most} findings as grave as this one or graver: it was left out."
            return ToolOutcome(words, metadata=_metadata(finding))
        said = f"Noted, {_where(finding)}. {judged.remark}".rstrip()
        return ToolOutcome(said, metadata=_metadata(finding))

    def _keep(self, finding: Finding) -> bool:
        self._kept.append(finding)
        if len(self._kept) <= self._most:
            return True
        self._dropped += 1
        # Of equals `max` finds the first one, and the last one reported is to go.
        mildest = max(reversed(self._kept), key=lambda kept: _rank(kept.severity))
        self._kept.remove(mildest)
        return mildest is not finding


def _finding(arguments: Mapping[str, Any]) -> Finding:
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
    )


def _same(one: Finding, other: Finding) -> bool:
    """On the same lines in the same words: a fingerprint alone is that of all code of the same shape."""
    return all(
        getattr(one, field) == getattr(other, field)
        for field in ("fingerprint", "path", "side", "line", "start_line")
    )


def _rank(severity: Severity) -> int:
    return list(Severity).index(severity)


def _where(finding: Finding) -> str:
    if not finding.line:
        return f"{finding.path} as a whole"
    first = finding.start_line or finding.line
    lines = f"line {finding.line}" if first == finding.line else f"lines {first}-{finding.line}"
    return f"{finding.path} {lines}{' of the old file' if finding.side is Side.LEFT else ''}"


def _metadata(finding: Finding) -> Mapping[str, Any]:
    return {
        "path": finding.path,
        "line": finding.line,
        "severity": finding.severity.value,
        "title": finding.title,
        "fingerprint": finding.fingerprint,
        "code": finding.text[:_MOST_CODE],
    }
