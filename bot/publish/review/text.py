"""Render the text of a review: the comments on lines, its body, and the comment on a review without findings.

Pure. Every text of the model passes the gate. A suggestion that may not leave is withheld whole and never changed,
since people apply it as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import quote

from bot.contracts.formatting import count_of
from bot.contracts.pulls import Side
from bot.contracts.review import Finding, Review, Severity
from bot.gate.path_rules import refusal
from bot.policy.protected import ProtectedFiles
from bot.publish.body.render import LIMIT, Links, small_line
from bot.publish.markdown import safe_code, safe_line, safe_markdown, suggestion_refusal
from bot.publish.review.posted_reviews import FINDING
from bot.publish.thread.markers import mark, marked
from bot.review.diff_text import path_of
from bot.review.fingerprints import KnownFinding
from bot.review.suggestions import block

_BODY_LIMIT = 4_000
_SUMMARY_LIMIT = 1_500
_LEFT_OUT_SHOWN = 10
_OPEN_SHOWN = 20
_NAMES_SHOWN = 100


class Report(NamedTuple):
    """The content of a review's body. `anchored` findings have comments on lines and are only counted; `unanchored`
    ones are in the body, each with the reason. `head_sha` is the commit of the lines. `web` is the repository's
    address, empty if there is none; `figures` are the figures of the run in one line; `notes` are sentences on how the
    review was posted; `mildest` is the mildest severity that is posted."""

    review: Review
    head_sha: str
    anchored: tuple[Finding, ...]
    unanchored: tuple[tuple[Finding, str], ...]
    left_out: tuple[str, ...]
    figures: str
    links: Links
    protected: ProtectedFiles
    web: str = ""
    notes: tuple[str, ...] = ()
    mildest: Severity = Severity.NOTE

    @property
    def wanted(self) -> str:
        """Which findings are posted, to follow the word; empty for all."""
        return "" if self.mildest is Severity.NOTE else f" of severity {self.mildest} or graver"

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (*self.anchored, *(finding for finding, _ in self.unanchored))


def comment_text(finding: Finding, protected: ProtectedFiles) -> str:
    """Return the comment on the finding's lines with its mark."""
    parts = [_headline(finding), safe_markdown(finding.body, _BODY_LIMIT)]
    if finding.suggestion is not None:
        held = suggestion_refusal(finding.path, finding.text, finding.suggestion, protected)
        parts.append(f"<sub>A suggestion was held back: {held}.</sub>" if held else block(finding.suggestion))
        if finding.tried and not held:
            parts.append(f"<sub>Tried: {', '.join(finding.tried)}.</sub>")
    written = mark(FINDING, id=finding.fingerprint, fault=finding.kind.value)
    return marked("\n\n".join(part for part in parts if part), written)


def body_text(report: Report, room: int) -> str:
    """Return the review's body without its mark, which has `room` characters."""
    review = report.review
    headline = f"**No findings{report.wanted} in what was looked at.**"
    if report.findings:
        headline = f"**{count_of(len(report.findings), 'finding')}:** {counts(report.findings)}"
    elif review.refused:
        reports = count_of(len(review.refused), "report")
        headline = f"**No finding could be placed:** {reports} of the model fit nowhere."
    parts = [headline, safe_markdown(review.summary, _SUMMARY_LIMIT), *map(safe_line, report.notes)]
    tail = [_coverage(review), _left_out(report.left_out), _footer(report)]
    limit = LIMIT - room - sum(len(part) + 2 for part in (*parts, *tail))
    parts += _in_body(report, limit) + tail
    return "\n\n".join(part for part in parts if part)


def _coverage(review: Review) -> str:
    """Return what was looked at and what waits for the next review, empty if that is all of the diff."""
    parts = []
    if review.unseen:
        parts.append(
            f"**Not looked at yet:** {count_of(len({*map(path_of, review.unseen)}), 'file')}. The next review begins "
            f"with {'it' if len(review.unseen) == 1 else 'them'}: {_names(review.unseen)}"
        )
    if review.looked_at and (review.unseen or review.since_sha):
        parts.append(f"Looked at: {_names(review.looked_at)}")
    return "\n\n".join(parts)


def _names(names: Sequence[str]) -> str:
    listed = ", ".join(map(safe_code, names[:_NAMES_SHOWN]))
    more = len(names) - _NAMES_SHOWN
    return f"{listed}{f' and {more} more' if more > 0 else ''}."


def nothing_text(report: Report, still_open: Sequence[KnownFinding], earlier: int, pull_url: str) -> str:
    """Return the comment without a new finding. `earlier` counts those of earlier reviews; `still_open` still hold."""
    scope = " in what was looked at" if report.review.not_looked_at else ""
    text = f"**No {'new ' if earlier else ''}findings{report.wanted}{scope}.**"
    links = []
    for one in still_open:
        fragment = f"discussion_r{one.comment}" if one.comment else f"pullrequestreview-{one.review}"
        links.append(f"[{safe_line(one.title, 200) or 'a finding'}]({pull_url}#{fragment})")
    if len(still_open) == 1:
        text += f" 1 {still_open[0].severity} finding is still open: {links[0]}"
    elif still_open:
        of_each = _counts_of([one.severity for one in still_open])
        rows = [f"- {link} ({one.severity})" for link, one in zip(links, still_open, strict=True)]
        more = [f"- and {len(rows) - _OPEN_SHOWN} more"] if len(rows) > _OPEN_SHOWN else []
        text += f" {count_of(still_open, 'finding')} are still open ({of_each}):\n\n"
        text += "\n".join([*rows[:_OPEN_SHOWN], *more])
    elif earlier:
        text += " No earlier finding is open."
    notes = [safe_line(note) for note in report.notes]
    parts = [text, *notes, _coverage(report.review), _left_out(report.left_out), _footer(report)]
    return "\n\n".join(part for part in parts if part)


def counts(findings: Iterable[Finding]) -> str:
    """Return a text such as `1 critical, 2 minor`."""
    return _counts_of([finding.severity.value for finding in findings])


def _counts_of(severities: Sequence[str]) -> str:
    numbers = ((severities.count(severity), severity) for severity in Severity)
    return ", ".join(f"{number} {severity}" for number, severity in numbers if number)


def _headline(finding: Finding) -> str:
    return f"**{finding.severity.value.capitalize()}: {safe_line(finding.title, 200)}**"


def in_order(report: Report) -> list[tuple[Finding, str]]:
    """Return the findings for the body with their reasons, the most severe first."""
    rank = list(Severity).index
    return sorted(report.unanchored, key=lambda one: rank(one[0].severity))


def _in_body(report: Report, limit: int) -> list[str]:
    """Return the findings for the body, the most severe first, up to `limit` characters."""
    if not report.unanchored:
        return []
    parts = ["**Not on lines of the diff**"]
    findings = in_order(report)
    for number, (finding, reason) in enumerate(findings):
        text = f"{_headline(finding)} {_where(report, finding)}\n\n{safe_markdown(finding.body, _BODY_LIMIT)}"
        text += f"\n\n<sub>Here since {safe_line(reason)}.</sub>"
        limit -= len(text) + 2
        if limit < 200:
            parts.append(
                f"And {count_of(len(findings) - number, 'finding')} more, in the run's artifact as `review.json`."
            )
            break
        parts.append(text)
    return parts


def _where(report: Report, finding: Finding) -> str:
    first, last = finding.lines
    lines = "" if not last else f":{first}" + (f"-{last}" if first != last else "")
    name = safe_code(f"{finding.path}{lines}")
    if not report.web or not last or finding.side is Side.LEFT or refusal(finding.path):
        return name
    anchor = f"L{first}" + (f"-L{last}" if first != last else "")
    return f"[{name}]({report.web}/blob/{report.head_sha}/{quote(finding.path)}#{anchor})"


def _left_out(left_out: Sequence[str]) -> str:
    if not left_out:
        return ""
    rows = [f"- {safe_line(one)}" for one in left_out[:_LEFT_OUT_SHOWN]]
    if (more := len(left_out) - _LEFT_OUT_SHOWN) > 0:
        rows.append(f"- and {more} more")
    return "\n".join(["Left out:", "", *rows])


def _footer(report: Report) -> str:
    review = report.review
    seen = f"commit {review.head_sha[:12]}"
    if review.since_sha:
        seen += f", only what changed since {review.since_sha[:12]}"
    return small_line(f"{seen} · {report.figures}", report.links)
