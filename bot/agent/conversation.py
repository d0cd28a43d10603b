"""What the loop remembers between its steps, and how each step is done: asking, keeping, running calls, ending."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, Literal

from bot.agent.allowance import shares
from bot.agent.compaction import Files, Situation, Stuck
from bot.agent.finish import Step, Stop, canceled, commands_exceeded, exceeded
from bot.agent.guards import (
    DENIALS_IN_A_ROW,
    REPEAT_NOTICE,
    SAME_CALL_TOLD,
    TRUNCATIONS_IN_A_ROW,
    RepeatGuard,
)
from bot.agent.history import History
from bot.agent.masking import Mask, State
from bot.agent.receive import receive
from bot.agent.rereads import Rereads
from bot.agent.session import Session, TurnInfo
from bot.agent.spent import Spent
from bot.agent.toolbox import Executed
from bot.agent.window import Gauge, longest_answer, tokens_of, tokens_of_text
from bot.contracts.events import Complete, Failed
from bot.contracts.journal import (
    BudgetChanged,
    CallStarted,
    Compacted,
    Note,
    Permitted,
    Recalled,
    RequestSent,
    Response,
    ResponseFailed,
    Result,
    UserText,
)
from bot.contracts.messages import Finish, Image, Message, ToolCall, ToolResult, Usage
from bot.contracts.model import ModelRequest, Provider
from bot.contracts.outcome import StopReason

MAX_HOST_TEXTS = 2
MOST_TOGETHER = 4
"""How many calls run beside each other at most."""

UnderWay = Callable[[], tuple[Executed, float]]
"""Waits for a call that was begun: what became of it, and its seconds."""

SAID_NOTHING = (
    "Your last answer held neither text nor a tool call. If the work is done, say so in a sentence; "
    "if it is not, go on with the next tool call."
)

ASKED_NOW = (
    "## Asked last, word for word\nThe task at the top came first; with this its run was gone on with."
)


class Conversation:
    """One conversation under way; `bot/agent/loop.py` says what follows what."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.turn = 0
        self.usage = Usage()
        self.cost = 0.0
        self.spent = session.purse or Spent()
        self.final_text = ""
        self._started = session.clock()
        self._history = History()
        self._repeats = RepeatGuard()
        self._denials = 0
        self._truncations = 0
        self._host_texts = 0
        self._told_of_silence = False
        self._answering = session.provider
        self._longest = longest_answer(session.provider.info)
        self._fixed = _fixed_tokens(session)
        self._gauge = Gauge()
        self._gauge.replaced(self._fixed)
        self._read: dict[str, None] = {}
        self._changed: dict[str, None] = {}
        self._overflowed = False
        self._mask: Mask | None = None
        self._asked_now: tuple[str, ...] = ()
        self._rereads = Rereads()
        self._reading = frozenset(spec.name for spec in session.toolbox.specs if not spec.writes)

    @property
    def files(self) -> Files:
        """What tools said that they read and changed."""
        return Files(tuple(self._read), tuple(self._changed))

    @property
    def used(self) -> tuple[Usage, float]:
        """Tokens and USD of this conversation; of a run also its subagents'."""
        return (self.usage, self.cost) if self.session.part else (self.spent.usage, self.spent.cost)

    def recall(self) -> None:
        """Take over the messages of the run that is gone on with."""
        for message in self.session.before:
            kept = self._history.add(message)
            self._gauge.added(kept)
            self.session.journal.write(Recalled(kept.role, kept.parts))

    def say(self, text: str, origin: Literal["task", "host", "added"], images: Sequence[Image] = ()) -> None:
        """Put a user message into the history. A later task than the first one is kept over every compaction, too."""
        if origin == "task" and self.session.before:
            self._asked_now = (f"{ASKED_NOW}\n\n{text}",)
        self._gauge.added(self._history.add_user(text, images))
        self.session.journal.write(UserText(self.turn, text, origin, tuple(images)))

    def may_not_ask(self) -> Stop | None:
        """What forbids a further request, if anything does."""
        session = self.session
        if session.cancel.fired:
            return canceled(session.cancel, session.limits)
        if session.journal.failure:
            return Stop(StopReason.ERROR, session.journal.failure)
        seconds = session.clock() - self._started
        if session.own_turns is not None and self.turn >= session.own_turns:
            return Stop(StopReason.TURNS, f"The limit of {session.own_turns} turns is reached.")
        return exceeded(session.limits, self.spent, seconds)

    def make_room(self) -> Stop | None:
        """Make the conversation shorter where the next request would not fit; a stop where that cannot be done."""
        compaction = self.session.compaction
        if compaction is None:
            return None
        turn, before = self.turn + 1, self._gauge.held
        if not self._overflowed and not compaction.due(turn, before):
            return None
        self._overflowed = False
        messages = self._history.view()
        carried = (*self._asked_now, *self.session.hooks.carried())
        made = compaction.shorten(Situation(turn, before, messages, self.files, carried), self.session.cancel)
        self._use(made.usage, made.cost)
        if isinstance(made, Stuck):
            self.session.journal.write(
                Compacted(turn, before=before, usage=made.usage, cost=made.cost, failure=made.reason)
            )
            if self.session.cancel.fired:
                return canceled(self.session.cancel, self.session.limits)
            return Stop(StopReason.MAX_TOKENS, made.reason)
        self._history.shorten(made.text, made.first_kept)
        self._rereads.forget()
        self._gauge.replaced(self._fixed + sum(map(tokens_of, self._history.view())))
        self.session.journal.write(
            Compacted(
                turn,
                made.text,
                made.first_kept,
                before,
                self._gauge.held,
                made.usage,
                made.cost,
                made.transcript,
            )
        )
        return None

    def too_long(self, response: Complete | Failed) -> bool:
        """Whether the model refused the conversation as too long and a shorter one is worth a try: it is made by
        the next `make_room`, and the request does not count as a turn."""
        compaction = self.session.compaction
        if not isinstance(response, Failed) or not response.overflow or compaction is None:
            return False
        if not compaction.overflowed(self.turn, self._gauge.held):
            return False
        self.session.journal.write(_line(self.turn, response, Message("assistant", ()), 0.0))
        self.turn -= 1
        self.spent.take_back()
        self._overflowed = True
        return True

    def ask(self) -> Complete | Failed:
        """One request and its response."""
        session = self.session
        messages = self._history.view()
        self._mask = session.masking(self._state())
        self.turn += 1
        self._put(session.lent() or session.provider)
        self.spent.ask()
        session.journal.write(RequestSent(self.turn, len(messages), self._history.digest))
        session.hooks.request_sent(self.turn)
        return receive(
            self._answering, self._request(messages), session.cancel, session.journal, self.turn,
            session.hooks.retrying,
        )  # fmt: skip

    def _put(self, provider: Provider) -> None:
        """Who answers from here on."""
        if provider is self._answering:
            return
        self._answering = provider
        self._longest = longest_answer(provider.info)
        self.session.journal.write(Note(f"From turn {self.turn} on the model {provider.info.name} answers."))

    def _request(self, messages: Sequence[Message]) -> ModelRequest:
        session, mask = self.session, self._mask
        return ModelRequest(
            session.system, session.specs, messages,
            tool_choice="none" if mask and not mask.allowed else "auto",
            allowed=mask.allowed if mask and mask.allowed else None,
            session=session.identity, max_output=self._longest, moved=self._history.moved,
        )  # fmt: skip

    def _state(self) -> State:
        """The state of the next request."""
        session = self.session
        limits = [
            limit - used
            for limit, used in ((session.limits.turns, self.spent.requests), (session.own_turns, self.turn))
            if limit is not None
        ]
        return State(min(limits) if limits else None)

    def keep(self, response: Complete | Failed) -> Message:
        """Append what the model said, whole or not, and account for it."""
        cost = self.session.price(response.usage, self._answering.info)
        said = response.message if isinstance(response, Complete) else response.partial
        message = self._history.add_assistant(said or Message("assistant", ()), self.turn)
        self._gauge.counted(response.usage.total, message)
        self._use(response.usage, cost)
        self.final_text = message.text.strip() or self.final_text
        truncated = isinstance(response, Complete) and response.finish is Finish.MAX_TOKENS
        self._truncations = self._truncations + 1 if truncated else 0
        self.session.journal.write(_line(self.turn, response, message, cost))
        self.session.journal.write(BudgetChanged(self.turn, self.spent.usage, self.spent.cost))
        return message

    def _use(self, usage: Usage, cost: float) -> None:
        self.usage += usage
        self.cost += cost
        self.spent.use(usage, cost)

    def run_calls(self, message: Message) -> Stop | None:
        """Run the calls in order; from the first reason to stop on, answer the rest without running them."""
        stop: Stop | None = None
        denied = 0
        results: list[ToolResult] = []
        under_way: deque[UnderWay] = deque()
        for place, call in enumerate(message.calls):
            if stop is None and self.session.cancel.fired:
                stop = canceled(self.session.cancel, self.session.limits)
            if stop is not None and not under_way:
                results.append(self._leave(call, stop))
                continue
            if not under_way:
                under_way.extend(self._begin(message.calls[place:]))
            result, was_denied, stopped = self._end(call, under_way.popleft())
            stop = stop or stopped or commands_exceeded(self.session.limits, self.spent)
            denied += was_denied
            results.append(result)
        self._told_of_silence = False
        info = self._close_turn(message, results, denied)
        if stop is None and self._truncations >= TRUNCATIONS_IN_A_ROW:
            return Stop(
                StopReason.MAX_TOKENS, f"The model's answer was cut off {self._truncations} times in a row."
            )
        stop = stop or self.session.hooks.wants_end()
        if stop is None:
            for text in self.session.hooks.after_results(info):
                self.say(text, "added")
        return stop

    def leave_calls(self, message: Message, stop: Stop) -> Stop:
        """The session ends here: answer every call of `message` without running it."""
        self._close_turn(message, [self._leave(call, stop) for call in message.calls], 0)
        return stop

    def say_or_end(self, message: Message, step: Step) -> Stop | None:
        """The model made no call: hear the host before it may end; an empty answer is told once."""
        self._close_turn(message, [], 0)
        if step is Step.SAID_NOTHING:
            if self._told_of_silence:
                reason = "The model answered twice in a row with neither text nor a tool call."
                return Stop(StopReason.PROVIDER_ERROR, reason)
            self._told_of_silence = True
            self.say(SAID_NOTHING, "host")
            return None
        text = self.session.hooks.before_end() if self._host_texts < MAX_HOST_TEXTS else None
        if not text:
            return Stop(StopReason.END_TURN, "The model ended its turn.")
        self._host_texts += 1
        self.say(text, "host")
        return None

    def _begin(self, calls: Sequence[ToolCall]) -> Sequence[UnderWay]:
        """Start the first of `calls`, and those right after it that may run beside it."""
        toolbox, clock, mask = self.session.toolbox, self.session.clock, self._mask

        def execute(call: ToolCall) -> tuple[Executed, float]:
            begun = clock()
            return toolbox.execute(call, self.session.cancel, mask), round(clock() - begun, 4)

        together = list(takewhile(toolbox.may_overlap, calls[:MOST_TOGETHER]))
        for call in together or calls[:1]:
            self.session.journal.write(CallStarted(self.turn, call.id, call.name))
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
        journal = self.session.journal
        executed, duration = under_way()
        times = self._repeats.count(call, _comparable(executed))
        result = executed.result
        if executed.ran and not result.is_error and result.name in self._reading:
            result = replace(result, content=self._rereads.said(self.turn, call, result.content))
        if times == SAME_CALL_TOLD:
            result = replace(result, content=result.content + REPEAT_NOTICE)
        if executed.permission is not None:
            allowed = executed.permission
            journal.write(Permitted(call.name, allowed.allow, allowed.rule, allowed.reason, call.id))
        self._keep_result(result, executed, duration)
        self._note_files(executed.outcome.metadata)
        self._note_command(executed.outcome.metadata)
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
            self.spent.ran(printed if type(printed) is int else 0)

    def _stop_after(self, executed: Executed, times: int) -> Stop | None:
        by_policy = executed.denied and not executed.said
        self._denials = self._denials + 1 if by_policy else 0
        if executed.fatal:
            return Stop(StopReason.ERROR, executed.fatal)
        if executed.said == "no":
            return Stop(StopReason.DENIED, f"A person said no to a call of {executed.result.name}.")
        if by_policy and self.session.stop_on_denial:
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
            self.turn,
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
        self.session.journal.write(line)

    def _close_turn(self, message: Message, results: list[ToolResult], denied: int) -> TurnInfo:
        if results:
            self._gauge.added(self._history.add_results(results))
        info = TurnInfo(
            self.turn, message.text, message.calls, tuple(results), self.spent.usage, self.spent.cost, denied,
            self._state(), shares(self.session.limits, self.spent, self.session.clock() - self._started),
        )  # fmt: skip
        self.session.hooks.turn_done(info)
        return info


def _comparable(executed: Executed) -> str:
    """The result without the name of its spill file, which is another one each time."""
    spill = executed.outcome.metadata.get("spill")
    content = executed.result.content
    return content.replace(spill, "") if isinstance(spill, str) and spill else content


def _line(turn: int, response: Complete | Failed, message: Message, cost: float) -> Response | ResponseFailed:
    if isinstance(response, Complete):
        finish, raw = response.finish.value, response.raw_reason
        return Response(turn, message.parts, finish, raw, response.usage, cost)
    return ResponseFailed(
        turn, response.message, response.status, response.canceled, message.parts, response.usage, cost
    )


def _fixed_tokens(session: Session) -> int:
    """About what the system text and the tools take of the window, in every request."""
    tools = (json.dumps([spec.name, spec.description, spec.parameters]) for spec in session.specs)
    return tokens_of_text(session.system) + sum(map(tokens_of_text, tools))
