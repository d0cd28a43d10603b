"""Run the calls of a response in order, and write them to the journal."""

import os
from collections.abc import Sequence

from bot.agent.conversation_context import ConversationContext, Files
from bot.agent.limits import SessionUsage, Stop, cancel_stop, limit_stop
from bot.agent.repetition import Repetition
from bot.agent.toolbox import CallExecution, Mask, error_result
from bot.contracts.journal import CallStarted, PermissionDecision, Result
from bot.contracts.messages import ToolCall, ToolResult
from bot.contracts.outcome import StopReason
from bot.contracts.request import RunLimits
from bot.contracts.tool_descriptions import OUTPUT_NAME

MAX_TRUNCATIONS = 3


class CallRunner:
    def __init__(self, context: ConversationContext, usage: SessionUsage) -> None:
        self._context = context
        self._usage = usage
        self._turn = 0
        self._mask: Mask | None = None
        self.failed = False
        """Whether a call of the last `run`, or a command of one, failed."""
        self._repetition = Repetition()
        self._read: dict[str, None] = {}
        self._changed: dict[str, None] = {}

    @property
    def files(self) -> Files:
        """Files that tools reported as read or changed."""
        return Files(tuple(self._read), tuple(self._changed))

    def run(
        self, turn: int, calls: Sequence[ToolCall], mask: Mask | None, stop: Stop | None
    ) -> tuple[list[ToolResult], Stop | None]:
        """Run the calls in order; after the first stop, answer the rest without running them. Return a result for each
        call, in order, and the reason why the conversation ends with them, if it does."""
        self._turn, self._mask, self.failed = turn, mask, False
        self._context.toolbox.begin_answer(calls)
        results: list[ToolResult] = []
        for call in calls:
            if stop is None and self._context.cancel.fired:
                stop = cancel_stop(self._context.cancel, self._context.limits)
            if stop is not None:
                prefix = "cancelled" if stop.stop in (StopReason.CANCELED, StopReason.TIME) else "Not run"
                results.append(self._record_result(error_result(call, f"{prefix}: {stop.reason}")))
                continue
            result, stopped = self._run(call)
            limits = RunLimits(commands=self._context.limits.commands, output=self._context.limits.output)
            stop = stopped or limit_stop(limits, self._usage, 0.0)
            stop = stop or self._context.hooks.stop_after_call()
            results.append(result)
        return results, stop

    def _run(self, call: ToolCall) -> tuple[ToolResult, Stop | None]:
        """Run the call and record its result."""
        clock = self._context.clock
        self._context.write(CallStarted(self._turn, call.id, call.name))
        started = clock()
        executed = self._context.toolbox.execute(call, self._context.cancel, self._mask)
        duration = round(clock() - started, 4)
        metadata, failed = executed.outcome.metadata, executed.outcome.is_error
        changes = not failed and ("before_hash" in metadata or isinstance(metadata.get("files"), list))
        # Without the name of its spill file, which differs each time.
        spill = f"{OUTPUT_NAME}/{os.path.basename(str(metadata.get('spill', '')))}"
        content = executed.outcome.content.replace(spill, OUTPUT_NAME)
        note = self._repetition.note(call, content, changes=changes)
        if executed.permission is not None:
            allow, rule, reason, _ = executed.permission
            self._context.write(PermissionDecision(call.name, allow, rule, reason, call.id))
        result = self._record_result(executed, note, duration)
        reported = metadata.get("files")
        for file in reported if isinstance(reported, list) else [metadata]:
            path = file.get("path") if isinstance(file, dict) else None
            if isinstance(path, str):
                paths = self._changed if file.get("before_hash") != file.get("after_hash") else self._read
                paths.pop(path, None)
                paths[path] = None
        if isinstance(metadata.get("command"), str):
            size = metadata.get("bytes")
            self._usage.commands += 1
            self._usage.output += size if type(size) is int else 0
        self.failed |= failed or bool(metadata.get("exit_code"))
        return result, self._stop_after(executed)

    def _stop_after(self, executed: CallExecution) -> Stop | None:
        name, by_policy = executed.result.name, executed.denied and not executed.person_answer
        if executed.fatal and self._context.cancel.fired:
            return cancel_stop(self._context.cancel, self._context.limits)
        if executed.fatal:
            return Stop(StopReason.ERROR, executed.fatal)
        if executed.person_answer == "no":
            return Stop(StopReason.DENIED, f"A person said no to a call of {name}.")
        if by_policy and self._context.stop_on_denial:
            return Stop(StopReason.DENIED, f"A call of {name} was denied, and policy ends the run.")
        return self._repetition.stop(name, denied=by_policy)

    def _record_result(self, executed: CallExecution, note: str = "", duration: float = 0.0) -> ToolResult:
        """Write the result, with `note` behind its text, and return it."""
        result = executed.result._replace(content=executed.result.content + note)
        record = Result(
            self._turn,
            *result,
            executed=executed.ran,
            denied=executed.denied,
            duration=duration,
            metadata=executed.outcome.metadata,
        )
        self._context.write(record)
        return result
