"""The tools of a run that stay in the supervisor: what the model submits, its list, and the files it can look up."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from bot.agent.journal import JournalFile
from bot.agent.recorded_calls import ResultTool, repeat_calls
from bot.agent.submission_tools import AskUser, DescribeChange, ProposeWrite, SubmitPlan
from bot.agent.todo_list import Todo
from bot.contracts import journal as lines
from bot.contracts.formatting import count_of
from bot.contracts.outcome import Description
from bot.contracts.plan import Plan
from bot.contracts.pulls import Review
from bot.contracts.request import Request
from bot.contracts.writes import Write, Writes, describe_write, texts_of
from bot.gate.secrets import withhold_if_secret
from bot.maintenance.apply import allowance_of
from bot.maintenance.task import Task
from bot.maintenance.thread_fit import mismatch
from bot.policy.settings import Policy
from bot.policy.writes import refusal
from bot.verbs.record import Profile


class Submission(NamedTuple):
    """What the model has submitted in the end."""

    description: Description
    plan: Plan | None
    question: str
    review: Review | None
    writes: Writes | None


class ResultTools:
    """The result tools of one run. `person` answers the model's question, or returns an empty text."""

    def __init__(
        self,
        *more: ResultTool,
        propose: ProposeWrite | None = None,
        person: Callable[[str], str] = lambda question: "",
    ) -> None:
        self.describe = DescribeChange()
        self.submit = SubmitPlan()
        self.ask = AskUser(person)
        self.todo = Todo()
        self.propose = propose
        more = (*more, propose) if propose else more
        tools: tuple[ResultTool, ...] = (self.describe, self.submit, self.ask, self.todo, *more)
        self._tools = {tool.spec.name: tool for tool in tools}

    def of(self, profile: Profile) -> tuple[ResultTool, ...]:
        """Those that the profile offers, in its order."""
        return tuple(self._tools[name] for name in profile.supervisor_tools)

    def submission(self, review: Review | None = None) -> Submission:
        writes = self.propose.writes if self.propose else None
        return Submission(self.describe.description, self.submit.plan, self.ask.question, review, writes)

    def notes(self) -> tuple[str, ...]:
        """A sentence for people on the proposed writes."""
        writes = self.propose.writes if self.propose else None
        return (f"{count_of(writes.writes, 'write')} on threads proposed.",) if writes else ()

    def restore(self, recorded: JournalFile) -> None:
        """Take over the submissions of a recorded run."""
        for tool in self._tools.values():
            repeat_calls(tool, recorded)


def propose_writes(
    policy: Policy, request: Request, task: Task | None, write_line: Callable[[lines.Record], None]
) -> ProposeWrite | None:
    """The tool that proposes writes on threads; `None` if the run may write nothing. Journals every proposal."""
    allowance = allowance_of(policy, request, task)
    if allowance is None:
        return None
    triage = request.triage
    states = {one.state.number: one.state for one in triage.threads} if triage else {}

    def judge(write: Write, before: Sequence[Write]) -> str:
        if why := refusal(write, allowance, before):
            return why
        if secret := withhold_if_secret("\n".join(texts_of(write))):
            return f"The text was {secret}. Say it without."
        seen = states.get(write.number)
        if triage and seen and (why := mismatch(write, seen, task, at=triage.at)):
            return f"Not on #{write.number}: {why}."
        return ""

    def record(write: Write, refused: str) -> None:
        write_line(lines.WriteProposed(write.kind, write.number, describe_write(write), not refused, refused))

    return ProposeWrite(judge, record)
