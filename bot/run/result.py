"""The end of a run: verdict, evidence and outcome, the journal's last records, the bundle with its report, and a local
run's branch. What the outcome is follows from what happened, by pure functions."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from bot import __version__
from bot.agent.conversation_context import LoopEnd
from bot.agent.journal import Journal
from bot.checkout.branches import branch_name, commit_tree, create_branch
from bot.checkout.clone import Checkout
from bot.checkout.dirty import DirtyBase
from bot.checkout.git import Git
from bot.contracts import journal as lines
from bot.contracts.errors import GateError
from bot.contracts.formatting import sentence
from bot.contracts.model import ModelInfo
from bot.contracts.outcome import (
    SCHEMA_VERSION,
    ChangedFile,
    CheckResult,
    Description,
    Outcome,
    Status,
    StopReason,
)
from bot.contracts.records import masked
from bot.evidence.failing_checks import failing
from bot.evidence.look_first import held_back, look_first
from bot.evidence.styled_line import plain
from bot.gate.errors import OutOfCapacity
from bot.gate.judge import Verdict
from bot.gate.redact import Redactor
from bot.parsing.parser import Parser
from bot.providers.models import guess_notes
from bot.publish.bundle import REPORT, Bundle, BundleWriteError, sha256_of, write_bundle
from bot.publish.change.commit import commit_message
from bot.publish.commit_author import author_of
from bot.publish.convention.read import Conventions
from bot.publish.title import title, with_title
from bot.report.page import render_page
from bot.run.conversation import outcome_notes
from bot.run.parts import Parts
from bot.session.checks.before_round import NO_CHANGE
from bot.session.context.run import Run, RunResult, now
from bot.session.run_folder import RunFolder
from bot.session.tools.result_tools import Submission
from bot.session.workspaces.usage_notes import limit_notes, network_notes, uses_of
from bot.verbs.record import SUBMIT_PLAN, Profile

_NAMED = 5
"""Files that are named in a note."""
_UNJUDGED = "the gate did not accept the change"
_UNCHECKED = "The run was cancelled while its change was checked."


def conclude(run: Run, parts: Parts, end: LoopEnd, model: ModelInfo) -> RunResult:
    """5. Return the result of the run. `model` is the one that answered last."""
    rounds, trees, results = parts.rounds, parts.trees, parts.results
    verdict = parts.workspace.close_and_judge()
    if run.profile.read_only:
        verdict, dropped = without_changes(verdict, run.checkout)
        run.note(*dropped)
        run.kept.extend(dropped)
    accepted = None if isinstance(verdict, GateError) else verdict
    tree_sha = accepted.tree_sha if accepted and accepted.files else None
    checks = rounds.results(tree_sha, _UNJUDGED if accepted is None else NO_CHANGE)
    if run.cancel_run.fired and end.stop is StopReason.END_TURN:
        end = end._replace(stop=StopReason.CANCELED, reason=_UNCHECKED)
    if end.stop is StopReason.END_TURN and (failure := trees.setup_failure()):
        end = end._replace(stop=StopReason.ERROR, reason=failure)
    network = uses_of(trees.workspaces.started)
    run.note(*network_notes(network))
    review = parts.review.review(end.final_text) if parts.review else None
    notes = (
        *guess_notes(model),
        *run.notes,
        *run.kept,
        *outcome_notes(run),
        *results.notes(),
        *network_notes(network),
        *limit_notes(trees.workspaces.started),
    )
    bundle = ended(
        run.bundle,
        run.profile,
        end,
        verdict,
        results.submission(review),
        run.redactor,
        run.conventions,
        request=run.request,
        base_sha=run.checkout.base_sha,
        model=model.name,
        sandbox=run.confinement.name,
        started_at=run.started_at,
        ended_at=now(),
        checks=checks,
        denials=tuple(parts.gatekeeper.denials),
        notes=notes,
        sandbox_probe=run.sandbox_probe,
        network=network,
        diagnostics=rounds.inspection.results(tree_sha),
        servers=parts.workspace.diagnostics.servers(),
    )
    if not run.journal.failure:
        _record(run.journal, bundle)
    return RunResult(run.checkout, run.policy, bundle, accepted)


def without_changes(verdict: Verdict | GateError, checkout: Checkout) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict on a tree that equals the base commit's, and a note if a run that only reads changed something."""
    unchanged = Verdict(checkout.base_tree(), b"", b"", (), ())
    if isinstance(verdict, GateError) or verdict.files or verdict.withheld:
        return unchanged, ("Commands of this run changed its work tree, and that was thrown away.",)
    return unchanged, ()


def _record(journal: Journal, bundle: Bundle) -> None:
    """The journal's last lines."""
    outcome = bundle.outcome
    first = tuple(plain(line, "`") for line in look_first(outcome, outcome.files))
    record = lines.Evidence(outcome.checks, outcome.diagnostics, outcome.servers, first)
    if any(record):
        journal.write(record)
    status, stop, digest = outcome.status.value, outcome.stop_reason.value, sha256_of(bundle.patch)
    journal.write(lines.RunEnded(status, stop, outcome.reason, digest))


def write_run_bundle(folder: RunFolder, bundle: Bundle) -> None:
    """6. Write the bundle of the run in `folder`. The diff is written before the page, which only shows it. Raises
    `AgentError` if the disk does not take it."""
    write_bundle(bundle, folder.journal)
    page = render_page(folder.journal, bundle.patch)
    try:
        (bundle.folder / REPORT).write_text(page, encoding="utf-8")
    except OSError as error:
        problem = f"The report could not be written to {bundle.folder}: {error.strerror}."
        raise BundleWriteError(problem) from error


def make_branch(repo: Path, result: RunResult, dirty: DirtyBase | None) -> str:
    """Commit the change to a new branch of `repo` and return its name; empty if it was made on a `dirty` base and does
    not apply to HEAD alone. Raises `AgentError`."""
    assert result.verdict is not None
    author = author_of(None, result.policy.identity, "")
    git, base, when = result.checkout.git, result.checkout.base_sha, result.outcome.ended_at
    message = result.bundle.message
    if dirty is None:
        tree = result.verdict.tree_sha
        commit = commit_tree(git, tree, (base,), message, author=author, committer=author, when=when)
    else:
        git, base = Git(dirty.git_dir), dirty.head
        commit = dirty.commit_on_head(result.verdict.patch, message, author, when)
    thread = result.outcome.request.thread
    number, on_pull = (thread.number, thread.is_pull_request) if thread else (None, False)
    name = branch_name(number, title(result.outcome), on_pull_request=on_pull)
    return create_branch(repo, name, source=git, commit=commit, base=base) if commit else ""


_MOST = 65_536
"""Characters, as a comment on GitHub may have."""


def ended(
    folder: Path,
    profile: Profile,
    end: LoopEnd,
    verdict: Verdict | GateError,
    submission: Submission,
    redactor: Redactor,
    conventions: Conventions,
    **known: Any,
) -> Bundle:
    """The bundle of a run, for `folder`; `known` are the fields of its outcome that do not depend on its result. A gate
    that refused the tree outweighs how the conversation ended.

    All secrets are masked, known ones and look-alikes; the request came from outside and stays. A last net: nothing in
    a workspace has a secret, unless a person went without the sandbox."""
    accepted = verdict if isinstance(verdict, Verdict) else Verdict("", b"", b"", (), ())
    stop = _stop(end, verdict, failing(known["checks"], known["request"].instruction))
    result = status(profile, stop, accepted.files, submission)
    # A request to fix something that was a question, or a plan that was not made, has an answer all the same. Of an
    # answer that the output limit cut off there is the beginning.
    answered = result in (Status.ANSWERED, Status.NO_CHANGE) or (
        result is Status.FAILED and stop in (StopReason.END_TURN, StopReason.MAX_TOKENS)
    )
    submission = masked(submission, redactor.masked)
    title, summary, notes = submission.description
    outcome = Outcome(
        schema=SCHEMA_VERSION,
        version=__version__,
        status=result,
        stop_reason=stop,
        reason=_reason(profile, result, stop, end, verdict),
        turns=end.turns,
        usage=end.usage,
        cost=round(end.cost, 6),
        description=Description(title, _capped(summary), _capped(notes)),
        files=accepted.files,
        withheld=accepted.withheld,
        answer=_capped(end.final_text) if answered else "",
        question=_capped(submission.question),
        **known,
    )
    if outcome.files:
        with Parser() as parser:
            outcome, _ = with_title(outcome, conventions, parser)
    fields = outcome._asdict()
    clean = {name: masked(value, redactor.masked) for name, value in fields.items() if name != "request"}
    outcome = outcome._replace(**clean | {"redactions": redactor.names_hit})
    return Bundle(
        folder,
        outcome,
        accepted.patch,
        accepted.withheld_patch,
        commit_message(outcome),
        submission.review,
        submission.plan,
        submission.writes,
    )


def _capped(text: str) -> str:
    """`text` within the limit of a comment: publishing refuses a bundle with a longer one."""
    more = len(text) - _MOST
    return (
        f"{text[:_MOST]}\n\n[{more} more characters were left out here; the journal has them]"
        if more > 0
        else text
    )


def status(
    profile: Profile, stop: StopReason, files: Sequence[ChangedFile], submission: Submission
) -> Status:
    """The status of the request. A verb that reads has its result or failed; a cancelled run has none."""
    wanted, canceled = profile.success, stop is StopReason.CANCELED
    if stop is StopReason.NEEDS_INPUT:
        return Status.NEEDS_INPUT
    if wanted is Status.PLANNED:
        return Status.PLANNED if submission.plan is not None and not canceled else Status.FAILED
    if stop in (StopReason.END_TURN, StopReason.CHECKS_FAILING):
        if wanted in (Status.ANSWERED, Status.REVIEWED):
            return wanted
        return Status.CHANGED if files else Status.NO_CHANGE
    if wanted is Status.ANSWERED:
        is_partial = submission.writes is not None and not canceled
    elif wanted is Status.REVIEWED:
        is_partial = submission.review is not None and bool(submission.review.findings)
    else:
        is_partial = bool(files)
    return Status.PARTIAL if is_partial else Status.FAILED


def _stop(end: LoopEnd, verdict: Verdict | GateError, failing_checks: Sequence[CheckResult]) -> StopReason:
    if isinstance(verdict, OutOfCapacity):
        return StopReason.ERROR
    if isinstance(verdict, GateError) or (verdict.withheld and not verdict.files):
        return StopReason.GATE
    if end.stop is StopReason.END_TURN and failing_checks:
        return StopReason.CHECKS_FAILING
    return end.stop


def _reason(
    profile: Profile, result: Status, stop: StopReason, end: LoopEnd, verdict: Verdict | GateError
) -> str:
    """One or two sentences for people: why the run ended and, without a result, why there is none."""
    if isinstance(verdict, OutOfCapacity):
        return sentence(f"The gate could not check the change: {verdict}")
    if isinstance(verdict, GateError):
        return sentence(f"The gate refused the diff: {verdict}")
    if stop is StopReason.GATE:
        rows = "; ".join(plain(line, "`") for line in islice(held_back(verdict.withheld), _NAMED))
        return f"Everything that changed was withheld: {rows}."
    if stop is StopReason.CHECKS_FAILING:
        return "The model ended its turn, and a check fails with its change."
    if SUBMIT_PLAN in profile.results and result is Status.FAILED and stop is StopReason.END_TURN:
        return "The model ended its turn without a plan."
    if end.turns and not verdict.files and not profile.read_only and stop is StopReason.END_TURN:
        return "The model ended its turn without changing a file."
    return sentence(end.reason)
