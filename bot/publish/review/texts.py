"""The texts of a review: its body, the comment on each finding with its suggestion, and the one without a finding.

Every text of the model passes the gate. A suggestion that may not leave is withheld whole and never changed, since
people apply it as it is.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import quote

from bot.contracts.formatting import count_of
from bot.contracts.pulls import Finding, Review, Severity, Side
from bot.gate.path_rules import refusal
from bot.policy.protected_files import ProtectedFiles
from bot.policy.review_settings import ReviewPolicy
from bot.publish.body.render import LIMIT
from bot.publish.macros import macros_of
from bot.publish.markdown import safe_code, safe_line, safe_markdown, suggestion_refusal
from bot.publish.review.posted_reviews import FINDING
from bot.publish.thread.markers import mark, marked
from bot.review.diff import Diff
from bot.review.known_findings import KnownFinding

_SUMMARY_LIMIT = 1_500


class ShownDiff(NamedTuple):
    """The pull request's diff at `head_sha`, and the review policy of the base branch."""

    head_sha: str
    diff: Diff
    policy: ReviewPolicy
    protected: ProtectedFiles
    notes: tuple[str, ...]


class Report(NamedTuple):
    """The content of a review's body. `anchored` findings have comments on lines and are only counted; `unanchored`
    ones are in the body, each with the reason. `web` is the repository's address; `notes` say how it was posted."""

    review: Review
    at: ShownDiff
    anchored: tuple[Finding, ...]
    unanchored: tuple[tuple[Finding, str], ...]
    left_out: tuple[str, ...]
    footer: str
    web: str
    notes: tuple[str, ...]

    @property
    def wanted(self) -> str:
        """Which findings are posted, to follow the word; empty for all."""
        mildest = self.at.policy.min_severity
        return "" if mildest == "note" else f" of severity {mildest} or graver"

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (*self.anchored, *(finding for finding, _ in self.unanchored))


def comment_text(finding: Finding, protected: ProtectedFiles) -> str:
    """Return the comment on the finding's lines with its mark."""
    held = ""
    if finding.suggestion is not None:
        held = suggestion_refusal(finding.path, finding.text, finding.suggestion, protected)
    written = mark(FINDING, id=finding.fingerprint, fault=finding.kind.value)
    return marked(str(macros_of("review").comment(finding, held)), written)


def body_text(report: Report, room: int) -> str:
    """Return the review's body without its mark, which has `room` characters."""
    macros, review = macros_of("review"), report.review
    notes = map(safe_line, report.notes)
    parts = [macros.summary(report), safe_markdown(review.summary, _SUMMARY_LIMIT), *notes]
    tail = [macros.coverage(review), macros.left_out(report.left_out), report.footer]
    limit = LIMIT - room - sum(len(part) + 2 for part in (*parts, *tail))
    return _joined([*parts, *_in_body(report, limit), *tail])


def nothing_text(report: Report, still_open: Sequence[KnownFinding], earlier: int, pull_url: str) -> str:
    """Return the comment without a new finding. `earlier` counts those of earlier reviews; `still_open` still hold."""
    macros, notes = macros_of("review"), map(safe_line, report.notes)
    text = macros.nothing(report, still_open, earlier, pull_url)
    tail = (macros.coverage(report.review), macros.left_out(report.left_out), report.footer)
    return _joined([text, *notes, *tail])


def in_order(report: Report) -> list[tuple[Finding, str]]:
    """Return the findings for the body with their reasons, the most severe first."""
    rank = list(Severity).index
    return sorted(report.unanchored, key=lambda one: rank(one[0].severity))


def _in_body(report: Report, limit: int) -> list[str]:
    """Return the findings for the body, the most severe first, up to `limit` characters."""
    findings = in_order(report)
    parts = ["**Not on lines of the diff**"] if findings else []
    for number, (finding, reason) in enumerate(findings):
        text = str(macros_of("review").unplaced(finding, _where(report, finding), reason))
        limit -= len(text) + 2
        if limit < 200:
            left = count_of(len(findings) - number, "finding")
            return [*parts, f"And {left} more, in the run's artifact as `review.json`."]
        parts.append(text)
    return parts


def _where(report: Report, finding: Finding) -> str:
    first, last = finding.lines
    lines = "" if not last else f":{first}" + (f"-{last}" if first != last else "")
    name = safe_code(f"{finding.path}{lines}")
    if not report.web or not last or finding.side is Side.LEFT or refusal(finding.path):
        return name
    anchor = f"L{first}" + (f"-L{last}" if first != last else "")
    return f"[{name}]({report.web}/blob/{report.at.head_sha}/{quote(finding.path)}#{anchor})"


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part)
