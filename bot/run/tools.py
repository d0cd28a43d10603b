"""What the model's tool calls meet in a run: the policy's answer, then the workshop or a tool of our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bot.agent.results import DESCRIBE_CHANGE, DescribeChange
from bot.agent.toolbox import Executed, Handler, Permission, Toolbox
from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.messages import ToolCall
from bot.contracts.outcome import Denial
from bot.contracts.request import Tier
from bot.contracts.tools import ToolOutcome
from bot.policy.decide import Decision, decide
from bot.policy.schema import Policy
from bot.run.agent_workshop import AgentWorkshop, CallPlace
from bot.workshop.client.specs import TOOL_SPECS
from bot.workshop.client.workshop import Answer, Question

_SHELL = "bash"
_LONGEST_SUBJECT = 200


class Gatekeeper:
    """Asks the policy about each call and about each write the tool host proposes; remembers the denials."""

    def __init__(self, policy: Policy, tier: Tier, root: str, write: Callable[[lines.Record], None]) -> None:
        self._policy = policy
        self._tier = tier
        self._root = root
        self._write = write
        self.denials: list[Denial] = []

    def permit(self, tool: str, arguments: Mapping[str, Any]) -> Permission:
        decision = decide(self._policy, self._tier, tool, arguments, root=self._root)
        if decision.allowed:
            return Permission(allow=True, rule=decision.rule)
        subject = str(arguments.get("command") or arguments.get("path") or "")
        return Permission(allow=False, rule=decision.rule, reason=self._denied(tool, subject, decision))

    def answer(self, question: Question) -> Answer:
        """The path is the resolved one here: a link cannot lead a write past a rule."""
        self._write(lines.Question(question.tool, question.path, question.action, question.diff))
        decision = decide(self._policy, self._tier, question.tool, {"path": question.path}, root=self._root)
        reason = "" if decision.allowed else self._denied(question.tool, question.path, decision)
        self._write(
            lines.Permitted(question.tool, decision.allowed, decision.rule, reason, path=question.path)
        )
        return Answer(decision.allowed, reason)

    def _denied(self, tool: str, subject: str, decision: Decision) -> str:
        self.denials.append(Denial(tool, subject[:_LONGEST_SUBJECT], decision.rule, decision.reason))
        return decision.message


class RunToolbox(Toolbox):
    """The session's tools: those of the workshop, and `describe_change`, which never leaves the supervisor."""

    def __init__(
        self,
        workshop: AgentWorkshop,
        gatekeeper: Gatekeeper,
        describe: DescribeChange,
        turn: Callable[[], int],
    ) -> None:
        handlers: dict[str, Handler] = {
            spec.name: self._through(workshop, gatekeeper, spec.name) for spec in TOOL_SPECS
        }
        handlers[DESCRIBE_CHANGE.name] = describe
        super().__init__((*TOOL_SPECS, DESCRIBE_CHANGE), handlers, gatekeeper.permit)
        self._turn = turn
        self._place = CallPlace(0, "")

    def execute(self, call: ToolCall, cancel: CancelToken) -> Executed:
        self._place = CallPlace(self._turn(), call.id)
        return super().execute(call, cancel)

    def _through(self, workshop: AgentWorkshop, gatekeeper: Gatekeeper, tool: str) -> Handler:
        def handle(arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
            # Edits report their own hashes; only a command can change files without saying so.
            place = self._place if tool == _SHELL else None
            denials = len(gatekeeper.denials)
            outcome = workshop.call(tool, arguments, cancel, place=place)
            if len(gatekeeper.denials) == denials:
                return outcome
            # The host's question was answered with no: the loop counts that like a denied call.
            return replace(outcome, metadata={**outcome.metadata, "denied": True})

        return handle
