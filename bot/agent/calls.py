"""The calls of an answer: run, journalled and answered one after the other, and what a model does over and over
noticed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from bot.agent.compaction import Files
from bot.agent.finish import Stop, canceled, commands_exceeded
from bot.agent.guards import DENIALS_IN_A_ROW, REPEAT_NOTICE, SAME_CALL_TOLD, RepeatGuard
from bot.agent.masking import Mask
from bot.agent.rereads import Rereads
from bot.agent.session import Session
from bot.agent.spent import Spent
from bot.agent.toolbox import Executed
from bot.contracts.journal import CallStarted, Permitted, Result
from bot.contracts.messages import ToolCall, ToolResult
from bot.contracts.outcome import StopReason

MOST_TOGETHER = 4
"""How many calls run beside each other at most."""

UnderWay = Callable[[], tuple[Executed, float]]
"""Waits for a call that was begun: what became of it, and its seconds."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A result for each call, in their order; the ids of those that were denied; why the conversation ends with them,
    if it does; whether a call or the command that it ran failed."""

    results: list[ToolResult]
    denied: frozenset[str] = frozenset()
    stop: Stop | None = None
    failed: bool = False


class Calls:
    """Those of one conversation."""

    def __init__(self, session: Session, spent: Spent) -> None:
        self._session = session
        self._spent = spent
        self._turn = 0
        self._mask: Mask | None = None
        self._failed = False
        self._repeats = RepeatGuard()
        self._denials = 0
        self._read: dict[str, None] = {}
        self._changed: dict[str, None] = {}
        self._again: set[str] = set()
        self._rereads = Rereads()
        self._reading = frozenset(spec.name for spec in session.toolbox.specs if not spec.writes)

    @property
    def files(self) -> Files:
        """What tools said that they read and changed."""
        return Files(tuple(self._read), tuple(self._changed))

    @property
    def again(self) -> frozenset[str]:
        """The calls whose results the model can have again: views and searches, and what edits printed."""
        return frozenset(self._again)

    def forget(self) -> None:
        """What was read is not in the conversation any more."""
        self._rereads.forget()

    def run(self, turn: int, calls: Sequence[ToolCall], mask: Mask | None) -> Answered:
        """Run them in order; from the first reason to stop on, answer the rest without running them."""
        self._turn, self._mask, self._failed = turn, mask, False
        self._session.toolbox.begin_answer(calls)
        stop: Stop | None = None
        denied: set[str] = set()
        results: list[ToolResult] = []
        under_way: deque[UnderWay] = deque()
        for place, call in enumerate(calls):
            if stop is None and self._session.cancel.fired:
                stop = canceled(self._session.cancel, self._session.limits)
            if stop is not None and not under_way:
                results.append(self._leave(call, stop))
                continue
            if not under_way:
                under_way.extend(self._begin(calls[place:]))
            result, was_denied, stopped = self._end(call, under_way.popleft())
            stop = stop or stopped or commands_exceeded(self._session.limits, self._spent)
            if was_denied:
                denied.add(call.id)
            results.append(result)
        return Answered(results, frozenset(denied), stop, self._failed)

    def leave(self, turn: int, calls: Sequence[ToolCall], stop: Stop) -> Answered:
        """The conversation ends here: answer each without running it."""
        self._turn = turn
        return Answered([self._leave(call, stop) for call in calls], stop=stop)

    def _begin(self, calls: Sequence[ToolCall]) -> Sequence[UnderWay]:
        """Start the first of `calls`, and those right after it that may run beside it."""
        toolbox, clock, mask = self._session.toolbox, self._session.clock, self._mask

        def execute(call: ToolCall) -> tuple[Executed, float]:
            begun = clock()
            return toolbox.execute(call, self._session.cancel, mask), round(clock() - begun, 4)

        together = list(takewhile(toolbox.may_overlap, calls[:MOST_TOGETHER]))
        for call in together or calls[:1]:
            self._session.journal.write(CallStarted(self._turn, call.id, call.name))
        if len(together) < 2:
            done = execute(calls[0])
            return [lambda: done]
        from concurrent.futures import ThreadPoolExecutor  # only who has subagents pays for it

        pool = ThreadPoolExecutor(MOST_TOGETHER, thread_name_prefix="call")
        futures = [pool.submit(execute, call) for call in together]
        pool.shutdown(wait=False)
        return [future.result for future in futures]

    def _end(self, call: ToolCall, under_way: UnderWay) -> tuple[ToolResult, bool, Stop | None]:
        """Wait for the call and keep its result."""
        journal = self._session.journal
        executed, duration = under_way()
        times = self._repeats.count(call, _comparable(executed))
        result = executed.result
        if executed.ran and not result.is_error and result.name in self._reading:
            result = replace(result, content=self._rereads.said(self._turn, call, result.content))
        if times == SAME_CALL_TOLD:
            result = replace(result, content=result.content + REPEAT_NOTICE)
        if executed.permission is not None:
            allowed = executed.permission
            journal.write(Permitted(call.name, allowed.allow, allowed.rule, allowed.reason, call.id))
        self._keep_result(result, executed, duration)
        metadata = executed.outcome.metadata
        if executed.ran and not result.is_error and ("path" in metadata or "files" in metadata):
            self._again.add(call.id)
        self._note_files(metadata)
        self._note_command(metadata)
        self._failed |= result.is_error or bool(metadata.get("exit_code"))
        return result, executed.denied, self._stop_after(executed, times)

    def _note_files(self, metadata: Mapping[str, Any]) -> None:
        """What a tool read or changed, as it reported it."""
        for path in metadata.get("changed", ()) if isinstance(metadata.get("changed"), list) else ():
            self._changed[str(path)] = None
        reported = metadata.get("files")
        files = reported if isinstance(reported, list) else [metadata]
        for file in files:
            path = file.get("path") if isinstance(file, dict) else None
            if not isinstance(path, str):
                continue
            changed = file.get("before_hash") != file.get("after_hash")
            where = self._changed if changed else self._read
            where.pop(path, None)
            where[path] = None

    def _note_command(self, metadata: Mapping[str, Any]) -> None:
        if isinstance(metadata.get("command"), str):
            printed = metadata.get("bytes")
            self._spent.ran(printed if type(printed) is int else 0)

    def _stop_after(self, executed: Executed, times: int) -> Stop | None:
        by_policy = executed.denied and not executed.said
        self._denials = self._denials + 1 if by_policy else 0
        if executed.fatal:
            return Stop(StopReason.ERROR, executed.fatal)
        if executed.said == "no":
            return Stop(StopReason.DENIED, f"A person said no to a call of {executed.result.name}.")
        if by_policy and self._session.stop_on_denial:
            return Stop(
                StopReason.DENIED, f"A call of {executed.result.name} was denied, and policy ends the run."
            )
        if self._denials >= DENIALS_IN_A_ROW:
            return Stop(StopReason.DENIED, f"{self._denials} calls in a row were denied.")
        if times > SAME_CALL_TOLD:
            reason = (
                f"The model repeated one call of {executed.result.name} with the same result {times} times."
            )
            return Stop(StopReason.LOOP, reason)
        return None

    def _leave(self, call: ToolCall, stop: Stop) -> ToolResult:
        word = "canceled" if stop.stop in (StopReason.CANCELED, StopReason.TIME) else "Not run"
        result = ToolResult(call.id, call.name, f"{word}: {stop.reason}", is_error=True)
        self._keep_result(result, None, 0.0)
        return result

    def _keep_result(self, result: ToolResult, executed: Executed | None, duration: float) -> None:
        line = Result(
            self._turn,
            result.call_id,
            result.name,
            result.content,
            result.is_error,
            executed=executed is not None and executed.ran,
            denied=executed is not None and executed.denied,
            duration=duration,
            metadata=executed.outcome.metadata if executed else {},
            images=result.images,
        )
        self._session.journal.write(line)


def _comparable(executed: Executed) -> str:
    """The result without the name of its spill file, which is another one each time."""
    spill = executed.outcome.metadata.get("spill")
    content = executed.result.content
    return content.replace(spill, "") if isinstance(spill, str) and spill else content
