"""What people read of a review: the comment on lines, the review's body, and the words where there is nothing to say.

Pure. Every text of the model goes through the gate; a suggestion is held back whole where it may not leave, and is
never rewritten, since it is applied as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from bot.contracts.pulls import Annotation, Side
from bot.contracts.review import Finding, Review, Severity
from bot.contracts.wording import count_of
from bot.findings.fingerprints import place_of
from bot.findings.suggestions import block
from bot.gate.rules import refusal
from bot.policy.protected import ProtectedFiles
from bot.publish.body.footer import Links, small_line
from bot.publish.body.render import LIMIT
from bot.publish.review.past import FINDING, OnLines
from bot.publish.text.shown import shown_code, shown_line, shown_markdown, shown_plain
from bot.publish.text.suggestion import held_back
from bot.publish.thread.markers import mark, marked

_BODY_LIMIT = 4_000
_SUMMARY_LIMIT = 1_500
_LEFT_OUT_SHOWN = 10
_OPEN_SHOWN = 20
_MARK_ROOM = 4_000
_LEVELS = {
    Severity.CRITICAL: "failure",
    Severity.MAJOR: "failure",
    Severity.MINOR: "warning",
    Severity.NOTE: "notice",
}


@dataclass(frozen=True, slots=True)
class Report:
    """What a review's body is made of. `anchored` stand on lines of their own and are only counted; `unanchored` are
    told in the body, each with the reason. `head_sha` is the commit that the lines are of. `web` is the repository's
    address, empty where there is none; `figures` is the run in one line; `notes` are sentences on how the review was
    posted."""

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

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (*self.anchored, *(finding for finding, _ in self.unanchored))


def comment_text(finding: Finding, protected: ProtectedFiles) -> str:
    """The comment on the finding's lines, its mark included."""
    parts = [_headline(finding), shown_markdown(finding.body, _BODY_LIMIT)]
    if finding.suggestion is not None:
        held = held_back(finding.path, finding.text, finding.suggestion, protected)
        parts.append(f"<sub>A suggestion was held back: {held}.</sub>" if held else block(finding.suggestion))
    written = mark(FINDING, id=finding.fingerprint, place=place_of(finding))
    return marked("\n\n".join(part for part in parts if part), written)


def body_text(report: Report) -> str:
    """The review's body, without its mark."""
    parts = [f"**{count_of(len(report.findings), 'finding')}:** {counts(report.findings)}"]
    parts += [
        shown_markdown(report.review.summary, _SUMMARY_LIMIT),
        *map(shown_line, report.notes),
    ]
    tail = [_left_out(report.left_out), _footer(report)]
    room = LIMIT - _MARK_ROOM - sum(len(part) + 2 for part in (*parts, *tail))
    parts += _told(report, room) + tail
    return "\n\n".join(part for part in parts if part)


def nothing_text(report: Report, still_open: Sequence[OnLines], earlier: int, pull_url: str) -> str:
    """What is told to whoever asked if there is no finding that was not made before. `earlier` is how many findings
    earlier reviews made on lines of the pull request at `pull_url`, `still_open` are those that nobody resolved."""
    text = "**No new findings.**" if earlier else "**No findings.**"
    links = [
        f"[{shown_line(one.title, 200) or 'a finding'}]({pull_url}#discussion_r{one.id})"
        for one in still_open
    ]
    if len(still_open) == 1:
        text += f" 1 {still_open[0].severity} finding is still open: {links[0]}"
    elif still_open:
        of_each = counts_of([one.severity for one in still_open])
        rows = [f"- {link} ({one.severity})" for link, one in zip(links, still_open, strict=True)]
        more = [f"- and {len(rows) - _OPEN_SHOWN} more"] if len(rows) > _OPEN_SHOWN else []
        text += f" {count_of(still_open, 'finding')} are still open ({of_each}):\n\n"
        text += "\n".join([*rows[:_OPEN_SHOWN], *more])
    elif earlier:
        text += " All earlier findings are resolved."
    notes = [shown_line(note) for note in report.notes]
    parts = [text, *notes, _left_out(report.left_out), _footer(report)]
    return "\n\n".join(part for part in parts if part)


def counts(findings: Iterable[Finding]) -> str:
    """`1 critical, 2 minor`."""
    return counts_of([finding.severity.value for finding in findings])


def counts_of(severities: Sequence[str]) -> str:
    numbers = ((severities.count(severity), severity) for severity in Severity)
    return ", ".join(f"{number} {severity}" for number, severity in numbers if number)


def annotation(finding: Finding) -> Annotation:
    """The finding for a check run, where it is plain text."""
    title, body = shown_plain(finding.title, 200), shown_plain(finding.body, _BODY_LIMIT)
    return Annotation(finding.path, max(finding.line, 1), _LEVELS[finding.severity], f"{title}\n\n{body}")


def _headline(finding: Finding) -> str:
    return f"**{finding.severity.value.capitalize()}: {shown_line(finding.title, 200)}**"


def _told(report: Report, room: int) -> list[str]:
    """The findings that stand in the body, the worst first, as many as there is room for."""
    if not report.unanchored:
        return []
    rank = list(Severity).index
    parts = ["**Not on lines of the diff**"]
    told = sorted(report.unanchored, key=lambda one: rank(one[0].severity))
    for number, (finding, reason) in enumerate(told):
        text = (
            f"{_headline(finding)} {_where(report, finding)}\n\n{shown_markdown(finding.body, _BODY_LIMIT)}"
        )
        text += f"\n\n<sub>Here since {shown_line(reason)}.</sub>"
        room -= len(text) + 2
        if room < 200:
            parts.append(
                f"And {count_of(len(told) - number, 'finding')} more, in the run's artifact as `review.json`."
            )
            break
        parts.append(text)
    return parts


def _where(report: Report, finding: Finding) -> str:
    first = finding.start_line or finding.line
    lines = "" if not finding.line else f":{first}" + (f"-{finding.line}" if first != finding.line else "")
    name = shown_code(f"{finding.path}{lines}")
    if not report.web or not finding.line or finding.side is Side.LEFT or refusal(finding.path):
        return name
    anchor = f"L{first}" + (f"-L{finding.line}" if first != finding.line else "")
    return f"[{name}]({report.web}/blob/{report.head_sha}/{quote(finding.path)}#{anchor})"


def _left_out(left_out: Sequence[str]) -> str:
    if not left_out:
        return ""
    rows = [f"- {shown_line(one)}" for one in left_out[:_LEFT_OUT_SHOWN]]
    if (more := len(left_out) - _LEFT_OUT_SHOWN) > 0:
        rows.append(f"- and {more} more")
    return "\n".join(["Left out:", "", *rows])


def _footer(report: Report) -> str:
    review = report.review
    seen = f"commit {review.head_sha[:12]}"
    if review.since_sha:
        seen += f", only what changed since {review.since_sha[:12]}"
    return small_line(f"{seen} · {report.figures}", report.links)
