"""What the loop remembers between its steps, and how each step is done: asking, keeping, having calls run, ending."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

from bot.agent.allowance import shares
from bot.agent.calls import Answered, Calls
from bot.agent.compaction import Dropped, Files, Situation, Stuck
from bot.agent.finish import Step, Stop, canceled, exceeded
from bot.agent.guards import (
    TRUNCATIONS_IN_A_ROW,
)
from bot.agent.history import History
from bot.agent.masking import Mask, State
from bot.agent.receive import receive
from bot.agent.session import Session, TurnInfo
from bot.agent.spent import Spent
from bot.agent.window import Gauge, longest_answer, tokens_of, tokens_of_text
from bot.contracts.events import Complete, Failed
from bot.contracts.journal import (
    BudgetChanged,
    Compacted,
    Note,
    Recalled,
    RequestSent,
    Response,
    ResponseFailed,
    UserText,
)
from bot.contracts.messages import Finish, Image, Message, Usage
from bot.contracts.model import ModelRequest, Provider
from bot.contracts.outcome import StopReason

MAX_HOST_TEXTS = 2

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
        self._started = session.clock() if session.began is None else session.began
        self._history = History()
        self._truncations = 0
        self._host_texts = 0
        self._told_of_silence = False
        self._answering = session.provider
        self._longest = longest_answer(session.provider.info)
        self._fixed = _fixed_tokens(session)
        self._gauge = Gauge()
        self._gauge.replaced(self._fixed)
        self._overflowed = False
        self._mask: Mask | None = None
        self._asked_now: tuple[str, ...] = ()
        self._calls = Calls(session, self.spent)

    @property
    def files(self) -> Files:
        """What tools said that they read and changed."""
        return self._calls.files

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
        if not self._overflowed and (self.session.hooks.has_result() or not compaction.due(turn, before)):
            return None
        self._overflowed = False
        messages = self._history.view()
        carried = (*self._asked_now, *self.session.hooks.carried())
        situation = Situation(turn, before, messages, self.files, carried, self._calls.again)
        made = compaction.shorten(situation, self.session.cancel)
        if isinstance(made, Dropped):
            self._history.drop(made.calls)
            line = Compacted(turn, before=before, dropped=made.calls)
        elif isinstance(made, Stuck):
            self._use(made.usage, made.cost)
            self.session.journal.write(
                Compacted(turn, before=before, usage=made.usage, cost=made.cost, failure=made.reason)
            )
            if self.session.cancel.fired:
                return canceled(self.session.cancel, self.session.limits)
            return Stop(StopReason.MAX_TOKENS, made.reason)
        else:
            self._use(made.usage, made.cost)
            self._history.shorten(made.text, made.first_kept)
            line = Compacted(
                turn, made.text, made.first_kept, before, 0, made.usage, made.cost, made.transcript
            )
        self._calls.forget()
        self._gauge.replaced(self._fixed + sum(map(tokens_of, self._history.view())))
        self.session.journal.write(line._replace(after=self._gauge.held))
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
        usage = response.usage + response.dropped
        cost = self.session.price(usage, self._answering.info)
        said = response.message if isinstance(response, Complete) else response.partial
        message = self._history.add_assistant(said or Message("assistant", ()), self.turn)
        self._gauge.counted(response.usage.total, message)
        self._use(usage, cost)
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
        """Run the calls in order; a stop where the conversation ends with them."""
        answered = self._calls.run(self.turn, message.calls, self._mask)
        self._told_of_silence = False
        info = self._close_turn(message, answered)
        if answered.stop is None and self._truncations >= TRUNCATIONS_IN_A_ROW:
            return Stop(
                StopReason.MAX_TOKENS, f"The model's answer was cut off {self._truncations} times in a row."
            )
        stop = answered.stop or self.session.hooks.wants_end()
        if stop is None and self.session.hooks.hands_over(info):
            stop = self._hear_host()
        if stop is None:
            for text in self.session.hooks.after_results(info):
                self.say(text, "added")
        return stop

    def leave_calls(self, message: Message, stop: Stop) -> Stop:
        """The session ends here: answer every call of `message` without running it."""
        self._close_turn(message, self._calls.leave(self.turn, message.calls, stop))
        return stop

    def say_or_end(self, message: Message, step: Step) -> Stop | None:
        """The model made no call: hear the host before it may end; an empty answer is told once."""
        self._close_turn(message, Answered([]))
        if step is Step.SAID_NOTHING:
            if self._told_of_silence:
                reason = "The model answered twice in a row with neither text nor a tool call."
                return Stop(StopReason.PROVIDER_ERROR, reason)
            self._told_of_silence = True
            self.say(SAID_NOTHING, "host")
            return None
        return self._hear_host()

    def _hear_host(self) -> Stop | None:
        """Let the host say what is missing before the session may end."""
        text = self.session.hooks.before_end() if self._host_texts < MAX_HOST_TEXTS else None
        if not text:
            return Stop(StopReason.END_TURN, "The model ended its turn.")
        self._host_texts += 1
        self.say(text, "host")
        return None

    def _close_turn(self, message: Message, answered: Answered) -> TurnInfo:
        results = answered.results
        if results:
            self._gauge.added(self._history.add_results(results))
        info = TurnInfo(
            self.turn, message.text, message.calls, tuple(results), self.spent.usage, self.spent.cost, answered.denied,
            self._state(), shares(self.session.limits, self.spent, self.session.clock() - self._started),
            answered.failed,
        )  # fmt: skip
        self.session.hooks.turn_done(info)
        return info


def _line(turn: int, response: Complete | Failed, message: Message, cost: float) -> Response | ResponseFailed:
    usage = response.usage + response.dropped
    if isinstance(response, Complete):
        finish, raw = response.finish.value, response.raw_reason
        return Response(turn, message.parts, finish, raw, usage, cost)
    return ResponseFailed(
        turn, response.message, response.status, response.canceled, message.parts, usage, cost
    )


def _fixed_tokens(session: Session) -> int:
    """About what the system text and the tools take of the window, in every request."""
    tools = (json.dumps([spec.name, spec.description, spec.parameters]) for spec in session.specs)
    return tokens_of_text(session.system) + sum(map(tokens_of_text, tools))
