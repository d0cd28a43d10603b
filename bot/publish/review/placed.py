"""The findings on the diff as it is fetched and made here: each anchor is looked at again, and what an earlier review
said is not said again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bot.checkout import layout
from bot.checkout.compare import diff_between
from bot.checkout.errors import MovedHeadError
from bot.checkout.git import Git
from bot.checkout.pull import PullHead, fetch_ends
from bot.contracts.errors import PublishError
from bot.contracts.review import Finding, Severity
from bot.contracts.wording import count_of
from bot.findings.anchors import anchor
from bot.findings.fingerprints import Sifted, fingerprint, sifted
from bot.findings.hunks import Diff
from bot.findings.parse import parse_diff
from bot.findings.suggestions import settled
from bot.policy.load import load_policy
from bot.policy.protected import ProtectedFiles, protected_files
from bot.policy.schema import ReviewPolicy
from bot.publish.base_file import read_base_file
from bot.publish.body.footer import figures
from bot.publish.review.asked import Asked
from bot.publish.review.past import Past
from bot.publish.review.text import Report


@dataclass(frozen=True, slots=True)
class Seen:
    """The pull request's diff at `head_sha`, and what the base branch's policy says of reviews."""

    head_sha: str
    diff: Diff
    policy: ReviewPolicy
    git: Git
    protected: ProtectedFiles
    notes: tuple[str, ...] = ()


def look(asked: Asked, head_now: str, folder: Path) -> Seen:
    """At the head that was reviewed; where it is gone from the server, at the one that is there now."""
    try:
        return look_at(asked, asked.review.head_sha, folder)
    except MovedHeadError:
        return look_at(asked, head_now, beside(folder))


def beside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-now")


def look_at(asked: Asked, head_sha: str, folder: Path) -> Seen:
    request, remote = asked.outcome.request, asked.remote
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        layout.make_git_dir(folder, bare=True, object_format=layout.object_format_of(head_sha))
    except OSError as error:
        raise PublishError(f"No git directory could be made at {folder}: {error.strerror}.") from error
    git = Git(folder)
    head = PullHead(asked.pull.number, head_sha)
    ends = fetch_ends(git, remote.url, remote.token, head, request.base_ref, ["--depth=1", "--no-tags"])
    file = request.policy_file
    policy = load_policy(read_base_file(git, ends.policy_sha, file), file)
    diff = parse_diff(diff_between(git, ends.merge_base or ends.policy_sha, head_sha))
    reviewed = asked.review.head_sha
    notes = (
        (f"The review was made at {reviewed[:12]}; the head has moved since.",)
        if head_sha != reviewed
        else ()
    )
    return Seen(head_sha, diff, policy.review, git, protected_files(policy), notes)


def placed(asked: Asked, seen: Seen, past: Past) -> Report:
    """What is new, placed on the diff that GitHub shows; beyond the policy's limit the mildest are left out."""
    anchored: list[Finding] = []
    unanchored: list[Finding] = []
    # By what never changes of one that stands nowhere: equal ones have equal reasons.
    reasons: dict[Finding, str] = {}
    for finding in asked.review.findings:
        found = anchor(finding, seen.diff)
        if isinstance(found, str):
            bare = replace(finding, suggestion=None, fingerprint=fingerprint(finding))
            unanchored.append(bare)
            reasons[bare] = found
        else:
            # Without a text nothing says which lines the suggestion was made for.
            proven = bool(finding.text) or not found.text.strip()
            anchored.append(settled(found if proven else replace(found, suggestion=None)))
    rank = list(Severity).index
    sieved = sifted((*anchored, *unanchored), past.said)
    fresh = sorted(sieved.new, key=lambda finding: rank(finding.severity))
    kept, dropped = fresh[: seen.policy.max_findings], fresh[seen.policy.max_findings :]
    return Report(
        asked.review,
        seen.head_sha,
        tuple(finding for finding in kept if finding not in reasons),
        tuple((finding, reasons[finding]) for finding in kept if finding in reasons),
        (*asked.review.left_out, *_not_told(sieved, len(dropped), len(kept))),
        figures(asked.outcome),
        asked.links,
        seen.protected,
        asked.web,
        (*asked.notes, *seen.notes),
    )


def _not_told(sieved: Sifted, dropped: int, kept: int) -> Iterator[str]:
    """A clause for each reason why findings are not there, so that the numbers add up."""
    if dropped:
        yield f"{count_of(dropped, 'finding')} beyond the {kept} worst ones"
    if sieved.told_before:
        yield f"{count_of(sieved.told_before, 'finding')} already made by an earlier review"
    if sieved.repeated:
        yield f"{count_of(sieved.repeated, 'finding')} made twice, on the same lines in the same words"
