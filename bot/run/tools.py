"""What the model's tool calls meet in a run: the policy's answer, then the workshop or a tool of our own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.agent.masking import Mask
from bot.agent.toolbox import PERSON, Executed, Handler, Permission, Toolbox, not_run
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
from bot.run.asking import ASKED, SAID_NO, Answered, Ask, Asking
from bot.run.profiles import DESCRIBE_CHANGE, SHELL, SHELL_TOOLS, TASK, WRITING, Profile
from bot.run.results import ResultTool
from bot.workshop.client.specs import TOOL_SPECS
from bot.workshop.client.workshop import Answer, Question

_LONGEST_SUBJECT = 200

_NEEDS_THE_EDITS = (SHELL, TASK, DESCRIBE_CHANGE)
"""What is meant for the tree as the edits before it in the same answer leave it."""

NOT_RUN = "Not run: "

_EDIT_FAILED = NOT_RUN + (
    "{} before it in the same answer failed, so this would see the old files. Correct that first, then call "
    "this again."
)

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
        asking: Asking | None = None,
        agent: str = "",
    ) -> None:
        """`asking` is the person at the terminal, where there is one; `agent` the subagent whose calls these are."""
        self._policy = policy
        self._tier = tier
        self._root = root
        self._write = write
        self._profile = profile
        self._pre_approved = pre_approved
        self.asking = asking or Asking(None, CancelToken())
        self._agent = agent
        self._later = threading.local()
        self.denials: list[Denial] = []
        self.refused: list[str] = []
        """An entry for each question of the tool host that was answered with no: what a person said, if one did."""
        self.edited: set[str] = set()
        """The paths that edit tools asked to write."""

    def of_agent(
        self,
        profile: Profile,
        write: Callable[[lines.Record], None],
        pre_approved: PreApproved,
        name: str = "",
    ) -> Gatekeeper:
        """The same policy for a subagent with `profile`; the denials are the run's, and so is the person who is asked.
        What its skills answer is its own."""
        made = Gatekeeper(
            self._policy, self._tier, self._root, write, profile, pre_approved, self.asking, name
        )
        made.denials = self.denials
        made.refused = self.refused
        made.edited = self.edited
        return made

    def permit(self, tool: str, arguments: Mapping[str, Any]) -> Permission:
        """Of what policy asks about, a command is put to the person here; a write later, when its diff is known."""
        self._later.asked = None
        decision = self.decide(tool, arguments)
        patched = ", ".join(patched_paths(arguments.get("patch")))
        subject = str(arguments.get("command") or arguments.get("path") or patched)
        if decision.allowed:
            return Permission(allow=True, rule=decision.rule)
        if (asked := self._asks(tool, arguments)) is not None:
            if tool in WRITING:
                self._later.asked = asked
                return Permission(allow=True, rule=f"{asked.rule}{ASKED}")
            said = self.asking.ask(Ask(tool, subject, asked, (("", asked),), agent=self._agent))
            if said is not None:
                rule = f"{asked.rule}{ASKED}"
                if said.allow:
                    return Permission(allow=True, rule=rule)
                self._note(tool, subject, rule, said.reason)
                return Permission(allow=False, rule=rule, reason=said.reason, said=said.said)
        return Permission(allow=False, rule=decision.rule, reason=self._denied(tool, subject, decision))

    def answer(self, question: Question) -> Answer:
        """The strictest decision on any of the paths is the one on all of them. They are the resolved ones here: a
        link cannot lead a write past a rule."""
        first, action = question.files[0]
        rest = question.files[1:]
        self.edited.update(path for path, _ in question.files)
        self._write(lines.Question(question.tool, first, action, question.diff, rest))
        judged = [
            (path, self.decide(question.tool, {"path": path}, writes=True)) for path, _ in question.files
        ]
        path, decision = max(judged, key=lambda one: one[1].effect.rank)
        if (said := self._ask_about(question, judged)) is not None:
            return self._as_said(question, said)
        reason = "" if decision.allowed else self._denied(question.tool, path, decision)
        if reason and rest:
            reason = f"{path}: {reason} Nothing was written, of no file."
        self._write(lines.Permitted(question.tool, decision.allowed, decision.rule, reason, path=path))
        if not decision.allowed:
            self.refused.append("")
        return Answer(decision.allowed, reason)

    def _ask_about(
        self, question: Question, judged: Sequence[tuple[str, Decision]]
    ) -> tuple[Answered, Sequence[tuple[str, Decision]]] | None:
        """What a person says of these writes, and of which of them they were asked; `None` where nobody is."""
        asked = [
            (path, asks)
            for path, decision in judged
            if not decision.allowed
            and (asks := self._asks(question.tool, {"path": path}, writes=True)) is not None
        ]
        if len(asked) < sum(not decision.allowed for _, decision in judged):
            return None  # something of it is denied outright
        if not asked:
            # A call that policy asks about by what it says may resolve to a path that no rule is about.
            later: Decision | None = getattr(self._later, "asked", None)
            if later is None or not self.asking.may(write=True):
                return None
            asked = [(path, later) for path, _ in judged]
        subject = ", ".join(path for path, _ in question.files)
        ask = Ask(question.tool, subject, asked[0][1], asked, question.files, question.diff, self._agent)
        said = self.asking.ask(ask)
        return None if said is None else (said, asked)

    def _as_said(self, question: Question, said: tuple[Answered, Sequence[tuple[str, Decision]]]) -> Answer:
        answered, asked = said
        for path, decision in asked:
            rule = f"{decision.rule}{ASKED}"
            self._write(lines.Permitted(question.tool, answered.allow, rule, answered.reason, path=path))
        if answered.allow:
            return Answer(True)
        path, decision = asked[0]
        self._note(question.tool, path, f"{decision.rule}{ASKED}", answered.reason)
        self.refused.append(answered.said)
        return Answer(False, f"Permission denied by the rule {decision.rule}: {answered.reason}")

    def _asks(self, tool: str, arguments: Mapping[str, Any], *, writes: bool = False) -> Decision | None:
        """What policy asks about, where somebody is there to be asked; else `None`."""
        if not self.asking.may(write=tool in WRITING):
            return None
        if self._profile is not None and _masked(self._profile, tool, writes=writes):
            return None
        asked = decide(self._policy, self._tier, tool, arguments, can_ask=True, root=self._root)
        return asked if asked.effect is Effect.ASK else None

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
        self._note(tool, subject, decision.rule, decision.reason)
        return decision.message

    def _note(self, tool: str, subject: str, rule: str, reason: str) -> None:
        self.denials.append(Denial(tool, subject[:_LONGEST_SUBJECT], rule, reason))


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
        self._asking = gatekeeper.asking
        self._here = threading.local()
        self._edits: list[str] = []
        self._failed = ""

    @property
    def place(self) -> CallPlace:
        """The call that this thread is running."""
        place: CallPlace = self._here.place
        return place

    def begin_answer(self, calls: Sequence[ToolCall]) -> None:
        self._edits = [call.id for call in calls if self._name(call) in WRITING]
        self._failed = ""

    def may_overlap(self, call: ToolCall) -> bool:
        return self._overlaps(call)

    def execute(self, call: ToolCall, cancel: CancelToken, mask: Mask | None = None) -> Executed:
        name = self._name(call)
        if self._failed and name in _NEEDS_THE_EDITS:
            return not_run(call, _EDIT_FAILED.format(self._failed))
        if name in WRITING:
            self._edits = self._edits[1:]
        self._here.place = CallPlace(self._turn(), call.id, self._agent, more_edits=bool(self._edits))
        executed = super().execute(call, cancel, mask)
        if name in WRITING and executed.result.is_error:
            self._failed = f"the {name}"
        if not self._asking.said_no or executed.said == SAID_NO:
            return executed
        # Said to a call of a subagent: it ends the run as well.
        outcome = replace(executed.outcome, metadata={**executed.outcome.metadata, PERSON: SAID_NO})
        return executed._replace(outcome=outcome, said=SAID_NO)

    def _name(self, call: ToolCall) -> str:
        spec = self.find(call.name)
        return spec.name if spec else ""

    def _through(self, workshop: AgentWorkshop, gatekeeper: Gatekeeper, tool: str) -> Handler:
        def handle(arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
            refused = len(gatekeeper.refused)
            outcome = workshop.call(tool, arguments, cancel, place=self.place)
            metadata = {name: value for name, value in outcome.metadata.items() if name != PERSON}
            if len(gatekeeper.refused) > refused:
                # The host's question was answered with no: the loop counts that like a denied call.
                metadata["denied"] = True
                if said := gatekeeper.refused[-1]:
                    metadata[PERSON] = said
            return replace(outcome, metadata=metadata)

        return handle
