"""The tools of a run that never leave the supervisor: what the model hands over, kept until the end, and its aids."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from bot.agent.arguments import BadArgumentsError, parse
from bot.agent.journal_file import JournalFile
from bot.agent.plans import SubmitPlan
from bot.agent.questions import AskUser
from bot.agent.replay import recorded_calls
from bot.agent.results import DescribeChange
from bot.agent.todo import Todo
from bot.agent.variation import Variation
from bot.agent.writes import ProposeWrite
from bot.contracts.cancel import CancelToken
from bot.contracts.outcome import Description
from bot.contracts.plan import Plan
from bot.contracts.review import Review
from bot.contracts.tools import ToolOutcome, ToolSpec
from bot.contracts.wording import count_of
from bot.contracts.writes import Writes
from bot.run.profiles import Profile

_NOTHING = Description()


class ResultTool(Protocol):
    """A tool of our own: it takes what the model hands over, and keeps it."""

    @property
    def spec(self) -> ToolSpec: ...

    def __call__(self, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome: ...


@dataclass(frozen=True, slots=True)
class Handed:
    """What there is in the end."""

    description: Description = _NOTHING
    plan: Plan | None = None
    question: str = ""
    review: Review | None = None
    writes: Writes | None = None


class Results:
    """The result tools of one run. `session` names it; without a name the tools do not vary their words."""

    def __init__(self, *more: ResultTool, propose: ProposeWrite | None = None, session: str = "") -> None:
        self.describe = DescribeChange()
        self.submit = SubmitPlan()
        self.ask = AskUser()
        self.todo = Todo(Variation(session))
        self.propose = propose
        more = (*more, propose) if propose else more
        tools: tuple[ResultTool, ...] = (self.describe, self.submit, self.ask, self.todo, *more)
        self._tools = {tool.spec.name: tool for tool in tools}

    def find(self, name: str) -> ResultTool | None:
        return self._tools.get(name)

    def of(self, profile: Profile) -> tuple[ResultTool, ...]:
        """Those that the profile offers, in its order."""
        return tuple(self._tools[name] for name in profile.own)

    def handed(self, review: Review | None = None) -> Handed:
        writes = self.propose.writes if self.propose else None
        return Handed(self.describe.description, self.submit.plan, self.ask.question, review, writes)

    def notes(self) -> tuple[str, ...]:
        """A sentence for people on what was handed over that no other part of the outcome tells of."""
        writes = self.propose.writes if self.propose else None
        return (f"{count_of(writes.writes, 'write')} on threads proposed.",) if writes else ()

    def hear_again(self, recorded: JournalFile) -> None:
        """Take what a recorded run handed over, as far as it got."""
        for call in recorded_calls(recorded):
            tool = self._tools.get(call.call.name)
            if tool is not None and call.result is not None and not call.result.is_error:
                with suppress(BadArgumentsError):  # what the redactor masked may have been a bracket
                    tool(parse(call.call.arguments, tool.spec.parameters).values, CancelToken())
