"""Executes one tool call: finds the tool, reads the arguments, asks policy, runs the handler.

Every call comes back as exactly one result. Nothing a model sends and nothing a handler does raises from
here.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from bot.agent.arguments import BadArgumentsError, parse
from bot.agent.masking import Mask
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.messages import ToolCall, ToolResult
from bot.contracts.tools import ToolOutcome, ToolSpec

Handler = Callable[[Mapping[str, Any], CancelToken], ToolOutcome]


class Permission(NamedTuple):
    """Policy's answer to one call. `reason` goes to the model when `allow` is false.

    `said` is what a person answered in policy's place who let it not pass: `no`, which ends the run; `words` of theirs,
    which are the reason; `gone` where they were stopped before they answered.
    """

    allow: bool
    rule: str = ""
    reason: str = ""
    said: str = ""


Permit = Callable[[str, Mapping[str, Any]], Permission]

PERSON = "person"
"""In a denied result's metadata: what a person said, where one was asked during the call."""


class Executed(NamedTuple):
    """What became of a call.

    `permission` is `None` when policy was not asked; `ran` is true when the handler was entered. `fatal` is a
    sentence when no further call can succeed, since the workshop is gone. `said` is as of a `Permission`.
    """

    result: ToolResult
    outcome: ToolOutcome
    denied: bool = False
    permission: Permission | None = None
    ran: bool = False
    fatal: str = ""
    said: str = ""


class Toolbox:
    """The tools of one session, fixed when it starts. Names and order are those of `specs`."""

    def __init__(self, specs: Sequence[ToolSpec], handlers: Mapping[str, Handler], permit: Permit) -> None:
        missing = [spec.name for spec in specs if spec.name not in handlers]
        if missing:
            raise ValueError(f"no handler for {', '.join(missing)}")
        self.specs = tuple(specs)
        self._specs = {spec.name: spec for spec in specs}
        self._handlers = dict(handlers)
        self._permit = permit

    def begin_answer(self, calls: Sequence[ToolCall]) -> None:
        """The calls that follow are these, those of one answer of the model."""

    def may_overlap(self, call: ToolCall) -> bool:
        """Whether `call` may run beside others of its turn: none does, where nobody says otherwise."""
        return False

    def execute(self, call: ToolCall, cancel: CancelToken, mask: Mask | None = None) -> Executed:
        """Run `call` and answer it. A call that is not complete, or that `mask` does not allow now, is not run."""
        if not call.complete:
            return _error(call, TRUNCATED)
        spec = self.find(call.name)
        if spec is None:
            return _error(call, self._unknown(call.name))
        if mask is not None and (refusal := mask.refusal(spec.name)):
            return _error(call, refusal)
        try:
            arguments = parse(call.arguments, spec.parameters)
        except BadArgumentsError as error:
            return _error(call, str(error))
        repairs = arguments.repairs
        if spec.name != call.name:
            repairs = (f"took the tool name {call.name} as {spec.name}", *repairs)
        return self._run(call, spec, arguments.values, repairs, cancel)

    def find(self, name: str) -> ToolSpec | None:
        """The tool of that name; another case is forgiven when only one tool can be meant."""
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
    ) -> Executed:
        permission: Permission | None = None
        ran = False
        try:
            permission = self._permit(spec.name, values)
            if not permission.allow:
                failed = _error(call, denial(permission))
                return failed._replace(denied=True, permission=permission, said=permission.said)
            ran = True
            outcome = self._handlers[spec.name](values, cancel)
        except AgentError as error:
            failed = _error(call, f"{CANNOT_GO_ON}{error}")
            return failed._replace(permission=permission, ran=ran, fatal=str(error))
        except Exception as error:  # noqa: BLE001  The one border where a tool's bug becomes a result (S-024).
            return _crash(call, error)._replace(permission=permission, ran=ran)
        denied = outcome.metadata.get("denied") is True
        said = str(outcome.metadata.get(PERSON, ""))
        return Executed(
            _answer(call, outcome, repairs), _noted(outcome, repairs), denied, permission, ran, said=said
        )

    def _unknown(self, name: str) -> str:
        from difflib import get_close_matches  # 3 ms to import, and hardly ever wanted

        by_folded = {spec.name.casefold(): spec.name for spec in self.specs}
        elsewhere = [_ELSEWHERE.get(name.strip().casefold(), "")]
        close = [known for known in elsewhere if known in by_folded]
        close = close or get_close_matches(name.casefold()[:100], list(by_folded), n=1)
        hint = f' Did you mean "{by_folded[close[0]]}"?' if close else ""
        return f'There is no tool "{name[:100]}".{hint} The tools are: {", ".join(self._specs)}.'


_ELSEWHERE = {
    other: ours
    for ours, others in {
        "view": "read read_file open cat",
        "ls": "list_dir list_directory list_files",
        "glob": "find find_files file_search",
        "grep": "search rg ripgrep search_files code_search",
        "edit": "edit_file str_replace str_replace_editor str_replace_based_edit_tool replace",
        "write": "write_file create_file create",
        "patch": "apply_patch apply_diff",
        "bash": "shell sh exec exec_command execute_command run_command run_shell_command terminal",
        "todo": "todowrite todo_write update_plan",
        "task": "agent dispatch_agent subagent",
    }.items()
    for other in others.split()
}
"""What other agents call these tools: models learned those names, and the spelling leads elsewhere."""

CANNOT_GO_ON = "The tool cannot go on: "
TRUNCATED = (
    "Not run: the answer was cut off before this call was whole, since it reached its output limit. Send "
    "it again in smaller pieces: write a large file in several edits, and keep the text before a call short."
)


def not_run(call: ToolCall, message: str) -> Executed:
    """The answer to a call that is left out, with the reason for the model."""
    return _error(call, message)


def _error(call: ToolCall, message: str, metadata: Mapping[str, Any] | None = None) -> Executed:
    outcome = ToolOutcome(message, is_error=True, metadata=metadata or {})
    return Executed(_answer(call, outcome, ()), outcome)


def _crash(call: ToolCall, error: Exception) -> Executed:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" (in {frames[-1].name}, line {frames[-1].lineno})" if frames else ""
    metadata = {"traceback": traceback.format_exception(error)[-12:]}
    return _error(call, f"The tool failed: {type(error).__name__}: {error}{where}", metadata)


def _answer(call: ToolCall, outcome: ToolOutcome, repairs: tuple[str, ...]) -> ToolResult:
    note = f"\n\n(Arguments repaired: {'; '.join(repairs)}.)" if repairs else ""
    return ToolResult(call.id, call.name, outcome.content + note, outcome.is_error)


def _noted(outcome: ToolOutcome, repairs: tuple[str, ...]) -> ToolOutcome:
    if not repairs:
        return outcome
    return replace(outcome, metadata={**outcome.metadata, "repairs": list(repairs)})


def denial(permission: Permission) -> str:
    """What the model is told. The rule is named once, also where the reason begins with it."""
    reason = permission.reason or "no reason given"
    rule = (
        f" by the rule {permission.rule}"
        if permission.rule and not reason.startswith(permission.rule)
        else ""
    )
    return f"Permission denied{rule}: {reason}"
