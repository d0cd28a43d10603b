"""The scope of a review in a run: the diff, its new part, and the workspace where suggestions are tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bot.agent.findings import AnchoredFinding, ReportFinding
from bot.checkout import remote
from bot.checkout.clone import Checkout, Source
from bot.checkout.errors import CheckoutError
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.formatting import count_of
from bot.contracts.pulls import Side
from bot.contracts.review import Finding, Review
from bot.contracts.tools import ToolOutcome
from bot.review.anchors import advice, anchor
from bot.review.diff import Diff
from bot.review.diff_text import DiffText, changed_since, diff_text
from bot.review.fingerprints import fingerprint
from bot.review.read_diff import read_diff
from bot.review.suggestions import with_valid_suggestion

Try = Callable[[str, Mapping[str, Any], CancelToken], ToolOutcome]
"""`try_it(question, arguments, cancel)`: the tool host's answer to a question of ours."""


@dataclass(frozen=True, slots=True)
class ReviewRange:
    """The diff under review: from `base_sha` to the head, or only what changed since `since_sha`; `left_out` says what
    is missing."""

    base_sha: str
    head_sha: str
    diff: Diff
    since_sha: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """One line on what is reviewed."""
        since = f", only what is new since {self.since_sha[:12]}" if self.since_sha else ""
        return f"reviewing {count_of(self.diff.files, 'file')}{since}"


def pull_range(checkout: Checkout, source: Source, since_sha: str = "") -> ReviewRange:
    """The range of the checked-out pull request; incremental from `since_sha` if that commit still exists."""
    head, base = checkout.base_sha, checkout.merge_base or checkout.policy_sha
    whole = ReviewRange(base, head, read_diff(checkout.git, base, head))
    if not since_sha or since_sha == base:
        return whole
    try:
        remote.fetch(checkout.git.git_dir, source.url, [since_sha], source.token, ["--depth=1", "--no-tags"])
    except CheckoutError:
        note = f"nothing: the commit that was reviewed last, {since_sha[:12]}, is gone, so the whole diff was looked at"
        return replace(whole, left_out=(note,))
    since = read_diff(checkout.git, since_sha, head)
    new = changed_since(whole.diff, since)
    return replace(whole, diff=new, since_sha=since_sha)


class Reviewing:
    """The review of one run. `tool` is for the model; `review` returns the result."""

    def __init__(self, range: ReviewRange, most: int, try_it: Try) -> None:
        self.range = range
        self.tool = ReportFinding(self._judge, most)
        self._try = try_it
        self._diff_shown: DiffText | None = None

    @property
    def diff_shown(self) -> DiffText:
        """The diff as the model sees it."""
        if self._diff_shown is None:
            self._diff_shown = diff_text(self.range.diff)
        return self._diff_shown

    @property
    def nothing_new(self) -> bool:
        """Whether the range is empty, so that no model is needed."""
        return not self.range.diff.files

    def review(self, summary: str) -> Review:
        range = self.range
        left_out = (*range.left_out, *self.diff_shown.left_out, *self.tool.left_out)
        return Review(
            range.base_sha, range.head_sha, summary.strip(), self.tool.findings, range.since_sha, left_out
        )

    def facts(self) -> tuple[str, ...]:
        """Sentences for the model on what to review."""
        range = self.range
        what = f"under review: what {range.head_sha[:12]} changes of {range.base_sha[:12]}, in the work tree as a whole"
        if range.since_sha:
            what += f"; of it only what is new since {range.since_sha[:12]}, which was reviewed before"
        return (what,)

    def _judge(self, finding: Finding, cancel: CancelToken) -> AnchoredFinding | str:
        """The anchored finding with its suggestion tried, or how to correct it. See
        `bot.agent.findings.FindingCheck`."""
        file = self.range.diff.find(finding.path)
        if finding.line == 0 and file is not None:
            return AnchoredFinding(_printed(replace(finding, path=file.path, start_line=0, suggestion=None)))
        anchored = anchor(finding, self.range.diff)
        if isinstance(anchored, str):
            reason = f"{anchored[0].upper()}{anchored[1:]}"
            return f"{reason}. {advice(self.range.diff, finding.path, finding.line, finding.side)}"
        if anchored.suggestion is None:
            return AnchoredFinding(_printed(anchored))
        if anchored.side is Side.LEFT:
            return "Removed lines take no suggestion: anchor the finding to the lines on the RIGHT that are to change."
        anchored = with_valid_suggestion(anchored)
        if anchored.suggestion is None:
            return "The suggestion is what the lines say already: fix it, or leave it out."
        arguments = {
            "path": anchored.path,
            "first": anchored.start_line or anchored.line,
            "last": anchored.line,
            "text": anchored.text,
            "suggestion": anchored.suggestion,
        }
        outcome = self._try("try_suggestion", arguments, cancel)
        if outcome.is_error:
            return f"{outcome.content} Fix the suggestion, or leave it out."
        return AnchoredFinding(_printed(anchored), f"The suggestion: {outcome.content}")


def recorded_reviewing(checkout: Checkout, most: int) -> Reviewing | None:
    """For the findings of a run that died, whose suggestions were tried; `None` without its diff."""
    if not checkout.merge_base:
        return None
    review_range = pull_range(checkout, Source("", ""))
    return Reviewing(
        review_range, most, lambda question, arguments, cancel: ToolOutcome("It was tried before.")
    )


def local_range(base_sha: str, head_sha: str, base: str, diff: Diff) -> ReviewRange:
    """The range of what HEAD changes since it left `base`. Raises `UsageError` if that is nothing."""
    if not diff.files:
        raise UsageError(f"HEAD changes nothing since it left {base}: there is nothing to review.")
    return ReviewRange(base_sha, head_sha, diff)


def _printed(finding: Finding) -> Finding:
    return replace(finding, fingerprint=fingerprint(finding))
