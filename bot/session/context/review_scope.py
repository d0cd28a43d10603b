"""The scope of a review in a run: which parts of the diff the model is shown, and what becomes of its findings."""

from collections.abc import Collection, Sequence
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

from bot.agent.findings import UNCORRECTED, AnchoredFinding, ReportFinding
from bot.agent.first_message import fenced_data
from bot.agent.limits import LimitShare
from bot.checkout import remote
from bot.checkout.clone import Checkout, Source
from bot.checkout.git import CheckoutError, GitError
from bot.checkout.objects import diff_between
from bot.contracts.formatting import count_of
from bot.contracts.pulls import Finding, PullRequest, Review, Side
from bot.ecosystems.test_files import Role, role_of
from bot.gate.flagged_files import sensitive
from bot.gate.suspicious_additions import PROSE
from bot.review.anchors import advice, anchor
from bot.review.diff import Diff, DiffError, parse_diff
from bot.review.diff_text import Piece, key_of, next_part, part_text, pieces_of, unreadable
from bot.review.known_findings import NO_MEMORY, KnownFinding, ReviewMemory, fingerprint, matched
from bot.review.suggestions import with_valid_suggestion

MOST_PARTS = 3
"""Parts of a long diff that one run looks at, each in a message of its own."""

_MOST_SHARE = 0.75
_MOST_KNOWN = 60

# Characters, about 20,000 tokens: unlike in a review, the diff is the background of the run and not its subject.
_MAX_DIFF = 80_000
_MAX_FILE_DIFF = 16_000

NEXT_PART = (
    "Part {number} of the diff follows. Review it as the one before. Your last answer after it is the summary of all "
    "parts.\n\n{text}"
)


class ReviewRange(NamedTuple):
    """The diff under review, from `base_sha` to the head. After an earlier review only some of it is looked at: `since`
    is the diff from `since_sha`, the head of that review. `left_out` says what is missing."""

    base_sha: str
    head_sha: str
    diff: Diff
    since_sha: str = ""
    since: Diff | None = None
    left_out: tuple[str, ...] = ()


def pull_range(checkout: Checkout, source: Source, since_sha: str = "") -> ReviewRange:
    """The range of the checked-out pull request; incremental from `since_sha` if that commit still exists."""
    head, base = checkout.base_sha, checkout.merge_base or checkout.policy_sha
    whole = ReviewRange(base, head, parse_diff(diff_between(checkout.git, base, head)))
    if not since_sha or since_sha == base:
        return whole
    try:
        remote.fetch(checkout.git.git_dir, source.url, [since_sha], source.token, ["--depth=1", "--no-tags"])
    except CheckoutError:
        note = f"nothing: the commit that was reviewed last, {since_sha[:12]}, is gone, so the whole diff was looked at"
        return whole._replace(left_out=(note,))
    return whole._replace(since=parse_diff(diff_between(checkout.git, since_sha, head)), since_sha=since_sha)


def pull_diff(checkout: Checkout) -> str:
    """The diff of a pull request for the model of a run that does not review it; a sentence if it is unknown."""
    if not checkout.merge_base:
        return (
            "(There is no diff: where the pull request began could not be found. Its files are in the tree.)"
        )
    try:
        diff = parse_diff(diff_between(checkout.git, checkout.merge_base, checkout.base_sha))
    except (GitError, DiffError) as error:
        return f"(There is no diff: {error})"
    if not diff.files:
        return "(The pull request changes no file.)"
    # Small files first, so that one lock file does not displace the rest.
    pieces = sorted(pieces_of(diff, most=_MAX_FILE_DIFF), key=lambda piece: (piece.number, len(piece.text)))
    return part_text(*next_part(pieces, _MAX_DIFF), new=False)


class PullTarget(NamedTuple):
    """The pull request that a local review is posted on, and what earlier reviews of it came to."""

    repository: str
    clone_url: str
    pull: PullRequest
    memory: ReviewMemory


class Risk(IntEnum):
    """What is looked at first."""

    RUNS = 0
    CODE = 1
    TESTS = 2
    TEXT = 3
    LOCK_FILE = 4


def risk_of(path: str) -> Risk:
    """How much a change of this file may harm: one that is run on install or in CI first, a lock file last."""
    kind = sensitive(path)
    if kind == "lock file":
        return Risk.LOCK_FILE
    if kind in ("CI", "dependency manifest"):
        return Risk.RUNS
    if role := role_of(path):
        return Risk.TEXT if role is Role.DATA else Risk.TESTS
    return Risk.TEXT if path.rpartition(".")[2].lower() in PROSE else Risk.CODE


def in_order(pieces: Sequence[Piece], left: Collection[str]) -> list[Piece]:
    """What the last review left first, then the riskiest, of these the largest. Of a lock file only the beginning."""

    def rank(piece: Piece) -> tuple[bool, Risk, int]:
        return key_of(piece.name) not in left, risk_of(piece.file.path), -len(piece.text)

    reviewed = (one for one in pieces if one.number == 1 or risk_of(one.file.path) is not Risk.LOCK_FILE)
    return sorted(reviewed, key=rank)


class Reviewing:
    """The review of one run. `tool` is for the model; `review` returns the result."""

    def __init__(self, range: ReviewRange, most: int, memory: ReviewMemory = NO_MEMORY) -> None:
        self.range = range
        self.tool = ReportFinding(self._judge, most)
        self.memory = memory
        self._repeated: dict[KnownFinding, tuple[int, int]] = {}
        pieces = pieces_of(range.diff, range.since, memory.left)
        self._rest = in_order(pieces, memory.left)
        self._shown: list[Piece] = []
        self._parts = 0

    @cached_property
    def first_part(self) -> str:
        """The diff as the model sees it first."""
        return self._take_part()

    def next_part(self, shares: Sequence[LimitShare], marker: str) -> str:
        """The message with the next part of a long diff; empty if there is none, or no room for it in the limits."""
        used = max((share.used for share in shares), default=0.0)
        if (
            not self._rest
            or self._parts >= MOST_PARTS
            or used * (self._parts + 1) / self._parts > _MOST_SHARE
        ):
            return ""
        text = self._take_part()
        fenced = fenced_data("Diff", "More of what the pull request changes. Data.", text, marker)
        return NEXT_PART.format(number=self._parts, text=fenced)

    def _take_part(self) -> str:
        part, self._rest = next_part(self._rest)
        self._shown += part
        self._parts += 1
        return part_text(part, self._rest, new=self.range.since is not None)

    @property
    def nothing_new(self) -> bool:
        """Whether nothing is to be looked at, so that no model is needed."""
        return not self._shown and not self._rest

    @property
    def note(self) -> str:
        """One line on what is reviewed."""
        since = f", only what is new since {self.range.since_sha[:12]}" if self.range.since_sha else ""
        left = " or was left then" if since and self.memory.left else ""
        files = {piece.file.path for piece in (*self._shown, *self._rest)}
        return f"reviewing {count_of(len(files), 'file')}{since}{left}"

    def review(self, summary: str) -> Review:
        range = self.range
        return Review(
            range.base_sha,
            range.head_sha,
            summary.strip(),
            self.tool.findings,
            range.since_sha,
            (*range.left_out, *unreadable(self._shown), *self.tool.left_out),
            tuple(piece.name for piece in self._shown),
            tuple(piece.name for piece in self._rest),
            self.tool.refused,
            tuple(known.fingerprint for known in self._repeated),
        )

    def facts(self) -> tuple[str, ...]:
        """Sentences for the model on what to review."""
        range = self.range
        what = f"under review: what {range.head_sha[:12]} changes of {range.base_sha[:12]}, in the work tree as a whole"
        if range.since_sha:
            what += f"; of it only what is new since {range.since_sha[:12]}, which was reviewed before"
            what += ", and what that review left" if self.memory.left else ""
        _ = self.first_part
        if not self._rest:
            return (what,)
        parts = (
            "the diff is long and comes in parts, the riskiest files first: the next one follows when you end your "
            "turn, as far as the limits allow"
        )
        return what, parts

    def known(self) -> str:
        """The findings of earlier reviews, a line each; empty if there are none."""
        findings = self.memory.findings
        rows = [
            f"- {one.position}, {one.severity}, {one.kind}: {one.title} ({one.state.value})"
            for one in findings
        ]
        more = [f"- and {len(rows) - _MOST_KNOWN} more"] if len(rows) > _MOST_KNOWN else []
        return "\n".join([*rows[:_MOST_KNOWN], *more])

    def missing(self) -> str:
        """What the model left undone that says it is done; empty for nothing."""
        rows = self.tool.refused
        return UNCORRECTED.format(rows="\n".join(f"- {row}" for row in rows)) if rows else ""

    def _judge(self, finding: Finding) -> AnchoredFinding | str:
        """The anchored finding, or how to correct it. See `bot.agent.findings.FindingCheck`."""
        file = self.range.diff.find(finding.path)
        if finding.line == 0 and file is not None:
            return self._known_or(finding._replace(path=file.path, start_line=0, suggestion=None))
        anchored = anchor(finding, self.range.diff)
        if isinstance(anchored, str):
            reason = f"{anchored[0].upper()}{anchored[1:]}"
            return f"{reason}. {advice(self.range.diff, finding.path, finding.line, finding.side)}"
        judged_finding = self._known_or(anchored)
        if anchored.suggestion is None or judged_finding.known:
            return judged_finding
        if anchored.side is Side.LEFT:
            return "Removed lines take no suggestion: anchor the finding to the lines on the RIGHT that are to change."
        anchored = with_valid_suggestion(judged_finding.finding)
        if anchored.suggestion is None:
            return "The suggestion is what the lines say already: fix it, or leave it out."
        return AnchoredFinding(anchored)

    def _known_or(self, finding: Finding) -> AnchoredFinding:
        """`finding` with its fingerprint, and the sentence on the finding of an earlier review that it repeats."""
        finding = finding._replace(fingerprint=fingerprint(finding))
        free = [
            one for one in self.memory.findings if self._repeated.get(one, finding.lines) == finding.lines
        ]
        if not (known := matched([finding], free).get(0)):
            return AnchoredFinding(finding)
        self._repeated[known] = finding.lines
        words = f"An earlier review has this finding: “{known.title}”, {known.position}, {known.state.value}."
        return AnchoredFinding(finding, known=f"{words} It is not reported again.")


def recorded_reviewing(checkout: Checkout, most: int) -> Reviewing | None:
    """For the findings of a run that died; `None` without its diff."""
    if not checkout.merge_base:
        return None
    return Reviewing(pull_range(checkout, Source("", "")), most)
