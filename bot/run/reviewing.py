"""What a review is held against in a run: the diff, what of it is new, and the workshop where suggestions are tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bot.agent.findings import Judged, ReportFinding
from bot.checkout import remote
from bot.checkout.clone import Checkout, Source
from bot.checkout.compare import diff_between
from bot.checkout.errors import CheckoutError
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.pulls import Side
from bot.contracts.review import Finding, Review
from bot.contracts.tools import ToolOutcome
from bot.contracts.wording import count_of
from bot.findings.anchors import advice, anchor
from bot.findings.fingerprints import fingerprint
from bot.findings.focus import changed_since
from bot.findings.hunks import Diff
from bot.findings.parse import parse_diff
from bot.findings.shown import Shown, show
from bot.findings.suggestions import settled

Try = Callable[[str, Mapping[str, Any], CancelToken], ToolOutcome]
"""`try_it(question, arguments, cancel)`: the tool host's answer to a question of ours."""


@dataclass(frozen=True, slots=True)
class Range:
    """What a review looks at. `diff` is from `base_sha` to the head, or of that only what changed since `since_sha`;
    `left_out` says what of it is not looked at."""

    base_sha: str
    head_sha: str
    diff: Diff
    since_sha: str = ""
    left_out: tuple[str, ...] = ()


def pull_range(checkout: Checkout, source: Source, since_sha: str = "") -> Range:
    """Of the pull request that is checked out; incremental from `since_sha`, where that is still to be had."""
    head, base = checkout.base_sha, checkout.merge_base or checkout.policy_sha
    whole = Range(base, head, parse_diff(diff_between(checkout.git, base, head)))
    if not since_sha or since_sha == base:
        return whole
    try:
        remote.fetch(checkout.git.git_dir, source.url, [since_sha], source.token, ["--depth=1", "--no-tags"])
    except CheckoutError:
        gone = f"nothing: the commit that was reviewed last, {since_sha[:12]}, is gone, so the whole diff was looked at"
        return replace(whole, left_out=(gone,))
    since = parse_diff(diff_between(checkout.git, since_sha, head))
    new = changed_since(whole.diff, since)
    return replace(whole, diff=new, since_sha=since_sha)


class Reviewing:
    """One run's review. `tool` is given to the model; `review` is what came of it."""

    def __init__(self, range: Range, most: int, try_it: Try) -> None:
        self.range = range
        self.tool = ReportFinding(self._judge, most)
        self._try = try_it
        self._shown: Shown | None = None

    @property
    def shown(self) -> Shown:
        """The diff as the model gets to see it."""
        if self._shown is None:
            self._shown = show(self.range.diff)
        return self._shown

    @property
    def nothing_new(self) -> bool:
        """Whether there is nothing to look at, so that no model need be asked."""
        return not self.range.diff.files

    def review(self, summary: str) -> Review:
        found = self.range
        left_out = (*found.left_out, *self.shown.left_out, *self.tool.left_out)
        return Review(
            found.base_sha, found.head_sha, summary.strip(), self.tool.findings, found.since_sha, left_out
        )

    def facts(self) -> tuple[str, ...]:
        """Sentences for the model on what it is to look at."""
        found = self.range
        what = f"under review: what {found.head_sha[:12]} changes of {found.base_sha[:12]}, in the work tree as a whole"
        if found.since_sha:
            what += f"; of it only what is new since {found.since_sha[:12]}, which was reviewed before"
        return (what,)

    def _judge(self, finding: Finding, cancel: CancelToken) -> Judged | str:
        """Where it stands and with the suggestion tried, or how to mend it. See `bot.agent.findings.Judge`."""
        file = self.range.diff.find(finding.path)
        if finding.line == 0 and file is not None:
            return Judged(_printed(replace(finding, path=file.path, start_line=0, suggestion=None)))
        found = anchor(finding, self.range.diff)
        if isinstance(found, str):
            reason = f"{found[0].upper()}{found[1:]}"
            return f"{reason}. {advice(self.range.diff, finding.path, finding.line, finding.side)}"
        if found.suggestion is None:
            return Judged(_printed(found))
        if found.side is Side.LEFT:
            return "Removed lines take no suggestion: anchor the finding to the lines on the RIGHT that are to change."
        found = settled(found)
        if found.suggestion is None:
            return "The suggestion is what the lines say already: fix it, or leave it out."
        arguments = {
            "path": found.path,
            "first": found.start_line or found.line,
            "last": found.line,
            "text": found.text,
            "suggestion": found.suggestion,
        }
        tried = self._try("try_suggestion", arguments, cancel)
        if tried.is_error:
            return f"{tried.content} Fix the suggestion, or leave it out."
        return Judged(_printed(found), f"The suggestion: {tried.content}")


def recorded_reviewing(checkout: Checkout, most: int) -> Reviewing | None:
    """To hear the findings of a run that died again, each tried already; `None` where its diff cannot be had."""
    if not checkout.merge_base:
        return None
    found = pull_range(checkout, Source("", ""))
    return Reviewing(found, most, lambda question, arguments, cancel: ToolOutcome("It was tried before."))


def local_range(base_sha: str, head_sha: str, base: str, diff: bytes) -> Range:
    """Of what HEAD changes since it left `base`. Raises `UsageError` where that is nothing."""
    parsed = parse_diff(diff)
    if not parsed.files:
        raise UsageError(f"HEAD changes nothing since it left {base}: there is nothing to review.")
    return Range(base_sha, head_sha, parsed)


def said(range: Range) -> str:
    """What is looked at, in a line for whoever waits."""
    since = f", only what is new since {range.since_sha[:12]}" if range.since_sha else ""
    return f"reviewing {count_of(len(range.diff.files), 'file')}{since}"


def _printed(finding: Finding) -> Finding:
    return replace(finding, fingerprint=fingerprint(finding))
