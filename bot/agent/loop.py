"""The loop: ask the model, run the calls it makes in order, append their results, ask again (S-001..S-036).

Every call gets exactly one result on every path, before the next request (`bot/agent/history.py` refuses
anything else). The model decides when it is done, within the limits; nothing here knows a vendor, GitHub or a
file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from bot.agent.finish import Step, Stop, after, canceled, exceeded
from bot.agent.guards import (
    DENIALS_IN_A_ROW,
    REPEAT_NOTICE,
    SAME_CALL_TOLD,
    TRUNCATIONS_IN_A_ROW,
    RepeatGuard,
)
from bot.agent.history import History
from bot.agent.journal import Journal, JournalError
from bot.agent.receive import receive
from bot.agent.toolbox import Executed, Toolbox
from bot.contracts.cancel import CancelToken
from bot.contracts.events import Complete, Failed, Retrying
from bot.contracts.journal import (
    BudgetChanged,
    CallStarted,
    Permitted,
    RequestSent,
    Response,
    ResponseFailed,
    Result,
    SessionEnded,
    UserText,
)
from bot.contracts.limits import Limits
from bot.contracts.messages import Finish, Message, ToolCall, ToolResult, Usage
from bot.contracts.model import ModelInfo, ModelRequest, Provider
from bot.contracts.outcome import StopReason

MAX_HOST_TEXTS = 2

SAID_NOTHING = (
    "Your last answer held neither text nor a tool call. If the work is done, say so in a sentence; "
    "if it is not, go on with the next tool call."
)


class TurnInfo(NamedTuple):
    """One finished turn. `usage` and `cost` are the session's so far; `denied` counts this turn's denials."""

    turn: int
    text: str
    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]
    usage: Usage
    cost: float
    denied: int


class Hooks(NamedTuple):
    """What the host wants to know or say. Called on the loop's thread: they must be quick and must not raise.

    `request_sent(turn)` comes as the request goes out, just before the wait for its answer begins.
    `before_end()` is asked when the model says that it is done: a text is put to the model and the session
    goes on, at most twice; `None` lets it end. `retrying(event)` comes before a wait for the model's API.
    `wants_end()` is asked once a turn's calls are answered: a stop ends the session there. If there is none,
    `after_results(info)` gives texts that follow the results of that turn, for the model alone.
    """

    request_sent: Callable[[int], None] = lambda turn: None
    turn_done: Callable[[TurnInfo], None] = lambda info: None
    before_end: Callable[[], str | None] = lambda: None
    retrying: Callable[[Retrying], None] = lambda event: None
    wants_end: Callable[[], Stop | None] = lambda: None
    after_results: Callable[[TurnInfo], Sequence[str]] = lambda info: ()


class Session(NamedTuple):
    """Everything one conversation needs, injected.

    `journal` has its header already; `system` and the tools stay as they are for the whole session (invariant
    3). `stop_on_denial` is the policy's `on_deny: stop`; `price` says what a response
    cost, in USD.
    """

    provider: Provider
    system: str
    toolbox: Toolbox
    journal: Journal
    limits: Limits
    cancel: CancelToken
    hooks: Hooks = Hooks()
    stop_on_denial: bool = False
    price: Callable[[Usage, ModelInfo], float] = lambda usage, info: info.cost(usage)
    clock: Callable[[], float] = time.monotonic


class LoopEnd(NamedTuple):
    """How it ended. `reason` is one sentence; `final_text` the last thing the model said; `cost` in USD."""

    stop: StopReason
    reason: str
    turns: int
    usage: Usage
    cost: float
    final_text: str


def run(session: Session, first: str) -> LoopEnd:
    """Hold the conversation that `first` opens until the model is done or something stops it."""
    talk = _Conversation(session)
    try:
        stop = _converse(talk, first)
        session.journal.write(SessionEnded(stop.stop.value, stop.reason, talk.turn, talk.usage, talk.cost))
    except JournalError as error:
        stop = Stop(StopReason.ERROR, str(error))
    return LoopEnd(stop.stop, stop.reason, talk.turn, talk.usage, talk.cost, talk.final_text)


def _converse(talk: _Conversation, first: str) -> Stop:
    talk.say(first, "task")
    while True:
        if stop := talk.may_not_ask():
            return stop
        response = talk.ask()
        step = after(response, talk.session.cancel, talk.session.limits)
        message = talk.keep(response)
        if step is Step.RUN_CALLS:
            stop = talk.run_calls(message)
        elif isinstance(step, Stop):
            stop = talk.leave_calls(message, step)
        else:
            stop = talk.say_or_end(message, step)
        if stop:
            return stop


class _Conversation:
    """What the loop above remembers between its steps."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.turn = 0
        self.usage = Usage()
        self.cost = 0.0
        self.final_text = ""
        self._started = session.clock()
        self._history = History()
        self._repeats = RepeatGuard()
        self._denials = 0
        self._truncations = 0
        self._host_texts = 0
        self._told_of_silence = False

    def say(self, text: str, origin: Literal["task", "host", "added"]) -> None:
        """Put a user message into the history."""
        self._history.add_user(text)
        self.session.journal.write(UserText(self.turn, text, origin))

    def may_not_ask(self) -> Stop | None:
        """What forbids a further request, if anything does."""
        session = self.session
        if session.cancel.fired:
            return canceled(session.cancel, session.limits)
        if session.journal.failure:
            return Stop(StopReason.ERROR, session.journal.failure)
        seconds = session.clock() - self._started
        return exceeded(session.limits, self.turn, self.usage, self.cost, seconds)

    def ask(self) -> Complete | Failed:
        """One request and its response."""
        session = self.session
        messages = self._history.view()
        self.turn += 1
        session.journal.write(RequestSent(self.turn, len(messages)))
        session.hooks.request_sent(self.turn)
        request = ModelRequest(session.system, session.toolbox.specs, messages)
        return receive(
            session.provider, request, session.cancel, session.journal, self.turn, session.hooks.retrying
        )

    def keep(self, response: Complete | Failed) -> Message:
        """Append what the model said, whole or not, and account for it."""
        cost = self.session.price(response.usage, self.session.provider.info)
        said = response.message if isinstance(response, Complete) else response.partial
        message = self._history.add_assistant(said or Message("assistant", ()), self.turn)
        self.usage += response.usage
        self.cost += cost
        self.final_text = message.text.strip() or self.final_text
        truncated = isinstance(response, Complete) and response.finish is Finish.MAX_TOKENS
        self._truncations = self._truncations + 1 if truncated else 0
        self.session.journal.write(_line(self.turn, response, message, cost))
        self.session.journal.write(BudgetChanged(self.turn, self.usage, self.cost))
        return message

    def run_calls(self, message: Message) -> Stop | None:
        """Run the calls in order; from the first reason to stop on, answer the rest without running them."""
        stop: Stop | None = None
        denied = 0
        results: list[ToolResult] = []
        for call in message.calls:
            if stop is None and self.session.cancel.fired:
                stop = canceled(self.session.cancel, self.session.limits)
            if stop is not None:
                results.append(self._leave(call, stop))
                continue
            result, was_denied, stop = self._run(call)
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

    def _run(self, call: ToolCall) -> tuple[ToolResult, bool, Stop | None]:
        journal, clock = self.session.journal, self.session.clock
        journal.write(CallStarted(self.turn, call.id, call.name))
        begun = clock()
        executed = self.session.toolbox.execute(call, self.session.cancel)
        duration = round(clock() - begun, 4)
        times = self._repeats.count(call, _comparable(executed))
        result = executed.result
        if times == SAME_CALL_TOLD:
            result = replace(result, content=result.content + REPEAT_NOTICE)
        if executed.permission is not None:
            allowed = executed.permission
            journal.write(Permitted(call.name, allowed.allow, allowed.rule, allowed.reason, call.id))
        self._keep_result(result, executed, duration)
        return result, executed.denied, self._stop_after(executed, times)

    def _stop_after(self, executed: Executed, times: int) -> Stop | None:
        self._denials = self._denials + 1 if executed.denied else 0
        if executed.fatal:
            return Stop(StopReason.ERROR, executed.fatal)
        if executed.denied and self.session.stop_on_denial:
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
        )
        self.session.journal.write(line)

    def _close_turn(self, message: Message, results: list[ToolResult], denied: int) -> TurnInfo:
        if results:
            self._history.add_results(results)
        info = TurnInfo(self.turn, message.text, message.calls, tuple(results), self.usage, self.cost, denied)
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
