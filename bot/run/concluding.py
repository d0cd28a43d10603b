"""What a run leaves once its conversation is over: the gate's verdict, the evidence, the outcome and the journal's
last lines."""

from __future__ import annotations

from bot import __version__
from bot.agent.loop import LoopEnd
from bot.contracts import journal as lines
from bot.contracts.errors import GateError
from bot.contracts.model import ModelInfo
from bot.contracts.outcome import Outcome, StopReason
from bot.providers.models import doubts
from bot.run import limits_met
from bot.run.conclude import Facts, outcome
from bot.run.evidence import evidence
from bot.run.masked import masked, masked_value
from bot.run.network import said
from bot.run.outputs import gather
from bot.run.parts import Run, now
from bot.run.terms import Ended

_UNCHECKED = "The run was canceled while its change was checked."


def conclude(run: Run, end: LoopEnd, model: ModelInfo) -> Ended:
    judged, dropped = run.judging.at_the_end()
    verdict = None if isinstance(judged, GateError) else judged
    tree_sha = verdict.tree_sha if verdict and verdict.files else None
    checks = run.rounds.results(tree_sha)
    if run.stop.fired and end.stop is StopReason.END_TURN:
        end = end._replace(stop=StopReason.CANCELED, reason=_UNCHECKED)
    network = run.network.used()
    for sentence in said(network):
        run.journal.write(lines.Note(sentence))
    review = run.reviewing.review(end.final_text) if run.reviewing else None
    handed = masked_value(run.results.handed(review), run.detector)
    facts = Facts(
        run.job.request, run.checkout.base_sha, model.name, run.confinement.name, run.started_at, now(),
        __version__,
    )  # fmt: skip
    notes = (
        *doubts(model), *run.job.notes, *run.trees.notes(), *run.briefing.notes(), *run.results.notes(), *dropped,
        *said(network), *limits_met.said(run.workshops.limits_met()),
    )  # fmt: skip
    concluded = outcome(
        facts, run.profile, end, judged, handed,
        checks=checks,
        denials=run.gatekeeper.denials,
        notes=notes,
        redactions=(),
        network=network,
        diagnostics=run.rounds.diagnostics(tree_sha),
        servers=run.looking_on.servers(),
        coverage=run.rounds.coverage(tree_sha),
    )  # fmt: skip
    concluded = masked(concluded, run.detector)
    _record(run, concluded, verdict.tree_sha if verdict else "")
    outputs = gather(run.job.folder, run.detector.kept)
    return Ended(
        run.checkout, run.policy, concluded, verdict, handed.plan, handed.review, handed.writes, outputs,
        isinstance(judged, GateError) or bool(judged.unfit),
    )  # fmt: skip


def _record(run: Run, concluded: Outcome, tree_sha: str) -> None:
    """The journal's last lines."""
    if run.journal.failure:
        return
    if told := evidence(concluded):
        run.journal.write(told)
    run.journal.write(
        lines.RunEnded(
            concluded.status.value, concluded.stop_reason.value, concluded.reason, concluded.patch_sha256, tree_sha
        )
    )  # fmt: skip
