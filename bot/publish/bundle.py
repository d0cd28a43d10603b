"""The bundle: a folder that holds everything `publish` needs, written by one job and read by another.

The reader does not trust the writer: between the two lies an artifact that anybody with a foot in the first
job could have touched. So names are fixed, links are refused, sizes are capped, patch, review, plan and writes must
have the hash that the outcome states, and every field is checked. Nothing is opened by a name from inside.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bot.contracts.errors import AgentError, UsageError
from bot.contracts.outcome import Outcome
from bot.contracts.plan import Plan
from bot.contracts.review import Review
from bot.contracts.writes import Writes
from bot.gate.reader import UnreadableError, read_beneath
from bot.publish.schema import parse_outcome, parse_plan, parse_review, parse_writes

OUTCOME = "outcome.json"
PATCH = "changes.patch"
WITHHELD = "withheld.patch"
MESSAGE = "message.md"
REVIEW = "review.json"
PLAN = "plan.json"
WRITES = "writes.json"
JOURNAL = "journal.jsonl"
REPORT = "report.html"
# New problems for other programs: made here, and read by nobody of ours.
RDJSONL = "problems.rdjsonl"
SARIF = "problems.sarif"
JUNIT = "problems.junit.xml"

# Bytes. A patch larger than this is over the gate's own limit several times.
_OUTCOME_LIMIT = 8 << 20
_PATCH_LIMIT = 64 << 20
_MESSAGE_LIMIT = 64 << 10
_REVIEW_LIMIT = 8 << 20
_PLAN_LIMIT = 512 << 10
_WRITES_LIMIT = 16 << 20


class BundleError(UsageError):
    """The folder is not a bundle, or is one that somebody tampered with."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle as read: shape and hashes are right, but every text in it is still somebody else's."""

    folder: Path
    outcome: Outcome
    patch: bytes
    withheld: bytes
    message: str
    review: Review | None = None
    plan: Plan | None = None
    writes: Writes | None = None


def write_bundle(
    folder: Path,
    outcome: Outcome,
    patch: bytes,
    withheld: bytes,
    message: str,
    journal: Path | None = None,
    report: str = "",
    *,
    review: Review | None = None,
    plan: Plan | None = None,
    writes: Writes | None = None,
) -> None:
    """Write or replace the bundle in `folder`; sets the outcome's hashes of the files beside it.

    `outcome.json` is taken away first and comes last, each file by rename: a folder that has one is whole.
    A `journal` that already lies there under its own name stays as it is. Raises `AgentError` when the disk
    does not take it.
    """
    said, planned, proposed = _dump(review), _dump(plan), _dump(writes)
    stated = replace(
        outcome, patch_sha256=_sha256(patch), review_sha256=_sha256_if(said), plan_sha256=_sha256_if(planned),
        writes_sha256=_sha256_if(proposed),
    )  # fmt: skip
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / OUTCOME).unlink(missing_ok=True)
        _put(folder, PATCH, patch)
        _put_or_remove(folder, WITHHELD, withheld)
        _put(folder, MESSAGE, message.encode())
        _put_or_remove(folder, REVIEW, said)
        _put_or_remove(folder, PLAN, planned)
        _put_or_remove(folder, WRITES, proposed)
        _put_or_remove(folder, REPORT, report.encode())
        for name, content in _problem_forms(outcome).items():
            _put_or_remove(folder, name, content)
        if journal is not None and not _same_file(journal, folder / JOURNAL):
            _copy(folder, JOURNAL, journal)
        _put(folder, OUTCOME, _dump_within_limit(stated))
    except OSError as error:
        raise AgentError(f"The bundle could not be written to {folder}: {error.strerror}.") from error


def read_bundle(folder: Path) -> Bundle:
    """The bundle in `folder`. Raises `BundleError`, one sentence, on anything that is not as it should be."""
    outcome = parse_outcome(_read(folder, OUTCOME, _OUTCOME_LIMIT))
    patch = _read(folder, PATCH, _PATCH_LIMIT)
    if _sha256(patch) != outcome.patch_sha256:
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
        folder, outcome, patch, withheld, message,
        parse_review(review) if review else None,
        parse_plan(plan) if plan else None,
        parse_writes(writes) if writes else None,
    )  # fmt: skip


def _read_stated(folder: Path, name: str, limit: int, stated: str) -> bytes:
    """A file that is there exactly when the outcome states its hash; empty where there is none."""
    if not stated and not os.path.lexists(folder / name):
        return b""
    content = _read(folder, name, limit)
    if _sha256(content) != stated:
        raise BundleError(f"{name} in {folder} is not the file that {OUTCOME} states: its hash differs.")
    return content


def _read(folder: Path, name: str, limit: int) -> bytes:
    try:
        return read_beneath(folder, name, limit)
    except UnreadableError as error:
        raise BundleError(f"The bundle cannot be read: {error}.") from error


def _problem_forms(outcome: Outcome) -> dict[str, bytes]:
    """What each file holds; empty where no checker ran, and that of diagnostics also where nothing is new."""
    if not outcome.diagnostics:
        return dict.fromkeys((RDJSONL, SARIF, JUNIT), b"")
    from bot.findings.problem_forms import to_junit, to_rdjsonl
    from bot.findings.sarif import problems_to_sarif

    forms = {RDJSONL: to_rdjsonl, SARIF: problems_to_sarif, JUNIT: to_junit}
    return {name: form(outcome.diagnostics).encode(errors="replace") for name, form in forms.items()}


def _dump_within_limit(outcome: Outcome) -> bytes:
    """A thread of thousands of comments may not fit; publishing needs none of them, and the journal has them."""
    whole = _dump(outcome)
    request = outcome.request
    if len(whole) <= _OUTCOME_LIMIT or request.thread is None:
        return whole
    said = (*request.thread.left_out, "the thread's texts are in the journal")
    shorter = replace(request.thread, body="", comments=(), left_out=said)
    return _dump(replace(outcome, request=replace(request, thread=shorter, unresolved=(), failures=())))


def _dump(value: Outcome | Review | Plan | Writes | None) -> bytes:
    if value is None:
        return b""
    return json.dumps(asdict(value), indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _sha256_if(content: bytes) -> str:
    return _sha256(content) if content else ""


def _put(folder: Path, name: str, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, folder / name)
    except BaseException:
        os.unlink(temporary)
        raise


def _put_or_remove(folder: Path, name: str, content: bytes) -> None:
    if content:
        _put(folder, name, content)
    else:
        (folder / name).unlink(missing_ok=True)


def _copy(folder: Path, name: str, source: Path) -> None:
    temporary = folder / f".{name}.copy"
    shutil.copyfile(source, temporary)
    os.replace(temporary, folder / name)


def _same_file(one: Path, other: Path) -> bool:
    return other.exists() and os.path.samefile(one, other)
