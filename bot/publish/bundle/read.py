"""Read a bundle as hostile input: whoever had access to the run's job could have changed the artifact.

File names are fixed, links are refused, sizes are capped, patch, review, plan and writes must have the hashes of the
outcome, and every field is checked.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bot.contracts.errors import UsageError
from bot.contracts.outcome import Outcome
from bot.contracts.plan import Plan
from bot.contracts.review import Review
from bot.contracts.writes import Writes
from bot.gate.confined_folder import UnreadableError, read_confined
from bot.publish.bundle.files import (
    MESSAGE,
    OUTCOME,
    OUTCOME_LIMIT,
    PATCH,
    PLAN,
    REVIEW,
    WITHHELD,
    WRITES,
    sha256_of,
)
from bot.publish.bundle.schema import parse_outcome, parse_plan, parse_review, parse_writes

# Bytes. A patch larger than this is over the gate's own limit several times.
_PATCH_LIMIT = 64 << 20
_MESSAGE_LIMIT = 64 << 10
_REVIEW_LIMIT = 8 << 20
_PLAN_LIMIT = 512 << 10
_WRITES_LIMIT = 16 << 20


class BundleError(UsageError):
    """The folder is not a bundle, or was tampered with."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle as read. Its structure and hashes are valid; its texts are still untrusted."""

    folder: Path
    outcome: Outcome
    patch: bytes
    withheld: bytes
    message: str
    review: Review | None = None
    plan: Plan | None = None
    writes: Writes | None = None


def read_bundle(folder: Path) -> Bundle:
    """The bundle in `folder`. Raises `BundleError`, one sentence, on anything that is not as it should be."""
    outcome = parse_outcome(_read(folder, OUTCOME, OUTCOME_LIMIT))
    patch = _read(folder, PATCH, _PATCH_LIMIT)
    if sha256_of(patch) != outcome.patch_sha256:
        raise BundleError(f"{PATCH} in {folder} is not the patch that {OUTCOME} states: its hash differs.")
    withheld = _read(folder, WITHHELD, _PATCH_LIMIT) if os.path.lexists(folder / WITHHELD) else b""
    try:
        message = _read(folder, MESSAGE, _MESSAGE_LIMIT).decode()
    except UnicodeDecodeError as error:
        raise BundleError(f"{MESSAGE} in {folder} is not UTF-8.") from error
    review = _read_stated(folder, REVIEW, _REVIEW_LIMIT, outcome.review_sha256)
    plan = _read_stated(folder, PLAN, _PLAN_LIMIT, outcome.plan_sha256)
    writes = _read_stated(folder, WRITES, _WRITES_LIMIT, outcome.writes_sha256)
    return Bundle(
        folder,
        outcome,
        patch,
        withheld,
        message,
        parse_review(review) if review else None,
        parse_plan(plan) if plan else None,
        parse_writes(writes) if writes else None,
    )


def _read_stated(folder: Path, name: str, limit: int, stated: str) -> bytes:
    """A file that is there exactly when the outcome states its hash; empty if there is none."""
    if not stated and not os.path.lexists(folder / name):
        return b""
    content = _read(folder, name, limit)
    if sha256_of(content) != stated:
        raise BundleError(f"{name} in {folder} is not the file that {OUTCOME} states: its hash differs.")
    return content


def _read(folder: Path, name: str, limit: int) -> bytes:
    try:
        return read_confined(folder, name, limit)
    except UnreadableError as error:
        raise BundleError(f"The bundle cannot be read: {error}.") from error
