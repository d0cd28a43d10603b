"""`slash-agent replay`: run a recording again and compare the patch byte for byte, or name the first difference.

The loop gets the recorded responses and results. Edits run again in a workspace and are checked against their recorded
hashes; files that a command changed are written as recorded. With `rerun` commands run again.
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

from bot.agent.arguments import parse_arguments
from bot.agent.journal import Journal
from bot.agent.journal_file import JournalFile, read_journal
from bot.agent.loop import EMPTY_RESPONSE, ConversationContext, Hooks
from bot.agent.loop import run_loop as converse
from bot.agent.masking import Mask
from bot.agent.replay import (
    RecordedCall,
    RecordedCompactions,
    ReplayError,
    Tape,
    edit_difference,
    file_problem,
    first_difference,
    recalled_messages,
    recorded_agent,
    recorded_calls,
)
from bot.agent.toolbox import CallExecution, Handler, Permission, Permit, Toolbox, skipped_call
from bot.agent.usage import SessionUsage
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
from bot.gate.judge import judge_tree
from bot.gate.verdict import Verdict
from bot.policy.decide import BUILT_IN, may_write
from bot.policy.values import Policy
from bot.providers.replay import ReplayProvider
from bot.session.context.base import base_policy, base_task
from bot.session.context.profiles import TASK, recorded_profile
from bot.session.progress.interruption import cancelled_by_signals
from bot.session.tools.approvals import Approvals, approved_paths, recorded_person
from bot.session.tools.result_tools import ResultTool, ResultTools
from bot.session.tools.skills import recorded_pre_approvals
from bot.session.tools.toolbox import NOT_RUN, Gatekeeper
from bot.session.workspaces.run_gate import unchanged_verdict
from bot.workspace.client import TOOL_SPECS, Answer, Workspace
from bot.workspace.probe import choose
from bot.workspace.sandbox.backends import Setting

_EDITS = frozenset({"edit", "write", "patch"})
_COMMAND = "bash"
_APPLY_LIMIT = 120


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """`repo` must have the base commit of the recording; for a pull request its head, and the commit of the base branch
    whose policy applied."""

    journal: Path
    repo: Path
    sandbox: Setting = "auto"
    rerun: bool = False


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """`difference` is one sentence, empty if the patch equals the recorded one byte for byte."""

    difference: str
    patch: bytes
    recorded_sha256: str


def replay(options: ReplayOptions, environment: Mapping[str, str]) -> ReplayResult:
    """Run the recording again. Raises `AgentError` if it cannot be replayed."""
    recording = read_journal(options.journal)
    repo = options.repo.resolve()
    cancel = CancelToken()
    with tempfile.TemporaryDirectory(prefix="slash-agent-replay-") as scratch, cancelled_by_signals(cancel):
        folder = Path(scratch).resolve()
        checkout = _checkout(repo, recording.header, folder)
        request = recording.header.request
        policy = base_policy(checkout, request, base_task(checkout, request))
        replayed_path = folder / "journal.jsonl"
        with Journal(replayed_path, lambda text: text) as journal:
            with _workspace(options, checkout, folder, environment) as workspace:
                _run_recording(recording, policy, journal, workspace, cancel, rerun=options.rerun)
            verdict = _gate_verdict(checkout, policy, recording)
            journal.write(lines.RunEnded("", "", "", "" if verdict is None else _sha256(verdict.patch), ""))
        return _compare(recording, read_journal(replayed_path), verdict)


def _checkout(repo: Path, header: lines.Header, folder: Path) -> Checkout:
    """Check out the base commit, with the commit whose policy applied."""
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
    local.start_pack(checkout.git, commit).wait()
    return replace(checkout, policy_sha=commit.sha)


def _workspace(
    options: ReplayOptions, checkout: Checkout, folder: Path, environment: Mapping[str, str]
) -> Workspace:
    own = folder / "workspace"
    own.mkdir()
    return Workspace.start(
        choose(options.sandbox).confinement,
        tree=checkout.tree,
        folder=own,
        environment=environment,
        ask=lambda question: Answer(True),
        assume_read=True,
    )


def _run_recording(
    recording: JournalFile,
    policy: Policy,
    journal: Journal,
    workspace: Workspace,
    cancel: CancelToken,
    *,
    rerun: bool,
) -> None:
    header = recording.header
    journal.write(header)
    tape = Tape(recorded_calls(recording))
    handlers = {spec.name: _handler(spec.name, tape, workspace, rerun) for spec in header.tools}
    usage = SessionUsage()
    if TASK in handlers:
        handlers[TASK] = _agent_handler(tape, recording, workspace, usage)
    results = ResultTools()
    handlers |= {name: _result_handler(tape, tool) for name in handlers if (tool := results.find(name))}
    _apply_previous_change(recording, workspace, cancel)
    approved = recorded_pre_approvals(recording)
    approvals = Approvals(
        recorded_person(recording), cancel, approved=() if header.request.actor.tier is Tier.LOCAL else None
    )
    gatekeeper = Gatekeeper(
        policy, header.request.actor.tier, "", journal.write, pre_approved=approved, approvals=approvals
    )
    costs = (line.cost for line in recording.records(lines.Response))
    host_texts = _host_texts(recording)
    added_texts = _added_texts(recording)
    handover_turns = _handover_turns(recording)
    conversation = ConversationContext(
        ReplayProvider(recording.responses(), header.info),
        header.system,
        _ReplayToolbox(
            header.tools, handlers, gatekeeper.permit, _skipped(recording), _recorded_decisions(recording)
        ),
        journal,
        header.limits,
        cancel,
        Hooks(
            before_end=lambda: next(host_texts, None),
            stop_after_call=results.ask.stop,
            is_handover=lambda info: info.turn in handover_turns,
            after_results=lambda info: added_texts.get(info.turn, ()),
        ),
        stop_on_denial=policy.on_deny == "stop",
        # As recorded: a skill may have had another model.
        price=lambda usage, info: next(costs, 0.0),
        compaction=RecordedCompactions(recording),
        shared_usage=usage,
        masking=recorded_profile(header).masking,
        before=recalled_messages(recording),
    )
    first = next(recording.records(lines.UserText), None)
    if first is None:
        raise UsageError("The recorded run ended before its first request: there is nothing to replay.")
    converse(conversation, first.text, first.images)


def _host_texts(recording: JournalFile) -> Iterator[str]:
    """Return the host's texts after the model was done, without those that the loop adds itself."""
    texts = (line.text for line in recording.records(lines.UserText) if line.origin == "host")
    return (text for text in texts if text != EMPTY_RESPONSE)


def _handover_turns(recording: JournalFile) -> set[int]:
    """Return the turns with calls after which the host spoke or the session ended normally. Recordings before version
    0.2 have none: the model got one more request."""
    calls = {line.turn for line in recording.records(lines.Response) if any(map(_is_call, line.parts))}
    host_turns = {line.turn for line in recording.records(lines.UserText) if line.origin == "host"}
    end = next(recording.records(lines.SessionEnded), None)
    if end is not None and end.stop_reason == StopReason.END_TURN:
        host_turns.add(end.turns)
    return calls & host_turns


def _is_call(part: Part) -> bool:
    return isinstance(part, ToolCall)


def _added_texts(recording: JournalFile) -> Mapping[int, list[str]]:
    """Return the texts after the results of each turn."""
    added_texts: dict[int, list[str]] = {}
    for line in recording.records(lines.UserText):
        if line.origin == "added":
            added_texts.setdefault(line.turn, []).append(line.text)
    return added_texts


class _ReplayToolbox(Toolbox):
    """Answers calls that were skipped after a failed edit as recorded; `skipped` is by call id. Recorded `decisions`
    of built-in rules are used too: these rules depend on where the run's tree was and where its commands ended, and
    change from version to version."""

    def __init__(
        self,
        specs: Sequence[ToolSpec],
        handlers: Mapping[str, Handler],
        permit: Permit,
        skipped: Mapping[str, str],
        decisions: Mapping[str, lines.PermissionDecision],
    ) -> None:
        super().__init__(specs, handlers, self._permit_as_recorded)
        self._decide = permit
        self._skipped = skipped
        self._decisions = decisions
        self._call_id = ""

    def execute(self, call: ToolCall, cancel: CancelToken, mask: Mask | None = None) -> CallExecution:
        self._call_id = call.id
        text = self._skipped.get(call.id)
        return super().execute(call, cancel, mask) if text is None else skipped_call(call, text)

    def _permit_as_recorded(self, tool: str, arguments: Mapping[str, Any]) -> Permission:
        recorded = self._decisions.get(self._call_id)
        if recorded is not None and recorded.rule.startswith(BUILT_IN):
            return Permission(recorded.allow, recorded.rule, recorded.reason)
        permission = self._decide(tool, arguments)
        if recorded is not None and recorded.allow and permission.rule.startswith(BUILT_IN):
            return Permission(allow=True, rule=recorded.rule)
        return permission


def _recorded_decisions(recording: JournalFile) -> Mapping[str, lines.PermissionDecision]:
    return {one.call_id: one for one in recording.records(lines.PermissionDecision) if one.call_id}


def _skipped(recording: JournalFile) -> Mapping[str, str]:
    results = recording.records(lines.Result)
    return {
        one.call_id: one.content for one in results if not one.executed and one.content.startswith(NOT_RUN)
    }


def _result_handler(tape: Tape, result: ResultTool) -> Handler:
    def handle(arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        call = tape.take(result.spec.name)
        if call.result is None or call.handed_over or call.result.is_error:
            outcome = result(arguments, cancel)
        # In the words of the recording, which vary with the session.
        return outcome if call.result is None else call.outcome

    return handle


def _handler(tool: str, tape: Tape, workspace: Workspace, rerun: bool) -> Handler:
    def handle(arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        call = tape.take(tool)
        if tool in _EDITS and not call.outcome.is_error:
            outcome = workspace.call(tool, _full_arguments(call.outcome, arguments), cancel)
            if difference := edit_difference(call, outcome):
                raise ReplayError(difference)
        elif tool == _COMMAND and rerun and not arguments.get("background"):
            return workspace.call(tool, arguments, cancel)
        _apply_recorded_files(call, workspace, cancel)
        return call.outcome

    return handle


def _full_arguments(outcome: ToolOutcome, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of an edit. A patch that continues a refused one has the full patch in its metadata."""
    patch = outcome.metadata.get("patch")
    return {"patch": patch} if isinstance(patch, str) else arguments


def _agent_handler(tape: Tape, recording: JournalFile, workspace: Workspace, usage: SessionUsage) -> Handler:
    """Replay subagents without a model: repeat their edits in order and count their usage."""
    specs = {spec.name: spec for spec in TOOL_SPECS}

    def handle(arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        call = tape.take(TASK)
        agent = recorded_agent(recording, call)
        for inner in agent.calls if agent else ():
            if inner.call.name in _EDITS and inner.result is not None and not inner.result.is_error:
                values = parse_arguments(inner.call.arguments, specs[inner.call.name].parameters).values
                values = _full_arguments(inner.outcome, values)
                if difference := edit_difference(inner, workspace.call(inner.call.name, values, cancel)):
                    raise ReplayError(difference)
            _apply_recorded_files(inner, workspace, cancel)
        if agent is not None:
            usage.requests += agent.requests
            usage.add(agent.usage, agent.cost)
        return call.outcome

    return handle


def _apply_previous_change(recording: JournalFile, workspace: Workspace, cancel: CancelToken) -> None:
    """Write the files that the tree had before the first turn, if the run continued another."""
    files = [file for line in recording.records(lines.FilesChanged) if line.turn == 0 for file in line.files]
    _apply_recorded_files(
        RecordedCall(0, ToolCall("", "the last run's change", ""), None, tuple(files)), workspace, cancel
    )


def _apply_recorded_files(call: RecordedCall, workspace: Workspace, cancel: CancelToken) -> None:
    """Write the files that the recorded command changed, by a script inside the sandbox."""
    if problem := file_problem(call):
        raise ReplayError(problem)
    if not call.files:
        return
    script = "set -e\n" + "\n".join(_write_file(file) for file in call.files)
    # Sent in the middle of a recorded turn: the command is ours, its output goes nowhere.
    outcome = workspace.call(_COMMAND, {"command": script, "timeout": _APPLY_LIMIT}, cancel)
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


def _gate_verdict(checkout: Checkout, policy: Policy, recording: JournalFile) -> Verdict | None:
    if recorded_profile(recording.header).read_only:
        return unchanged_verdict(checkout.git, checkout.base_sha)
    request = recording.header.request
    rule = may_write(
        policy, request.actor.tier, approved_paths(recording), deletions=request.allows_deletions
    )
    try:
        return judge_tree(checkout.git, checkout.base_sha, checkout.tree, may_write=rule)
    except GateError:
        # The recording's gate may have refused it as well: then both have no patch.
        return None


def _compare(recording: JournalFile, replayed: JournalFile, verdict: Verdict | None) -> ReplayResult:
    patch = verdict.patch if verdict else b""
    ended = next(recording.records(lines.RunEnded), None)
    if ended is None:
        return ReplayResult(
            "The recorded run was killed before its gate, so there is no patch to compare with.", patch, ""
        )
    if ended.patch_sha256 == _sha256(patch):
        return ReplayResult("", patch, ended.patch_sha256)
    difference = (
        first_difference(recording, replayed) or "Every call had its recorded result, but the patch differs."
    )
    return ReplayResult(difference, patch, ended.patch_sha256)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
