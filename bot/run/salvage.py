"""`slash-agent salvage`: make the bundle of a run that died, from its work tree and journal, through the gate."""

import os
import stat
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from bot.agent.conversation_context import LoopEnd
from bot.agent.journal import MAX_JOURNAL, JournalFile, parse_journal, read_journal
from bot.checkout.clone import Checkout, Source, check_out
from bot.checkout.git import Git, GitError
from bot.checkout.pull import recorded_pull_base
from bot.contracts import journal as lines
from bot.contracts.errors import AgentError, GateError, UsageError
from bot.contracts.messages import Usage
from bot.contracts.outcome import Denial, StopReason
from bot.contracts.plain_text import utf8
from bot.contracts.regular_files import read_regular
from bot.evidence.from_journal import recorded_evidence
from bot.gate.judge import Verdict, judge_tree
from bot.gate.redact import Redactor
from bot.gate.secrets import known_secrets
from bot.parsing.parser import Parser
from bot.policy.decide import may_write
from bot.publish.bundle import Bundle
from bot.publish.convention.read import Conventions
from bot.run.result import ended, without_changes, write_run_bundle
from bot.session.context.base import base_policy, base_task
from bot.session.context.profiles import recorded_profile
from bot.session.context.review_scope import recorded_reviewing
from bot.session.context.run import timestamp
from bot.session.run_folder import RunFolder, check_private, lock_folder, parent_folder
from bot.session.tools.approvals import approved_paths
from bot.session.tools.result_tools import ResultTools, propose_writes
from bot.verbs.record import REPORT_FINDING
from bot.verbs.registry import VERBS

_INCOMPLETE = "The run died before it ended; this is what it had."


def newest_run(environment: Mapping[str, str], repo: Path | None = None) -> Path:
    """Return the folder of the newest run with a journal, of those that can be continued in `repo` if it is not `None`.
    Raises `UsageError` if there is none."""
    parent = parent_folder(environment)
    check_private(parent)
    runs = [folder for folder in map(RunFolder, parent.glob("*")) if folder.begun]
    if repo is not None:
        runs = [folder for folder in runs if _continues_in(folder, repo)]
    if not runs:
        what = "salvage" if repo is None else f"continue in {repo}"
        raise UsageError(f"There is no run to {what} under {parent}.")
    return max(runs, key=lambda folder: folder.journal.stat().st_mtime).root


def _continues_in(folder: RunFolder, repo: Path) -> bool:
    try:
        request = read_journal(folder.facts).header.request
    except UsageError:
        return False
    verb = VERBS.get(request.verb)
    return request.clone_url == utf8(repo) and verb is not None and not verb.reviews


def salvage(
    root: Path, environment: Mapping[str, str], out: Path | None = None, *, allow_deletions: bool = False
) -> Bundle:
    """Make the bundle of the run in `root`, which still has its work tree. Raises `AgentError`.

    `environment` holds the secrets that the patch must not contain. With `allow_deletions` the patch may delete more
    than half of the files, as an option of the run may.
    """
    if not root.is_dir():
        raise UsageError(f"There is no run folder {root}.")
    folder = RunFolder(root.resolve())
    with lock_folder(folder.root):
        return _salvage(folder, environment, out, allow_deletions)


def _salvage(
    folder: RunFolder, environment: Mapping[str, str], out: Path | None, allow_deletions: bool
) -> Bundle:
    recording, damage = _journal(folder)
    checkout = _checkout(folder, recording)
    request = recording.header.request
    with Parser() as parser:
        task = base_task(checkout, request, parser)
        policy = base_policy(checkout, request, task, parser)
    deletions = allow_deletions or request.allows_deletions
    rule = may_write(policy, request.actor.tier, approved_paths(recording), deletions=deletions)
    redactor = Redactor(known_secrets(environment))
    links, setup_files, record_damage = folder.read_prepared()
    questions = [line.record for line in recording.everything if isinstance(line.record, lines.Question)]
    verdict: Verdict | GateError
    try:
        verdict = judge_tree(
            checkout,
            may_write=rule,
            setup_files=setup_files,
            holds_secret=redactor.holds_secret,
            links=links,
            # What edit tools requested to write.
            edited={path for one in questions for path, _ in one.files},
        )
    except GateError as error:
        verdict = error
    profile = recorded_profile(recording.header)
    notes = tuple(filter(None, (damage, recording.damage, record_damage)))
    if profile.read_only:
        verdict, discarded = without_changes(verdict, checkout)
        notes = (*notes, *discarded)
    is_review = REPORT_FINDING in profile.results
    reviewing = recorded_reviewing(checkout, policy.review.max_findings) if is_review else None
    results = ResultTools(
        *((reviewing.tool,) if reviewing else ()),
        propose=propose_writes(policy, request, task, lambda line: None),
    )
    results.restore(recording)
    header, evidence = recording.header, recorded_evidence(recording)
    denied = (line for line in recording.records(lines.PermissionDecision) if not line.allow)
    # The time of the last write, so that salvaging twice gives the same commit.
    ended_at = datetime.fromtimestamp(folder.journal.stat().st_mtime, UTC)
    bundle = ended(
        out.resolve() if out else folder.bundle,
        profile,
        _end(recording),
        verdict,
        results.submission(reviewing.review("") if reviewing else None),
        redactor,
        Conventions(),
        request=request,
        base_sha=header.base_sha,
        model=[header.model, *(line.model for line in recording.records(lines.ModelChanged))][-1],
        sandbox=header.sandbox,
        started_at=header.started_at,
        ended_at=timestamp(ended_at),
        checks=evidence.checks,
        denials=tuple(Denial(line.tool, line.path, line.rule, line.reason) for line in denied),
        notes=(*notes, *results.notes()),
        diagnostics=evidence.diagnostics,
        servers=evidence.servers,
    )
    write_run_bundle(folder, bundle)
    return bundle


def _journal(folder: RunFolder) -> tuple[JournalFile, str]:
    """Return the journal, and a note if its first line was damaged: the run keeps a copy of that. The damaged file is
    renamed. Raises `UsageError` if the copy cannot be read either."""
    try:
        return read_journal(folder.journal), ""
    except UsageError as error:
        damage = error
    repaired, damaged = folder.root / "journal.repaired.jsonl", folder.root / "journal.damaged.jsonl"
    rows = _readable(folder.facts).rstrip() + b"\n" + _readable(folder.journal)
    try:
        parse_journal(rows, "")
    except UsageError:
        raise damage from None
    repaired.write_bytes(rows)  # first: the disk may be full
    if os.path.lexists(folder.journal):
        folder.journal.rename(damaged)
    repaired.rename(folder.journal)
    return read_journal(folder.journal), f"The run's journal was damaged: {damage} It is kept as {damaged}."


def _readable(file: Path) -> bytes:
    try:
        return read_regular(file, MAX_JOURNAL)
    except OSError:
        return b""


def _checkout(folder: RunFolder, recording: JournalFile) -> Checkout:
    for root in (folder.history, folder.root):
        if RunFolder(root).has_tree:
            git = _trusted(root, folder, recording)
            ends = recorded_pull_base(git)
            return Checkout(
                git,
                root / "tree",
                recording.header.base_sha,
                (),
                policy_sha=ends.policy_sha,
                merge_base=ends.merge_base,
            )
    bundle_note = (
        f"; its result is in {folder.bundle}" if folder.bundle.is_dir() else ", and it made no bundle"
    )
    raise UsageError(f"The work tree of the run in {folder.root} is gone{bundle_note}.")


def _trusted(root: Path, folder: RunFolder, recording: JournalFile) -> Git:
    """Return the run's git directory, or a new clone of its source if it is gone or damaged."""
    base, url = recording.header.base_sha, recording.header.request.clone_url
    trusted = root / "trusted.git"
    try:
        for path in (trusted, *trusted.rglob("*")):  # git waits for a fifo, and follows links
            if stat.S_IFMT(path.lstat().st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
                raise OSError(f"{path} is not a regular file")
        git = Git(trusted)
        git.run("rev-list", "--objects", "--quiet", "--max-count=1", base)
        return git
    except (OSError, GitError) as error:
        damage = error
    try:
        return check_out(Source(url, base), Path(tempfile.mkdtemp(prefix="again-", dir=folder.root))).git
    except (OSError, AgentError) as error:
        raise UsageError(
            f"The git directory of the run in {folder.root} is gone or damaged ({damage}), and commit {base[:12]} "
            f"cannot be had from {url} again ({error}). The run's work tree is whole: {root / 'tree'}"
        ) from error


def _end(recording: JournalFile) -> LoopEnd:
    for end in recording.records(lines.SessionEnded):
        return LoopEnd(StopReason(end.stop_reason), end.reason, end.turns, end.usage, end.cost, "")
    turns, usage, cost = 0, Usage(), 0.0
    for change in recording.records(lines.BudgetChanged):
        turns, usage, cost = change.turn, change.usage, change.cost
    return LoopEnd(StopReason.ERROR, _INCOMPLETE, turns, usage, cost, "")
