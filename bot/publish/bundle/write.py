"""A bundle, the names of its files, and writing one. A folder with an `outcome.json` is complete."""

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from bot.contracts.errors import AgentError
from bot.contracts.outcome import Outcome
from bot.contracts.plan import Plan
from bot.contracts.records import as_data
from bot.contracts.review import Review
from bot.contracts.writes import Writes

OUTCOME = "outcome.json"
PATCH = "changes.patch"
WITHHELD = "withheld.patch"
MESSAGE = "message.md"
REVIEW = "review.json"
PLAN = "plan.json"
WRITES = "writes.json"
JOURNAL = "journal.jsonl"
REPORT = "report.html"

OUTCOME_LIMIT = 8 << 20
PATCH_LIMIT = 64 << 20
"""Maximum size in bytes: longer files are not read, and so not written."""


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Bundle(NamedTuple):
    """What the bundle in `folder` contains."""

    folder: Path
    outcome: Outcome
    patch: bytes = b""
    withheld: bytes = b""
    message: str = ""
    review: Review | None = None
    plan: Plan | None = None
    writes: Writes | None = None


class BundleWriteError(AgentError):
    """The bundle could not be written."""


def write_bundle(bundle: Bundle, journal: Path | None = None) -> None:
    """Write or replace `bundle` in its folder, and set the hashes of its files in the outcome there.

    `outcome.json` is removed first and written last, each file by rename: a folder that has one is complete.
    A `journal` that is already there under its own name is unchanged. Raises `BundleWriteError`.
    """
    folder = bundle.folder
    review, plan, writes = _dump(bundle.review), _dump(bundle.plan), _dump(bundle.writes)
    stated = bundle.outcome._replace(
        patch_sha256=sha256_of(bundle.patch),
        review_sha256=_sha256_if(review),
        plan_sha256=_sha256_if(plan),
        writes_sha256=_sha256_if(writes),
    )
    optional = {WITHHELD: bundle.withheld, REVIEW: review, PLAN: plan, WRITES: writes, REPORT: b""}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / OUTCOME).unlink(missing_ok=True)
        _put(folder, PATCH, bundle.patch)
        _put(folder, MESSAGE, bundle.message.encode(errors="replace"))
        for name, content in optional.items():
            if content:
                _put(folder, name, content)
            else:
                (folder / name).unlink(missing_ok=True)
        kept = folder / JOURNAL
        if journal is not None and not (kept.exists() and kept.samefile(journal)):
            temporary = folder / f".{JOURNAL}.copy"
            shutil.copyfile(journal, temporary)
            os.replace(temporary, kept)
        _put(folder, OUTCOME, _dump_within_limit(stated))
    except OSError as error:
        raise BundleWriteError(f"The bundle could not be written to {folder}: {error.strerror}.") from error


def _dump_within_limit(outcome: Outcome) -> bytes:
    """Leave out the thread's texts if they exceed the limit: publishing does not need them; the journal has them."""
    whole = _dump(outcome)
    request = outcome.request
    if len(whole) <= OUTCOME_LIMIT or request.thread is None:
        return whole
    left_out = (*request.thread.left_out, "the thread's texts are in the journal")
    shorter = request.thread._replace(body="", comments=(), left_out=left_out)
    return _dump(outcome._replace(request=request._replace(thread=shorter, unresolved=(), failures=())))


def _dump(value: Outcome | Review | Plan | Writes | None) -> bytes:
    if value is None:
        return b""
    text = json.dumps(as_data(value), indent=1, ensure_ascii=False, allow_nan=False)
    # As in the journal: readers of JSON refuse a lone surrogate.
    return text.encode(errors="replace") + b"\n"


def _sha256_if(content: bytes) -> str:
    return sha256_of(content) if content else ""


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
