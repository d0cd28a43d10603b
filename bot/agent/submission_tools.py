"""Tools with which the model hands over a result: `describe_change`, `submit_plan`, `ask_user`, `propose_write`. They
run in the supervisor.

`propose_write` writes nothing: accepted writes go into the bundle and are checked again when it is published. The
caller's `check` decides what may be written where: this module does not depend on GitHub."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bot.agent.limits import Stop
from bot.contracts import tool_schema as schema
from bot.contracts.cancel import CancelToken
from bot.contracts.outcome import Description, StopReason
from bot.contracts.plain_text import UNSEEN
from bot.contracts.plan import MAX_PATHS, MAX_RISKS, MAX_STEPS, MAX_TEXT, MAX_TITLE, Plan, PlanStep
from bot.contracts.tools import ToolArguments, ToolOutcome, ToolSpec
from bot.contracts.writes import FIELDS, MAX_BODY, MAX_LABEL, Write, WriteKind, Writes, describe_write
from bot.contracts.writes import MAX_TITLE as MAX_ISSUE_TITLE

MAX_CHANGE_TITLE = 72

DESCRIBE_CHANGE = ToolSpec(
    name="describe_change",
    description="Hand over your change; it ends the run.",
    parameters=schema.record(
        "title summary",
        title=schema.text("imperative", maxLength=MAX_CHANGE_TITLE),
        summary=schema.text("cause and fix, Markdown"),
        notes=schema.text("risks"),
    ),
)


class DescribeChange:
    """Stores the description of the last `describe_change` call."""

    spec = DESCRIBE_CHANGE

    def __init__(self) -> None:
        self.description = Description()

    def __call__(self, arguments: ToolArguments, cancel: CancelToken) -> ToolOutcome:
        title = " ".join(str(arguments["title"]).split())
        summary = str(arguments["summary"]).strip()
        if not title or not summary:
            return ToolOutcome("title and summary: expected text, got only white space", is_error=True)
        self.description = Description(title, summary, str(arguments.get("notes", "")).strip())
        return ToolOutcome("Noted.", metadata={"title": title})


SUBMIT_PLAN = ToolSpec(
    name="submit_plan",
    description=(
        "Hand over the plan when you know enough; it ends the run. It is posted for people to approve, and what they "
        "approve is carried out step by step, as it stands here."
    ),
    parameters=schema.record(
        "title steps",
        title=schema.text(
            "What the plan achieves, in the imperative, one line", minLength=1, maxLength=MAX_TITLE
        ),
        steps=schema.array(
            schema.record(
                "text",
                text=schema.text(
                    "What is done, exactly enough for somebody who did not read the code",
                    minLength=1,
                    maxLength=MAX_TEXT,
                ),
                paths=schema.array(
                    schema.text(),
                    "Files it touches, relative to the repository root; new ones too",
                    maxItems=MAX_PATHS,
                ),
            ),
            "In the order in which they are to be done",
            minItems=1,
            maxItems=MAX_STEPS,
        ),
        risks=schema.text("What may go wrong or is not known yet", maxLength=MAX_RISKS),
        estimate_turns=schema.whole(
            "About how many answers with tool calls carrying it out will take you", minimum=0
        ),
    ),
)


class SubmitPlan:
    """Stores the plan of the last valid call; `None` before."""

    spec = SUBMIT_PLAN

    def __init__(self) -> None:
        self.plan: Plan | None = None

    def __call__(self, arguments: ToolArguments, cancel: CancelToken) -> ToolOutcome:
        plan = Plan(
            title=" ".join(_text(arguments["title"]).split()),
            steps=tuple(_step(step) for step in arguments["steps"]),
            risks=_text(arguments.get("risks", "")),
            estimate_turns=int(arguments.get("estimate_turns", 0)),
        )
        if plan.problem:
            note = "" if self.plan is None else " The plan submitted before stands."
            return ToolOutcome(f"The plan was not taken. {plan.problem}.{note}", is_error=True)
        self.plan = plan
        return ToolOutcome("Noted.", metadata={"plan": plan.hash, "title": plan.title})


def _step(step: Mapping[str, Any]) -> PlanStep:
    paths = (_text(path).removeprefix("./") for path in step.get("paths", ()))
    return PlanStep(_text(step["text"]), tuple(dict.fromkeys(paths)))


def _text(value: object) -> str:
    """Return the value as text without invisible characters."""
    return UNSEEN.sub("", str(value)).strip()


MAX_QUESTION = 2_000
ANSWER = "answer"
"""Key in a result's metadata: the question was answered during the run."""

ASK_USER = ToolSpec(
    name="ask_user",
    description=(
        "Ask the requester one question, which ends the run: only if a wrong guess would waste the work. Otherwise "
        "choose, and say what you chose."
    ),
    parameters=schema.record("question", question=schema.text(maxLength=MAX_QUESTION)),
)


class AskUser:
    """Stores the first unanswered question, which ends the run; empty before.

    `person` answers at the terminal; it returns an empty text if nobody does.
    """

    spec = ASK_USER

    def __init__(self, person: Callable[[str], str] = lambda question: "") -> None:
        self.question = ""
        self._person = person

    def __call__(self, arguments: ToolArguments, cancel: CancelToken) -> ToolOutcome:
        question = str(arguments["question"]).strip()
        if not question:
            return ToolOutcome("question: expected a question, got only white space", is_error=True)
        if self.question:
            return ToolOutcome("One question is asked already, and it stands.", is_error=True)
        if answer := self._person(question):
            return ToolOutcome(f"They answered: {answer}", metadata={"question": question, ANSWER: answer})
        self.question = question
        return ToolOutcome("Asked. The run ends here.", metadata={"question": question})

    def stop(self) -> Stop | None:
        """Return the stop for an open question; the loop calls it after each call."""
        return Stop(StopReason.NEEDS_INPUT, "The model asks a question.") if self.question else None


PROPOSE_WRITE = ToolSpec(
    name="propose_write",
    description=(
        "Propose one thing to be written on a thread of this run. It is checked now and made after the run: a refusal "
        "says why, and what was accepted stands. kind says which of the other arguments count: comment takes body; "
        "reply takes comment_id and body; add_label and remove_label take label; close takes reason; edit takes "
        "title, body or both."
    ),
    parameters=schema.record(
        "kind number",
        kind=schema.text(enum=list(FIELDS)),
        number=schema.whole("The issue or pull request", minimum=1),
        body=schema.text(
            "Markdown, as people will read it: no HTML comments, no commands to bots", maxLength=MAX_BODY
        ),
        comment_id=schema.whole("For reply: the review comment that is answered", minimum=1),
        label=schema.text(maxLength=MAX_LABEL),
        reason=schema.text("For close; not_planned if left out", enum=["completed", "not_planned"]),
        title=schema.text("For edit: one line", maxLength=MAX_ISSUE_TITLE),
    ),
)

WriteCheck = Callable[[Write, Sequence[Write]], str]
"""Returns why a write is refused after those before it; empty if it is allowed."""
RecordProposal = Callable[[Write, str], None]
"""Called with each proposal and the reason for its refusal, if any."""

_OPTIONAL = ("close", "edit")
"""Kinds whose fields may be left out."""


class ProposeWrite:
    """Collects accepted writes in order."""

    spec = PROPOSE_WRITE

    def __init__(self, check: WriteCheck, record: RecordProposal = lambda write, refusal: None) -> None:
        self._check = check
        self._record = record
        self._accepted: list[Write] = []

    @property
    def writes(self) -> Writes | None:
        return Writes(tuple(self._accepted)) if self._accepted else None

    def __call__(self, arguments: ToolArguments, cancel: CancelToken) -> ToolOutcome:
        kind: WriteKind = arguments["kind"]
        missing = [name for name in FIELDS[kind] if kind not in _OPTIONAL and not arguments.get(name)]
        if missing:
            return ToolOutcome(f"Refused: {kind} needs {' and '.join(missing)}.", is_error=True)
        write = _write(kind, arguments)
        refusal = self._check(write, self._accepted)
        self._record(write, refusal)
        if refusal:
            return ToolOutcome(f"Refused: {refusal}", is_error=True)
        self._accepted.append(write)
        return ToolOutcome(
            f"Accepted: {describe_write(write)}. It is made after the run, if the thread is still as it was.",
            metadata={"kind": write.kind, "number": write.number},
        )


def _write(kind: WriteKind, arguments: ToolArguments) -> Write:
    fields = {name: arguments[name] for name in FIELDS[kind] if arguments.get(name)}
    texts = {name: str(fields[name]).strip() for name in ("body", "title", "label") if name in fields}
    return Write(
        kind,
        int(arguments["number"]),
        **texts,
        comment_id=int(fields.get("comment_id", 0)),
        reason="completed" if fields.get("reason") == "completed" else "not_planned",
    )
