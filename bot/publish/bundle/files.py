"""The file names of a bundle."""

from __future__ import annotations

import hashlib

OUTCOME = "outcome.json"
PATCH = "changes.patch"
WITHHELD = "withheld.patch"
MESSAGE = "message.md"
REVIEW = "review.json"
PLAN = "plan.json"
WRITES = "writes.json"
JOURNAL = "journal.jsonl"
REPORT = "report.html"
# New problems for other programs: written here, and read by no module of ours.
RDJSONL = "problems.rdjsonl"
SARIF = "problems.sarif"
JUNIT = "problems.junit.xml"

OUTCOME_LIMIT = 8 << 20
"""Maximum size in bytes: longer files are not read, and so not written."""


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
