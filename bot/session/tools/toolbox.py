"""The tool calls of a run: the gatekeeper decides by verb and policy, the toolbox runs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field

from bot.agent.recorded_calls import ResultTool
from bot.agent.submission_tools import ANSWER
from bot.agent.toolbox import PERSON, CallExecution, Handler, Mask, Permission, Toolbox, error_result
from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.messages import ToolCall
from bot.contracts.outcome import Denial
from bot.contracts.progress import Inquiry
from bot.contracts.request import Tier
from bot.contracts.tool_descriptions import SHELL, SHELL_TOOLS, TOOL_SPECS, WRITING
from bot.contracts.tools import ToolArguments, ToolOutcome
from bot.policy.decide import Decision, decide
from bot.policy.rule import Effect, patched_paths
from bot.policy.settings import Policy
from bot.session.tools.approvals import BY_PERSON_SUFFIX, NO, Approvals
from bot.session.workspaces.agent_workspace import AgentWorkspace
from bot.session.workspaces.start_workspaces import CallPosition
from bot.verbs.record import DESCRIBE_CHANGE, TASK, Profile
from bot.workspace.client import Answer, Question

_LONGEST_SUBJECT = 200

_NEEDS_THE_EDITS = (SHELL, TASK, DESCRIBE_CHANGE)
"""Calls that need the edits before them in the same answer."""

NOT_RUN = "Not run: "

_NOT_KNOWN_YET = NOT_RUN + (
    "it was called before the answer to the question was known. Call it again if it fits the answer."
)

_EDIT_FAILED = NOT_RUN + "the {} before it failed."

_NOT_GRANTED = "it runs only commands that a rule of the policy allows"

_SEVERAL = re.compile(r"[;&|\n]")


@dataclass(eq=False)
class Gatekeeper:
    """Decides on each call and on each write that the tool host proposes, and records the denials. Without a `profile`
    only the policy counts."""

    policy: Policy
    tier: Tier
    root: str
    write: Callable[[lines.Record], None]
    profile: Profile | None = None
    approvals: Approvals = field(default_factory=lambda: Approvals(None, CancelToken()))
    denials: list[Denial] = field(default_factory=list, init=False)
    refused: list[str] = field(default_factory=list, init=False)
    """An entry for each write of the tool host that was refused: a person's answer, empty without one."""
    edited: set[str] = field(default_factory=set, init=False)
    """The paths that edit tools asked to write."""
    outside: bool = field(default=False, init=False)
    """Whether the last command ended in a folder outside of the work tree, where the next one begins."""
    _agent: str = field(default="", init=False)
    """The name of the subagent whose calls these are."""
    _asks_later: Decision | None = field(default=None, init=False)
    """The rule that asks about the write that is running."""

    def for_agent(self, profile: Profile, write: Callable[[lines.Record], None], name: str) -> Gatekeeper:
        """The same policy for the subagent `name`, which shares the run's denials and approvals."""
        gatekeeper = copy(self)
        gatekeeper.write, gatekeeper.profile = write, profile
        gatekeeper._agent = name
        return gatekeeper

    def permit(self, tool: str, arguments: ToolArguments) -> Permission:
        """Where the policy asks, the person decides on a command here, and on a write once its diff is known."""
        self._asks_later = None
        decision = self.decide(tool, arguments, can_ask=True)
        if decision.allowed:
            return Permission(allow=True, rule=decision.rule)
        patched = ", ".join(patched_paths(arguments.get("patch")))
        subject = str(arguments.get("command") or arguments.get("path") or patched)
        if decision.effect is Effect.ASK:
            rule = f"{decision.rule}{BY_PERSON_SUFFIX}"
            if tool in WRITING:
                self._asks_later = decision
                return Permission(allow=True, rule=rule)
            inquiry = Inquiry(tool, subject, decision.rule, decision.reason, agent=self._agent)
            reply = self.approvals.ask(inquiry, [("", decision)])
            if reply is not None and reply.allow:
                return reply._replace(rule=rule)
            if reply is not None:
                self._add_denial(tool, subject, rule, reply.reason)
                return reply._replace(rule=rule, reason=_as_a_whole(reply.reason, subject))
            decision = self.decide(tool, arguments)
        self._add_denial(tool, subject, decision.rule, decision.reason)
        return Permission(allow=False, rule=decision.rule, reason=_as_a_whole(decision.message, subject))

    def answer(self, question: Question) -> Answer:
        """Decide on a write: the strictest decision on any path counts for all. Paths are resolved, so a link cannot
        lead a write past a rule."""
        self.edited.update(path for path, _ in question.files)
        self.write(question)
        if (answer := self._ask_about_writes(question, self._decisions(question, can_ask=True))) is not None:
            return answer
        path, decision = max(self._decisions(question), key=lambda item: item[1].effect.rank)
        reason = "" if decision.allowed else decision.message
        if not decision.allowed:
            self._add_denial(question.tool, path, decision.rule, decision.reason)
            self.refused.append("")
        if reason and len(question.files) > 1:
            reason = f"{path}: {reason} No file was written."
        self.write(
            lines.PermissionDecision(question.tool, decision.allowed, decision.rule, reason, path=path)
        )
        return Answer(decision.allowed, reason)

    def _decisions(self, question: Question, *, can_ask: bool = False) -> list[tuple[str, Decision]]:
        return [
            (path, self.decide(question.tool, {"path": path}, writes=True, can_ask=can_ask))
            for path, _ in question.files
        ]

    def _ask_about_writes(
        self, question: Question, decisions: Sequence[tuple[str, Decision]]
    ) -> Answer | None:
        """A person's answer; `None` where nobody is asked."""
        to_ask = [(path, decision) for path, decision in decisions if decision.effect is Effect.ASK]
        if any(decision.effect is Effect.DENY for _, decision in decisions):
            return None
        if not to_ask:
            # A call that policy asks about by what it says may resolve to a path that no rule is about.
            if self._asks_later is None or not self.approvals.may(write=True):
                return None
            to_ask = [(path, self._asks_later) for path, _ in decisions]
        subject, (asked_path, asked) = ", ".join(path for path, _ in question.files), to_ask[0]
        inquiry = Inquiry(
            question.tool, subject, asked.rule, asked.reason, question.files, question.diff, agent=self._agent
        )
        if (reply := self.approvals.ask(inquiry, to_ask)) is None:
            return None
        for path, decision in to_ask:
            name = f"{decision.rule}{BY_PERSON_SUFFIX}"
            self.write(lines.PermissionDecision(question.tool, reply.allow, name, reply.reason, path=path))
        if reply.allow:
            return Answer(True)
        self._add_denial(question.tool, asked_path, f"{asked.rule}{BY_PERSON_SUFFIX}", reply.reason)
        self.refused.append(reply.person_answer)
        return Answer(False, f"Permission denied by the rule {asked.rule}: {reply.reason}")

    def decide(
        self, tool: str, arguments: ToolArguments, *, writes: bool = False, can_ask: bool = False
    ) -> Decision:
        """The decision on a call or, with `writes`, on a write that the tool host proposes. Records nothing. With
        `can_ask` it is to ask, if the policy says so and a person is there to answer."""
        if self.profile is not None and (reason := _reason_not_offered(self.profile, tool, writes=writes)):
            return Decision(Effect.DENY, f"the verb `{self.profile.verb}`", reason)
        can_ask = can_ask and self.approvals.may(write=tool in WRITING)
        decision = decide(
            self.policy, self.tier, tool, arguments, can_ask=can_ask, root=self.root, outside=self.outside
        )
        if tool == SHELL and self.profile and self.profile.granted and decision == Decision(Effect.ALLOW):
            return Decision(Effect.DENY, f"the verb `{self.profile.verb}`", _NOT_GRANTED)
        return decision

    def _add_denial(self, tool: str, subject: str, rule: str, reason: str) -> None:
        self.denials.append(Denial(tool, subject[:_LONGEST_SUBJECT], rule, reason))


def _as_a_whole(reason: str, subject: str) -> str:
    """`reason`, and what it means for the other commands of a command line."""
    return f"{reason} Nothing of this command line was run." if _SEVERAL.search(subject) else reason


def _reason_not_offered(profile: Profile, tool: str, *, writes: bool) -> str:
    """Why the verb does not offer `tool`, independent of the policy; empty if it does. The model does not see such a
    tool; this check is for calls that come another way."""
    if profile.read_only and (writes or tool in WRITING):
        return "it changes nothing"
    if tool in SHELL_TOOLS and profile.unrun:
        return profile.unrun
    if tool not in profile.all_tools:
        return f"it is not given {tool}"
    return ""


class CallTracker:
    """The call that a conversation is at. `agent` is the subagent's name."""

    def __init__(self, agent: str = "") -> None:
        self.position = CallPosition(0, "", agent)


class RunToolbox(Toolbox):
    """The session's tools: those of the workspace and of the supervisor that the profile names."""

    def __init__(
        self,
        workspace: AgentWorkspace,
        gatekeeper: Gatekeeper,
        profile: Profile,
        results: Sequence[ResultTool],
        calls: CallTracker,
    ) -> None:
        offered = tuple(spec for spec in TOOL_SPECS if spec.name in profile.tools)
        handlers: dict[str, Handler] = {
            spec.name: self._through(workspace, gatekeeper, spec.name) for spec in offered
        }
        handlers |= {tool.spec.name: tool for tool in results}
        super().__init__((*offered, *(tool.spec for tool in results)), handlers, gatekeeper.permit)
        self._calls = calls
        self._approvals = gatekeeper.approvals
        self._edits = 0
        self._failed = ""
        self._answered = False

    def begin_answer(self, calls: Sequence[ToolCall]) -> None:
        self._edits = sum(self._name(call) in WRITING for call in calls)
        self._failed = ""
        self._answered = False

    def execute(self, call: ToolCall, cancel: CancelToken, mask: Mask | None = None) -> CallExecution:
        name = self._name(call)
        if self._answered:
            return error_result(call, _NOT_KNOWN_YET)
        if self._failed and name in _NEEDS_THE_EDITS:
            return error_result(call, _EDIT_FAILED.format(self._failed))
        if name in WRITING:
            self._edits -= 1
        at = self._calls.position._replace(call_id=call.id, more_edits=self._edits > 0)
        self._calls.position = at
        executed = super().execute(call, cancel, mask)
        self._answered = ANSWER in executed.outcome.metadata
        if name in WRITING and executed.result.is_error:
            self._failed = name
        if not self._approvals.refused or executed.person_answer == NO:
            return executed
        # Said to a call of a subagent: it ends the run as well.
        outcome = executed.outcome._replace(metadata={**executed.outcome.metadata, PERSON: NO})
        return executed._replace(outcome=outcome)

    def _name(self, call: ToolCall) -> str:
        spec = self.find(call.name)
        return spec.name if spec else ""

    def _through(self, workspace: AgentWorkspace, gatekeeper: Gatekeeper, tool: str) -> Handler:
        def handle(arguments: ToolArguments, cancel: CancelToken) -> ToolOutcome:
            refused = len(gatekeeper.refused)
            outcome = workspace.call(tool, arguments, cancel, self._calls.position)
            metadata = {name: value for name, value in outcome.metadata.items() if name != PERSON}
            if tool == SHELL and "exit_code" in metadata:
                gatekeeper.outside = metadata.get("outside") is True
            if len(gatekeeper.refused) > refused:
                # The host's question was answered with no: the loop counts that like a denied call.
                metadata["denied"] = True
                if answer := gatekeeper.refused[-1]:
                    metadata[PERSON] = answer
            return outcome._replace(metadata=metadata)

        return handle
