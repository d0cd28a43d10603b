"""What the model's tool calls meet in a run: the policy's answer, then the workshop or a tool of our own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.agent.masking import Mask
from bot.agent.toolbox import Executed, Handler, Permission, Toolbox
from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.messages import ToolCall
from bot.contracts.outcome import Denial
from bot.contracts.request import Tier
from bot.contracts.tools import ToolOutcome
from bot.policy.decide import Decision, decide
from bot.policy.patches import patched_paths
from bot.policy.schema import Effect, Policy
from bot.run.agent_workshop import AgentWorkshop, CallPlace
from bot.run.profiles import SHELL_TOOLS, WRITING, Profile
from bot.run.results import ResultTool
from bot.workshop.client.specs import TOOL_SPECS
from bot.workshop.client.workshop import Answer, Question

_LONGEST_SUBJECT = 200

PRE_APPROVED = ", pre-approved by "
"""In the rule of a call that policy would have asked about: then who answered."""


PreApproved = Callable[[str, Mapping[str, Any]], str]
"""Who answers a call of a tool where nobody is there to be asked; empty for nobody."""


class Gatekeeper:
    """Asks the verb and the policy about each call and about each write the tool host proposes; remembers the
    denials. Without a `profile` only the policy counts."""

    def __init__(
        self,
        policy: Policy,
        tier: Tier,
        root: str,
        write: Callable[[lines.Record], None],
        profile: Profile | None = None,
        pre_approved: PreApproved = lambda tool, arguments: "",
    ) -> None:
        self._policy = policy
        self._tier = tier
        self._root = root
        self._write = write
        self._profile = profile
        self._pre_approved = pre_approved
        self.denials: list[Denial] = []
        self.refused: list[str] = []

    def of_agent(
        self, profile: Profile, write: Callable[[lines.Record], None], pre_approved: PreApproved
    ) -> Gatekeeper:
        """The same policy for a subagent with `profile`; the denials are the run's, what its skills answer its own."""
        made = Gatekeeper(self._policy, self._tier, self._root, write, profile, pre_approved)
        made.denials = self.denials
        made.refused = self.refused
        return made

    def permit(self, tool: str, arguments: Mapping[str, Any]) -> Permission:
        decision = self.decide(tool, arguments)
        if decision.allowed:
            return Permission(allow=True, rule=decision.rule)
        patched = ", ".join(patched_paths(arguments.get("patch")))
        subject = str(arguments.get("command") or arguments.get("path") or patched)
        return Permission(allow=False, rule=decision.rule, reason=self._denied(tool, subject, decision))

    def answer(self, question: Question) -> Answer:
        """The strictest decision on any of the paths is the one on all of them. They are the resolved ones here: a
        link cannot lead a write past a rule."""
        first, action = question.files[0]
        rest = question.files[1:]
        self._write(lines.Question(question.tool, first, action, question.diff, rest))
        judged = [
            (path, self.decide(question.tool, {"path": path}, writes=True)) for path, _ in question.files
        ]
        path, decision = max(judged, key=lambda one: one[1].effect.rank)
        reason = "" if decision.allowed else self._denied(question.tool, path, decision)
        if reason and rest:
            reason = f"{path}: {reason} Nothing was written, of no file."
        self._write(lines.Permitted(question.tool, decision.allowed, decision.rule, reason, path=path))
        if not decision.allowed:
            self.refused.append(reason)
        return Answer(decision.allowed, reason)

    def decide(self, tool: str, arguments: Mapping[str, Any], *, writes: bool = False) -> Decision:
        """What is said to a call, or with `writes` to a write that the tool host proposes; nothing is remembered."""
        if self._profile is not None and (reason := _masked(self._profile, tool, writes=writes)):
            return Decision(Effect.DENY, f"the verb `{self._profile.verb}`", reason)
        decision = decide(self._policy, self._tier, tool, arguments, root=self._root)
        if decision.allowed or writes or not (who := self._pre_approved(tool, arguments)):
            return decision
        asked = decide(self._policy, self._tier, tool, arguments, can_ask=True, root=self._root)
        if asked.effect is not Effect.ASK:
            return decision
        return Decision(Effect.ALLOW, f"{asked.rule}{PRE_APPROVED}{who}")

    def _denied(self, tool: str, subject: str, decision: Decision) -> str:
        self.denials.append(Denial(tool, subject[:_LONGEST_SUBJECT], decision.rule, decision.reason))
        return decision.message


def _masked(profile: Profile, tool: str, *, writes: bool) -> str:
    """Why the verb does not let `tool` be used, whatever the policy says; empty where it does.

    What is not offered is not there for the model either; this holds for whoever finds another way to ask.
    """
    if profile.read_only and (writes or tool in WRITING):
        return "it changes nothing"
    if tool in SHELL_TOOLS and profile.unrun:
        return profile.unrun
    if tool not in profile.offered:
        return f"it is not given {tool}"
    return ""


class RunToolbox(Toolbox):
    """The session's tools: those that the profile names, of the workshop and of our own."""

    def __init__(
        self,
        workshop: AgentWorkshop,
        gatekeeper: Gatekeeper,
        profile: Profile,
        results: Sequence[ResultTool],
        turn: Callable[[], int],
        agent: str = "",
        overlaps: Callable[[ToolCall], bool] = lambda call: False,
    ) -> None:
        """`turn` is the session's, `agent` the subagent's name; `overlaps` says which calls may run side by side."""
        offered = tuple(spec for spec in TOOL_SPECS if spec.name in profile.tools)
        handlers: dict[str, Handler] = {
            spec.name: self._through(workshop, gatekeeper, spec.name) for spec in offered
        }
        handlers |= {tool.spec.name: tool for tool in results}
        super().__init__((*offered, *(tool.spec for tool in results)), handlers, gatekeeper.permit)
        self._turn = turn
        self._agent = agent
        self._overlaps = overlaps
        self._here = threading.local()

    @property
    def place(self) -> CallPlace:
        """The call that this thread is running."""
        place: CallPlace = self._here.place
        return place

    def may_overlap(self, call: ToolCall) -> bool:
        return self._overlaps(call)

    def execute(self, call: ToolCall, cancel: CancelToken, mask: Mask | None = None) -> Executed:
        self._here.place = CallPlace(self._turn(), call.id, self._agent)
        return super().execute(call, cancel, mask)

    def _through(self, workshop: AgentWorkshop, gatekeeper: Gatekeeper, tool: str) -> Handler:
        def handle(arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
            refused = len(gatekeeper.refused)
            outcome = workshop.call(tool, arguments, cancel, place=self.place)
            if len(gatekeeper.refused) == refused:
                return outcome
            # The host's question was answered with no: the loop counts that like a denied call.
            return replace(outcome, metadata={**outcome.metadata, "denied": True})

        return handle
