"""Keys of reviews: which events of a pull request start one, and what it posts."""

from dataclasses import dataclass
from typing import Annotated, Literal

from bot.policy.field_types import key, whole

_Review = Literal["opened", "ready_for_review", "reopened", "synchronize"]


@dataclass(frozen=True)
class ReviewPolicy:
    """`on` are actions of a `pull_request` event. `request_changes` is what a review may do beyond commenting; it never
    approves."""

    on: frozenset[_Review] = key(
        frozenset({"opened", "ready_for_review", "reopened", "synchronize"}),
        "Events of a pull request that start a review; [] for none.",
    )
    drafts: bool = key(False, "Review drafts too, before they are ready.")
    max_findings: Annotated[int, whole(1, 100)] = key(20, "Findings of one review at most.")
    min_severity: Literal["critical", "major", "minor", "note"] = key(
        "note", "The least severity of findings that are posted; the summary counts the others."
    )
    request_changes: bool = key(False, "Request changes if a review has serious findings.")
