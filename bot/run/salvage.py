"""`slash-agent salvage`: a bundle of a run that died, from its work tree and its journal, through the gate."""

from __future__ import annotations

import os
import tempfile
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bot import __version__
from bot.agent.journal_file import JournalFile, parse_journal, read_journal
from bot.agent.loop import LoopEnd
from bot.checkout.clone import Checkout, Source, prepare
from bot.checkout.git import Git, GitError
from bot.checkout.pull import recorded_ends
from bot.contracts import journal as lines
from bot.contracts.errors import AgentError, GateError, UsageError
from bot.contracts.messages import Usage
from bot.contracts.outcome import (
    Denial,
    Outcome,
    StopReason,
)
from bot.contracts.wording import count_of
from bot.gate.detect import Detector
from bot.gate.redact import Redactor
from bot.gate.tree import Verdict, judge_tree
from bot.gate.verdict import MayWrite
from bot.policy.decide import may_write
from bot.run import conclude
from bot.run.asking import recorded_lets
from bot.run.base import base_finder, base_policy, base_task
from bot.run.evidence import recorded_evidence
from bot.run.folder import RunFolder, has_begun, parent_folder
from bot.run.lock import held
from bot.run.masked import masked
from bot.run.outputs import gather
from bot.run.profiles import REPORT_FINDING, recorded_profile
from bot.run.results import Results
from bot.run.reviewing import recorded_reviewing
from bot.run.secrets import known_secrets
from bot.run.show import write_out
from bot.run.writing import propose_writes

_DIED = "The run died before it ended; this is what it had."


@dataclass(frozen=True, slots=True)
class Salvaged:
    outcome: Outcome
    bundle: Path


def newest_run(environment: Mapping[str, str]) -> Path:
    """The folder of the last run that left a journal. Raises `UsageError` where there is none."""
    parent = parent_folder(environment)
    journals = sorted(
        filter(has_begun, parent.glob("*/journal.jsonl")), key=lambda path: path.stat().st_mtime
    )
    if not journals:
        raise UsageError(f"There is no run to salvage under {parent}.")
    return journals[-1].parent


def salvage(root: Path, environment: Mapping[str, str], out: Path | None = None) -> Salvaged:
    """Make the bundle of the run in `root`, where its work tree still is. Raises an `AgentError`.

    `environment` is where secrets are looked for that the patch must not hold.
    """
    if not root.is_dir():
        raise UsageError(f"There is no run folder {root}.")
    folder = RunFolder(root.resolve())
    with held(folder.root):
        return _salvage(folder, environment, out)


def _salvage(folder: RunFolder, environment: Mapping[str, str], out: Path | None) -> Salvaged:
    recorded, damage = _journal(folder)
    checkout = _checkout(folder, recorded)
    request = recorded.header.request
    task = base_task(checkout, request)
    policy = base_policy(checkout, request, task)
    rule = may_write(policy, request.actor.tier, recorded_lets(recorded))
    detector = Detector(Redactor(known_secrets(environment)), base_finder(checkout, policy))
    judged = _judge(checkout, folder, rule, detector.redactor, _edited(recorded))
    header = recorded.header
    facts = conclude.Facts(
        request=header.request, base_sha=header.base_sha, model=header.model, sandbox=header.sandbox,
        started_at=header.started_at, ended_at=_last_change(folder), version=__version__,
    )  # fmt: skip
    profile = recorded_profile(header)
    notes = tuple(filter(None, (recorded.cut, damage)))
    if profile.read_only:
        notes, judged = (
            (*notes, *conclude.thrown_away(judged)),
            conclude.nothing_changed(checkout.git, header.base_sha),
        )
    reviewing = None
    if REPORT_FINDING in profile.results:
        reviewing = recorded_reviewing(checkout, policy.review.max_findings)
    proposing = propose_writes(policy, request, task, lambda line: None)
    results = Results(*((reviewing.tool,) if reviewing else ()), propose=proposing)
    results.hear_again(recorded)
    handed = results.handed(reviewing.review("") if reviewing else None)
    told = recorded_evidence(recorded)
    outcome = conclude.outcome(
        facts, profile, _end(recorded), judged, handed, checks=told.checks, denials=_denials(recorded),
        notes=(*notes, *results.notes()), redactions=(), diagnostics=told.diagnostics, coverage=told.coverage,
    )  # fmt: skip
    bundle = out.resolve() if out else folder.bundle
    outcome = masked(outcome, detector)
    verdict = judged if isinstance(judged, Verdict) else None
    write_out(
        bundle, outcome, verdict, folder.journal, plan=handed.plan, review=handed.review, writes=handed.writes,
        outputs=gather(folder, detector.kept),
    )  # fmt: skip
    return Salvaged(outcome, bundle)


def _journal(folder: RunFolder) -> tuple[JournalFile, str]:
    """The journal, of a damaged one what comes before the damage, and what is said of that. The damaged file is set
    aside. Raises `UsageError` if nothing says what the run was to do."""
    try:
        return read_journal(folder.journal), ""
    except UsageError as error:
        damage = error
    data = folder.journal.read_bytes() if folder.journal.is_file() else b""
    first, *rest = data.rstrip(b"\n").split(b"\n")
    copy = folder.facts.read_bytes().rstrip() if folder.facts.is_file() else b""
    header = next((row for row in (first, copy) if _reads([row])), None)
    if header is None:
        raise damage
    rows = [header, *rest]
    whole = bisect_left(range(1, len(rows) + 1), True, key=lambda count: not _reads(rows[:count]))
    aside = folder.root / "journal.damaged.jsonl"
    if data:
        folder.journal.rename(aside)
    folder.journal.write_bytes(b"\n".join(rows[:whole]) + b"\n")
    kept = f"{count_of(whole, 'line')} of {len(rows)} could be read; the damaged file is {aside}"
    return read_journal(folder.journal), f"The run's journal was damaged: {damage} {kept}."


def _reads(rows: Sequence[bytes]) -> bool:
    try:
        parse_journal(b"\n".join(rows) + b"\n", "")
    except UsageError:
        return False
    return True


def _checkout(folder: RunFolder, recorded: JournalFile) -> Checkout:
    for root in (folder.history, folder.root):
        if (root / "tree").is_dir():
            git = _trusted(root, folder, recorded)
            ends = recorded_ends(git)
            return Checkout(
                git, root / "tree", recorded.header.base_sha, (),
                policy_sha=ends.policy_sha, merge_base=ends.merge_base,
            )  # fmt: skip
    made = f"; its result is in {folder.bundle}" if folder.bundle.is_dir() else ", and it made no bundle"
    raise UsageError(f"The work tree of the run in {folder.root} is gone{made}.")


def _trusted(root: Path, folder: RunFolder, recorded: JournalFile) -> Git:
    """The run's own git directory; if that is gone or damaged, another one from the checkout that it came from."""
    base, url = recorded.header.base_sha, recorded.header.request.clone_url
    try:
        git = Git(root / "trusted.git")
        git.run("rev-list", "--objects", "--quiet", "--max-count=1", base)
        return git
    except (OSError, GitError) as error:
        damage = error
    try:
        again = Path(tempfile.mkdtemp(prefix="again-", dir=folder.root))
        return prepare(Source(url, base), again).git
    except (OSError, AgentError) as error:
        raise UsageError(
            f"The git directory of the run in {folder.root} is gone or damaged ({damage}), and commit {base[:12]} "
            f"cannot be had from {url} again ({error}). The run's work tree is whole: {root / 'tree'}"
        ) from error


def _judge(
    checkout: Checkout, folder: RunFolder, rule: MayWrite, redactor: Redactor, edited: Collection[str]
) -> Verdict | GateError:
    git, base = checkout.git, checkout.base_sha
    try:
        links, made = folder.read_prepared()
        return judge_tree(
            git, base, checkout.tree, may_write=rule, passed_over=made, holds_secret=redactor.holds_secret,
            links=links, edited=edited,
        )  # fmt: skip
    except GateError as error:
        return error


def _edited(recorded: JournalFile) -> frozenset[str]:
    """The paths that edit tools asked to write."""
    questions = (line.record for line in recorded.everything if isinstance(line.record, lines.Question))
    return frozenset(path for one in questions for path in (one.path, *(path for path, _ in one.more)))


def _end(recorded: JournalFile) -> LoopEnd:
    ended = next(recorded.records(lines.SessionEnded), None)
    if ended is not None:
        return LoopEnd(StopReason(ended.stop_reason), ended.reason, ended.turns, ended.usage, ended.cost, "")
    spent = list(recorded.records(lines.BudgetChanged))
    turns, usage, cost = (spent[-1].turn, spent[-1].usage, spent[-1].cost) if spent else (0, Usage(), 0.0)
    return LoopEnd(StopReason.ERROR, _DIED, turns, usage, cost, "")


def _denials(recorded: JournalFile) -> tuple[Denial, ...]:
    denied = (line for line in recorded.records(lines.Permitted) if not line.allow)
    return tuple(Denial(line.tool, line.path, line.rule, line.reason) for line in denied)


def _last_change(folder: RunFolder) -> str:
    """When the run last wrote, so that salvaging twice gives the same commit."""
    moment = datetime.fromtimestamp(int(os.stat(folder.journal).st_mtime), UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
