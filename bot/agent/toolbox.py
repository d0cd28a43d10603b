"""Execute one tool call: find the tool, parse the arguments, check the policy, run the handler.

Every call returns exactly one result. Nothing that a model sends or a handler does raises from here.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from bot.agent.arguments import BadArgumentsError, parse_arguments
from bot.agent.tool_availability import Mask
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.messages import ToolCall, ToolResult
from bot.contracts.tools import ToolOutcome, ToolSpec

Handler = Callable[[Mapping[str, Any], CancelToken], ToolOutcome]


class Permission(NamedTuple):
    """The policy's decision on one call. `reason` goes to the model when `allow` is false.

    `person_answer` is set if a person decided and refused: `no` ends the run; `words` are the reason; `gone` if
    the question was cancelled.
    """

    allow: bool
    rule: str = ""
    reason: str = ""
    person_answer: str = ""


Permit = Callable[[str, Mapping[str, Any]], Permission]

PERSON = "person"
"""Key in a denied result's metadata: the person's answer, if one was asked during the call."""


class CallExecution(NamedTuple):
    """The execution of a call.

    `permission` is `None` if the policy was not asked; `ran` is true if the handler was entered. `fatal` is a
    sentence if no further call can succeed, since the workspace is gone.
    """

    result: ToolResult
    outcome: ToolOutcome
    permission: Permission | None = None
    ran: bool = False
    fatal: str = ""

    @property
    def denied(self) -> bool:
        """Whether the call, or a write that it proposed, was refused."""
        refused = self.permission is not None and not self.permission.allow
        return refused or self.outcome.metadata.get("denied") is True

    @property
    def person_answer(self) -> str:
        """As in `Permission`."""
        said = self.permission.person_answer if self.permission else ""
        return str(self.outcome.metadata.get(PERSON, said))


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
            return error_result(call, self._unknown(call.name))
        if mask is not None and (refusal := mask.refusal(spec.name)):
            return error_result(call, refusal)
        try:
            arguments = parse_arguments(call.arguments, spec.parameters)
        except BadArgumentsError as error:
            return error_result(call, str(error))
        repairs = arguments.repairs
        if spec.name != call.name:
            repairs = (f"took the tool name {call.name} as {spec.name}", *repairs)
        return self._run(call, spec, arguments.values, repairs, cancel)

    def find(self, name: str) -> ToolSpec | None:
        """Return the tool of that name; the case is ignored if that is unambiguous."""
        if name in self._specs:
            return self._specs[name]
        alike = [spec for spec in self.specs if spec.name.casefold() == name.strip().casefold()]
        return alike[0] if len(alike) == 1 else None

    def _run(
        self,
        call: ToolCall,
        spec: ToolSpec,
        values: Mapping[str, Any],
        repairs: tuple[str, ...],
        cancel: CancelToken,
    ) -> CallExecution:
        permission: Permission | None = None
        ran = False
        try:
            permission = self._permit(spec.name, values)
            if not permission.allow:
                return error_result(call, denial_text(permission))._replace(permission=permission)
            ran = True
            outcome = self._handlers[spec.name](values, cancel)
        except AgentError as error:
            execution = error_result(call, f"{FATAL_PREFIX}{error}")
            return execution._replace(permission=permission, ran=ran, fatal=str(error))
        except Exception as error:  # noqa: BLE001  The one border where a tool's bug becomes a result.
            return _crash(call, error)._replace(permission=permission, ran=ran)
        return CallExecution(_tool_result(call, outcome, repairs), outcome, permission, ran)

    def _unknown(self, name: str) -> str:
        by_folded = {spec.name.casefold(): spec.name for spec in self.specs}
        close = get_close_matches(name.casefold()[:100], list(by_folded), n=1)
        hint = f' Did you mean "{by_folded[close[0]]}"?' if close else ""
        return f'There is no tool "{name[:100]}".{hint} The tools are: {", ".join(self._specs)}.'


FATAL_PREFIX = "The tool cannot go on: "
TRUNCATED = (
    "Not run: the answer was cut off before this call was whole, since it reached its output limit. Send "
    "it again in smaller pieces: write a large file in several edits, and keep the text before a call short."
)


def error_result(call: ToolCall, message: str, metadata: Mapping[str, Any] | None = None) -> CallExecution:
    """Return the result of a call that is not run or failed, with the reason for the model."""
    outcome = ToolOutcome(message, is_error=True, metadata=metadata or {})
    return CallExecution(_tool_result(call, outcome, ()), outcome)


def _crash(call: ToolCall, error: Exception) -> CallExecution:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" (in {frames[-1].name}, line {frames[-1].lineno})" if frames else ""
    metadata = {"traceback": traceback.format_exception(error)[-12:]}
    return error_result(call, f"The tool failed: {type(error).__name__}: {error}{where}", metadata)


def _tool_result(call: ToolCall, outcome: ToolOutcome, repairs: tuple[str, ...]) -> ToolResult:
    note = f"\n\n(Arguments repaired: {'; '.join(repairs)}.)" if repairs else ""
    return ToolResult(call.id, call.name, outcome.content + note, outcome.is_error)


def denial_text(permission: Permission) -> str:
    """Return the text for the model. The rule appears once, even if the reason begins with it."""
    reason = permission.reason or "no reason given"
    rule = (
        f" by the rule {permission.rule}"
        if permission.rule and not reason.startswith(permission.rule)
        else ""
    )
    return f"Permission denied{rule}: {reason}"
