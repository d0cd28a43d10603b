"""A run's bundle: the outcome with the patch, the commit message, the journal and the page made from it."""

from __future__ import annotations

from pathlib import Path

from bot.contracts.outcome import Outcome
from bot.contracts.plan import Plan
from bot.contracts.review import Review
from bot.contracts.writes import Writes
from bot.gate.tree import Verdict
from bot.publish.bundle.files import REPORT
from bot.publish.bundle.write import BundleWriteError, write_bundle
from bot.publish.change.commit import commit_message
from bot.run.folder import RunFolder
from bot.run.job import Ended
from bot.run.outputs import OUTPUTS


def keep(out: Path | None, folder: RunFolder, ended: Ended) -> Path:
    """Write the bundle of the run in `folder`, to `out` if that is given; the bundle's folder. Raises `AgentError`."""
    bundle = out.resolve() if out else folder.bundle
    write_out(
        bundle, ended.outcome, ended.verdict, folder.journal,
        plan=ended.plan, review=ended.review, writes=ended.writes, outputs=ended.outputs,
    )  # fmt: skip
    return bundle


def write_out(
    folder: Path,
    outcome: Outcome,
    verdict: Verdict | None,
    journal: Path,
    *,
    plan: Plan | None = None,
    review: Review | None = None,
    writes: Writes | None = None,
    outputs: bytes = b"",
) -> None:
    """Write the bundle of a run to `folder`, the diff before the page: what only shows must not cost what counts.

    Raises `AgentError` when the disk does not take it.
    """
    # jinja2 costs 40 ms to import, and is needed only here, at the end.
    from bot.report.page import render_page

    patch, withheld = (verdict.patch, verdict.withheld_patch) if verdict else (b"", b"")
    message = commit_message(outcome)
    write_bundle(folder, outcome, patch, withheld, message, journal, review=review, plan=plan, writes=writes)
    page = render_page(journal, patch)
    try:
        if outputs:
            (folder / OUTPUTS).write_bytes(outputs)
        (folder / REPORT).write_text(page, encoding="utf-8")
    except OSError as error:
        raise BundleWriteError(f"The report could not be written to {folder}: {error.strerror}.") from error
