"""`slash-agent replay`: a recorded run again. Same patch byte for byte, or the first difference named.

The recorded responses and results are fed to the loop. Edits are made again in a workshop and checked against
their recorded hashes; files that a command changed are put in place as recorded. With `rerun` commands run again.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bot.agent.arguments import parse
from bot.agent.journal import Journal
from bot.agent.journal_file import JournalFile, read_journal
from bot.agent.loop import SAID_NOTHING, Hooks, Session
from bot.agent.loop import run as converse
from bot.agent.masking import Mask, last_request_hands_over
from bot.agent.replay import (
    RecordedCall,
    RecordedCompactions,
    ReplayError,
    Tape,
    edit_difference,
    file_trouble,
    first_difference,
    recalled,
    recorded_agent,
    recorded_calls,
)
from bot.agent.spent import Spent
from bot.agent.toolbox import Executed, Handler, Permit, Toolbox, not_run
from bot.checkout import local
from bot.checkout.clone import Checkout, Source, prepare
from bot.checkout.errors import MissingRevisionError
from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import GateError, UsageError
from bot.contracts.messages import Part, ToolCall
from bot.contracts.outcome import StopReason
from bot.contracts.request import Tier
from bot.contracts.tools import ToolOutcome, ToolSpec
from bot.gate.tree import Verdict, judge_tree
from bot.policy.decide import may_write
from bot.policy.schema import Policy
from bot.providers.replay import ReplayProvider
from bot.run.asking import Asking, recorded_lets, recorded_person
from bot.run.base import base_policy, base_task
from bot.run.conclude import nothing_changed
from bot.run.profiles import TASK, recorded_profile
from bot.run.results import Results, ResultTool
from bot.run.signals import cancelled_by_signals
from bot.run.skills import recorded_approvals
from bot.run.tools import NOT_RUN, Gatekeeper
from bot.sandbox.choose import Setting
from bot.workshop.client.specs import TOOL_SPECS
from bot.workshop.client.wall import choose
from bot.workshop.client.workshop import Answer, Workshop

_EDITS = frozenset({"edit", "write", "patch"})
_COMMAND = "bash"
_APPLY_LIMIT = 120


@dataclass(frozen=True, slots=True)
class Replay:
    """`repo` must hold the base commit of the recording; of a pull request that is its head, and the commit of the base
    branch whose policy was kept must be there too."""

    journal: Path
    repo: Path
    sandbox: Setting = "auto"
    rerun: bool = False


@dataclass(frozen=True, slots=True)
class Replayed:
    """`difference` is one sentence, empty when the patch is the recorded one byte for byte."""

    difference: str
    patch: bytes
    recorded_sha256: str


def replay(asked: Replay, environment: Mapping[str, str]) -> Replayed:
    """Run the recording again. Raises an `AgentError` where it cannot be."""
    recorded = read_journal(asked.journal)
    repo = asked.repo.resolve()
    cancel = CancelToken()
    with tempfile.TemporaryDirectory(prefix="slash-agent-replay-") as scratch, cancelled_by_signals(cancel):
        folder = Path(scratch).resolve()
        checkout = _checkout(repo, recorded.header, folder)
        request = recorded.header.request
        policy = base_policy(checkout, request, base_task(checkout, request))
        again = folder / "journal.jsonl"
        with Journal(again, lambda text: text) as journal:
            with _workshop(asked, checkout, folder, environment) as workshop:
                _play(recorded, policy, journal, workshop, cancel, rerun=asked.rerun)
            verdict = _judge(checkout, policy, recorded)
            journal.write(lines.RunEnded("", "", "", "" if verdict is None else _sha256(verdict.patch), ""))
        return _compare(recorded, read_journal(again), verdict)


def _checkout(repo: Path, header: lines.Header, folder: Path) -> Checkout:
    """The commit that was worked on, with the one whose policy was kept."""
    checkout = prepare(Source(str(repo), header.base_sha), folder)
    if header.policy_sha in ("", header.base_sha):
        return checkout
    try:
        commit = local.resolve(repo, header.policy_sha)
    except MissingRevisionError as error:
        raise UsageError(
            f"The policy of this run is that of {header.policy_sha[:12]} on {header.request.base_ref}, and "
            f"{repo} does not have that commit: fetch it."
        ) from error
    local.start_packing(checkout.git, commit).wait()
    return replace(checkout, policy_sha=commit.sha)


def _workshop(asked: Replay, checkout: Checkout, folder: Path, environment: Mapping[str, str]) -> Workshop:
    own = folder / "workshop"
    own.mkdir()
    return Workshop.start(
        choose(asked.sandbox).confinement, tree=checkout.tree, folder=own, environment=environment,
        ask=lambda question: Answer(True), assume_read=True,
    )  # fmt: skip


def _play(
    recorded: JournalFile,
    policy: Policy,
    journal: Journal,
    workshop: Workshop,
    cancel: CancelToken,
    *,
    rerun: bool,
) -> None:
    header = recorded.header
    journal.write(header)
    tape = Tape(recorded_calls(recorded))
    handlers = {spec.name: _handler(spec.name, tape, workshop, rerun) for spec in header.tools}
    purse = Spent()
    if TASK in handlers:
        handlers[TASK] = _agents(tape, recorded, workshop, purse)
    results = Results()
    handlers |= {name: _taking(tape, tool) for name in handlers if (tool := results.find(name))}
    _put_last_change(recorded, workshop, cancel)
    approved = recorded_approvals(recorded)
    asking = Asking(
        recorded_person(recorded), cancel,
        approved=() if header.request.actor.tier is Tier.LOCAL else None,
    )  # fmt: skip
    gatekeeper = Gatekeeper(
        policy, header.request.actor.tier, "", journal.write, pre_approved=approved, asking=asking
    )
    costs = (line.cost for line in recorded.records(lines.Response))
    host_texts = _host_texts(recorded)
    added = _added_texts(recorded)
    ends = _hand_overs(recorded)
    session = Session(
        ReplayProvider(recorded.responses(), header.info), header.system,
        _ReplayToolbox(header.tools, handlers, gatekeeper.permit, _skipped(recorded)), journal, header.limits, cancel,
        Hooks(
            before_end=lambda: next(host_texts, None), wants_end=results.ask.stop,
            hands_over=lambda info: info.turn in ends,
            after_results=lambda info: added.get(info.turn, ()),
        ),
        stop_on_denial=policy.on_deny == "stop",
        # As recorded: a skill may have had another model.
        price=lambda usage, info: next(costs, 0.0),
        compaction=RecordedCompactions(recorded),
        purse=purse,
        masking=last_request_hands_over(recorded_profile(header).results),
        before=recalled(recorded),
    )  # fmt: skip
    first = next(recorded.records(lines.UserText), None)
    if first is None:
        raise UsageError("The recorded run ended before its first request: there is nothing to replay.")
    converse(session, first.text, first.images)


def _host_texts(recorded: JournalFile) -> Iterator[str]:
    """What the host said when the model was done. What the loop says of itself it will say again."""
    said = (line.text for line in recorded.records(lines.UserText) if line.origin == "host")
    return (text for text in said if text != SAID_NOTHING)


def _hand_overs(recorded: JournalFile) -> set[int]:
    """The turns with calls after which the host was heard, or the session ended as the model wished. Before version 0.2
    of this program none was: the model was asked once more."""
    calls = {line.turn for line in recorded.records(lines.Response) if any(map(_is_call, line.parts))}
    heard = {line.turn for line in recorded.records(lines.UserText) if line.origin == "host"}
    end = next(recorded.records(lines.SessionEnded), None)
    if end is not None and end.stop_reason == StopReason.END_TURN:
        heard.add(end.turns)
    return calls & heard


def _is_call(part: Part) -> bool:
    return isinstance(part, ToolCall)


def _added_texts(recorded: JournalFile) -> Mapping[int, list[str]]:
    """What followed the results of each turn."""
    added: dict[int, list[str]] = {}
    for line in recorded.records(lines.UserText):
        if line.origin == "added":
            added.setdefault(line.turn, []).append(line.text)
    return added


class _ReplayToolbox(Toolbox):
    """Answers the calls that were left out after a failed edit as the recorded run did; `skipped` is by call id."""

    def __init__(
        self,
        specs: Sequence[ToolSpec],
        handlers: Mapping[str, Handler],
        permit: Permit,
        skipped: Mapping[str, str],
    ) -> None:
        super().__init__(specs, handlers, permit)
        self._skipped = skipped

    def execute(self, call: ToolCall, cancel: CancelToken, mask: Mask | None = None) -> Executed:
        text = self._skipped.get(call.id)
        return super().execute(call, cancel, mask) if text is None else not_run(call, text)


def _skipped(recorded: JournalFile) -> Mapping[str, str]:
    results = recorded.records(lines.Result)
    return {
        one.call_id: one.content for one in results if not one.executed and one.content.startswith(NOT_RUN)
    }


def _taking(tape: Tape, result: ResultTool) -> Handler:
    def handle(arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        call = tape.take(result.spec.name)
        again = result(arguments, cancel)
        # In the words of the recording, which vary with the session.
        return again if call.result is None else call.outcome

    return handle


def _handler(tool: str, tape: Tape, workshop: Workshop, rerun: bool) -> Handler:
    def handle(arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        call = tape.take(tool)
        if tool in _EDITS and not call.outcome.is_error:
            again = workshop.call(tool, _whole(call.outcome, arguments), cancel)
            if difference := edit_difference(call, again):
                raise ReplayError(difference)
        elif tool == _COMMAND and rerun and not arguments.get("background"):
            return workshop.call(tool, arguments, cancel)
        _put_in_place(call, workshop, cancel)
        return call.outcome

    return handle


def _whole(outcome: ToolOutcome, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of an edit. A patch that went on from a refused one has the whole of it in its metadata."""
    patch = outcome.metadata.get("patch")
    return {"patch": patch} if isinstance(patch, str) else arguments


def _agents(tape: Tape, recorded: JournalFile, workshop: Workshop, purse: Spent) -> Handler:
    """Subagents are not asked again: what they changed is made again in their order, what they spent is spent."""
    specs = {spec.name: spec for spec in TOOL_SPECS}

    def handle(arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        call = tape.take(TASK)
        agent = recorded_agent(recorded, call)
        for inner in agent.calls if agent else ():
            if inner.call.name in _EDITS and inner.result is not None and not inner.result.is_error:
                values = parse(inner.call.arguments, specs[inner.call.name].parameters).values
                values = _whole(inner.outcome, values)
                if difference := edit_difference(inner, workshop.call(inner.call.name, values, cancel)):
                    raise ReplayError(difference)
            _put_in_place(inner, workshop, cancel)
        if agent is not None:
            purse.requests += agent.requests
            purse.use(agent.usage, agent.cost)
        return call.outcome

    return handle


def _put_last_change(recorded: JournalFile, workshop: Workshop, cancel: CancelToken) -> None:
    """What was in the tree before the first turn, where the run went on from another."""
    there = [file for line in recorded.records(lines.FilesChanged) if line.turn == 0 for file in line.files]
    _put_in_place(
        RecordedCall(0, ToolCall("", "the last run's change", ""), None, tuple(there)), workshop, cancel
    )


def _put_in_place(call: RecordedCall, workshop: Workshop, cancel: CancelToken) -> None:
    """Write the files that the recorded command changed, by a script inside the sandbox."""
    if trouble := file_trouble(call):
        raise ReplayError(trouble)
    if not call.files:
        return
    script = "set -e\n" + "\n".join(_write_file(file) for file in call.files)
    # Sent in the middle of a recorded turn: the command is ours, its output goes nowhere.
    outcome = workshop.call(_COMMAND, {"command": script, "timeout": _APPLY_LIMIT}, cancel)
    if outcome.metadata.get("exit_code") != 0:
        raise ReplayError(
            f"{call.name}: the recorded files could not be put in place: {outcome.content[-300:]}"
        )


def _write_file(file: lines.FileVersion) -> str:
    path = shlex.quote(f"./{file.path}")
    if file.after is None and file.link is None:
        return f"rm -f -- {path}"
    make = f'mkdir -p -- "$(dirname -- {path})"; rm -f -- {path}'
    if file.link is not None:
        return f"{make}; ln -s -- {shlex.quote(file.link)} {path}"
    content = base64.b64encode(file.content or b"").decode()
    return f"{make}; base64 -d > {path} <<'END'\n{content}\nEND\nchmod {file.mode & 0o777:o} -- {path}"


def _judge(checkout: Checkout, policy: Policy, recorded: JournalFile) -> Verdict | None:
    if recorded_profile(recorded.header).read_only:
        return nothing_changed(checkout.git, checkout.base_sha)
    rule = may_write(policy, recorded.header.request.actor.tier, recorded_lets(recorded))
    try:
        return judge_tree(checkout.git, checkout.base_sha, checkout.tree, may_write=rule)
    except GateError:
        # The recording's gate may have refused it as well: then both have no patch.
        return None


def _compare(recorded: JournalFile, again: JournalFile, verdict: Verdict | None) -> Replayed:
    patch = verdict.patch if verdict else b""
    ended = next(recorded.records(lines.RunEnded), None)
    if ended is None:
        return Replayed(
            "The recorded run was killed before its gate, so there is no patch to compare with.", patch, ""
        )
    if ended.patch_sha256 == _sha256(patch):
        return Replayed("", patch, ended.patch_sha256)
    difference = (
        first_difference(recorded, again) or "Every call had its recorded result, but the patch differs."
    )
    return Replayed(difference, patch, ended.patch_sha256)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
