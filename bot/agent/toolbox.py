"""Execute one tool call: find the tool, parse the arguments, check the policy, run the handler. And which tools may be
called now (S-151..S-156).

Every call returns exactly one result. Nothing that a model sends or a handler does raises from here. The session's
tools never change; a call of a masked tool gets an error. Vendors are told of a mask if that does not invalidate their
cache (`bot/providers`); the toolbox enforces it for all."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from bot.agent.arguments import BadArgumentsError, parse_arguments
from bot.agent.limits import RequestState
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.messages import ToolCall, ToolResult
from bot.contracts.nearest import nearest
from bot.contracts.tools import ToolArguments, ToolOutcome, ToolSpec


def group(tool: str) -> str:
    """Return the group of a tool: `bash`, `bash_output` and `bash_kill` are one group (S-154)."""
    return tool.partition("_")[0]


class Mask(NamedTuple):
    """Calls of tools outside `allowed` are answered with `reason`, a clause; with `refused`, those of these tools
    alone. `required`: the response must contain a call."""

    allowed: tuple[str, ...]
    reason: str
    required: bool
    refused: tuple[str, ...] = ()

    def refusal(self, tool: str) -> str:
        """Return the error result for a call of `tool`; empty if it may be called."""
        if tool not in self.refused if self.refused else tool in self.allowed:
            return ""
        others = f"Allowed: {', '.join(self.allowed)}." if self.allowed else "Answer in words."
        return f"{tool} is not available now: {self.reason}. {others}"


Masking = Callable[[RequestState], Mask | None]
"""Returns the mask for a state; `None` allows all tools."""


def first_and_last_mask(
    results: Sequence[str], *, final: bool = False, first_tools: Sequence[str] = ()
) -> Masking:
    """In the last request, allow only `results`, the tools that hand over the result: the model could not read
    any other tool's output. With `final` it must call one, if nothing was handed over yet.

    If there are `first_tools`, the first request asks for one of them, and a result in its response is refused.
    """

    def masking(state: RequestState) -> Mask | None:
        if state.requests_left == 1:
            required = final and not state.handed_over
            return Mask(tuple(results), "this is the last answer of this run", required)
        if not (state.first and first_tools):
            return None
        reason = "look at the code first"
        return Mask(tuple(first_tools), reason, required=True, refused=tuple(results))

    return masking


Handler = Callable[[ToolArguments, CancelToken], ToolOutcome]


class Permission(NamedTuple):
    """The policy's decision on one call. `reason` goes to the model when `allow` is false.

    `person_answer` is set if a person decided and refused: `no` ends the run; `words` are the reason; `gone` if
    the question was cancelled.
    """

    allow: bool
    rule: str = ""
    reason: str = ""
    person_answer: str = ""


Permit = Callable[[str, ToolArguments], Permission]

PERSON = "person"
"""Key in a denied result's metadata: the person's answer, if one was asked during the call."""


class CallExecution(NamedTuple):
    """The execution of a call. The text of `outcome` says which arguments were repaired.

    `permission` is `None` if the policy was not asked; `ran` is true if the handler was entered. `fatal` is a
    sentence if no further call can succeed, since the workspace is gone.
    """

    call: ToolCall
    outcome: ToolOutcome
    permission: Permission | None = None
    ran: bool = False
    fatal: str = ""

    @property
    def result(self) -> ToolResult:
        return ToolResult(self.call.id, self.call.name, self.outcome.content, self.outcome.is_error)

    @property
    def denied(self) -> bool:
        """Whether the call, or a write that it proposed, was refused."""
        refused = self.permission is not None and not self.permission.allow
        return refused or self.outcome.metadata.get("denied") is True

    @property
    def person_answer(self) -> str:
        """As in `Permission`."""
        answer = self.permission.person_answer if self.permission else ""
        return str(self.outcome.metadata.get(PERSON, answer))


class Toolbox:
    """The tools of one session, fixed at its start. Names and order are those of `specs`."""

    def __init__(self, specs: Sequence[ToolSpec], handlers: Mapping[str, Handler], permit: Permit) -> None:
        missing = [spec.name for spec in specs if spec.name not in handlers]
        if missing:
            raise ValueError(f"no handler for {', '.join(missing)}")
        self.specs = tuple(specs)
        self._specs = {spec.name: spec for spec in specs}
        self._handlers = dict(handlers)
        self._permit = permit

    def begin_answer(self, calls: Sequence[ToolCall]) -> None:
        """Called with the calls of a response before they are executed."""

    def execute(self, call: ToolCall, cancel: CancelToken, mask: Mask | None = None) -> CallExecution:
        """Run `call` and return its result. An incomplete call, or one that `mask` forbids, is not run."""
        if not call.complete:
            return error_result(call, TRUNCATED)
        spec = self.find(call.name)
        if spec is None:
            near = nearest(call.name.lower(), self._specs)
            hint = f' Did you mean "{near}"?' if near else ""
            known = ", ".join(self._specs)
            return error_result(call, f'There is no tool "{call.name[:100]}".{hint} The tools are: {known}.')
        if mask is not None and (refusal := mask.refusal(spec.name)):
            return error_result(call, refusal)
        try:
            arguments = parse_arguments(call.arguments, spec.parameters)
        except BadArgumentsError as error:
            return error_result(call, str(error))
        named = [f"took the tool name {call.name} as {spec.name}"] if spec.name != call.name else []
        repairs = "; ".join([*named, *arguments.repairs])
        return self._run(call, spec.name, arguments.values, repairs, cancel)

    def find(self, name: str) -> ToolSpec | None:
        """Return the tool of that name; the case is ignored if that is unambiguous."""
        if name in self._specs:
            return self._specs[name]
        alike = [spec for spec in self.specs if spec.name.casefold() == name.strip().casefold()]
        return alike[0] if len(alike) == 1 else None

    def _run(
        self, call: ToolCall, tool: str, values: ToolArguments, repairs: str, cancel: CancelToken
    ) -> CallExecution:
        permission: Permission | None = None
        ran = False
        try:
            permission = self._permit(tool, values)
            if not permission.allow:
                rule, reason = permission.rule, permission.reason or "no reason given"
                # The rule appears once, even if the reason begins with it.
                named = f" by the rule {rule}" if rule and not reason.startswith(rule) else ""
                denied = error_result(call, f"Permission denied{named}: {reason}")
                return denied._replace(permission=permission)
            ran = True
            outcome = self._handlers[tool](values, cancel)
            if repairs:
                content = f"{outcome.content}\n\n(Arguments repaired: {repairs}.)"
                outcome = outcome._replace(content=content)
        except AgentError as error:
            execution = error_result(call, f"{FATAL_PREFIX}{error}")
            return execution._replace(permission=permission, ran=ran, fatal=str(error))
        except Exception as error:  # noqa: BLE001  The one border where a tool's bug becomes a result.
            frame = traceback.extract_tb(error.__traceback__)[-1]
            words = f"{type(error).__name__}: {error} (in {frame.name}, line {frame.lineno})"
            metadata = {"traceback": traceback.format_exception(error)[-12:]}
            execution = error_result(call, f"The tool failed: {words}", metadata)
            return execution._replace(permission=permission, ran=ran)
        return CallExecution(call, outcome, permission, ran)


FATAL_PREFIX = "The tool cannot go on: "
TRUNCATED = (
    "Not run: the answer was cut off before this call was whole, since it reached its output limit. Send "
    "it again in smaller pieces: write a large file in several edits, and keep the text before a call short."
)


def error_result(call: ToolCall, message: str, metadata: Mapping[str, Any] | None = None) -> CallExecution:
    """Return the result of a call that is not run or failed, with the reason for the model."""
    return CallExecution(call, ToolOutcome(message, is_error=True, metadata=metadata or {}))
