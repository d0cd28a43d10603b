"""The loop: send a request, run the calls of the response in order, append their results, repeat.

Every call gets exactly one result on every path, before the next request (`bot/agent/message_history.py` enforces it).
The model decides when it is done, within the limits; nothing here depends on a vendor, GitHub or a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bot.agent.calls import MAX_TRUNCATIONS, CallRunner
from bot.agent.compaction import SummaryCompaction
from bot.agent.conversation_context import ConversationContext, Files, LoopEnd, TurnInfo
from bot.agent.journal import JournalError
from bot.agent.limits import RequestState, SessionUsage, Stop, cancel_stop, ending, limit_shares, limit_stop
from bot.agent.message_history import MessageHistory, fixed_tokens, max_response
from bot.agent.receive import receive
from bot.agent.toolbox import Mask
from bot.contracts.journal import (
    BudgetChanged,
    ModelChanged,
    ProviderRetry,
    RequestSent,
    Response,
    ResponseFailed,
    SessionEnded,
    UserText,
)
from bot.contracts.messages import FinishReason, Image, Message, Part, Usage
from bot.contracts.model import Complete, Failed, ModelInfo, ModelRequest, Retrying
from bot.contracts.outcome import StopReason


def run_loop(context: ConversationContext, first: str, images: Sequence[Image] = ()) -> LoopEnd:
    """Run the conversation that `first` starts until the model is done or something stops it. `images` go with `first`.
    The journal is that of one conversation."""
    conversation = Conversation(context)
    used = conversation.own_usage if context.agent else conversation.session_usage
    try:
        stop, reason = _run_turns(conversation, first, images)
        context.write(SessionEnded(stop.value, reason, conversation.turn, used.usage, used.cost))
    except JournalError as error:
        stop, reason = StopReason.ERROR, str(error)
    final_text, files = conversation.final_text, conversation.files
    return LoopEnd(stop, reason, conversation.turn, used.usage, used.cost, final_text, files)


def _run_turns(conversation: Conversation, first: str, images: Sequence[Image]) -> Stop:
    conversation.add_user_text(first, "task", images)
    while True:
        if stop := conversation.stop_before_request() or conversation.compact_if_due():
            return stop
        response = conversation.ask()
        if conversation.prepare_retry(response):
            continue
        stop = ending(response, conversation.context.cancel, conversation.context.limits)
        message = conversation.record_response(response)
        if message.calls:
            stop = conversation.run_calls(message, stop)
        elif not stop:
            stop = conversation.continue_or_end(message)
        if stop:
            return stop


EMPTY_RESPONSE = (
    "Your last answer held neither text nor a tool call. If the work is done, say so in a sentence; "
    "if it is not, go on with the next tool call."
)


class Conversation:
    def __init__(self, context: ConversationContext) -> None:
        self.context = context
        self.turn = 0
        self.own_usage = SessionUsage()
        self.session_usage = context.shared_usage or SessionUsage()
        self.final_text = ""
        self._history = MessageHistory(fixed_tokens(context.system, context.toolbox.specs))
        self._truncations = 0
        self._empty_before = False
        self._provider = context.provider
        self._long_cache = False
        self._overflow = ""  # the API's refusal of a conversation that is too long
        self._mask: Mask | None = None
        self._calls = CallRunner(context, self.session_usage)
        self._compaction = SummaryCompaction(context)

    @property
    def files(self) -> Files:
        """Files that tools reported as read or changed."""
        return self._calls.files

    def add_user_text(
        self, text: str, origin: Literal["task", "host", "added"], images: Sequence[Image] = ()
    ) -> None:
        """Append a user message."""
        self._history.add_user(text, images)
        self.context.write(UserText(self.turn, text, origin, tuple(images)))

    def stop_before_request(self) -> Stop | None:
        """Return the reason against a further request, if there is one."""
        context = self.context
        if context.cancel.fired:
            return cancel_stop(context.cancel, context.limits)
        if context.journal.failure:
            return Stop(StopReason.ERROR, context.journal.failure)
        seconds = context.clock() - context.start_time
        if context.own_turn_limit is not None and self.turn >= context.own_turn_limit:
            return Stop(StopReason.TURNS, f"The limit of {context.own_turn_limit} turns is reached.")
        return limit_stop(context.limits, self.session_usage, seconds)

    def compact_if_due(self) -> Stop | None:
        """Compact the conversation if the next request would not fit; return a stop if that fails."""
        turn, is_due = self.turn + 1, self._compaction.due(self._history.tokens)
        if not self._overflow and (self.context.hooks.has_result() or not is_due):
            return None
        overflow, self._overflow = self._overflow, ""
        record, unavailable = self._compaction.shorten(turn, self._history, self.files)
        self._add_usage(record.usage, record.cost)
        if record.failure:
            self.context.write(record)
            if self.context.cancel.fired:
                return cancel_stop(self.context.cancel, self.context.limits)
            if unavailable and self._replace_model(turn, unavailable):
                return self.compact_if_due()
            refusal = f" The model's API said: {overflow}." if overflow else ""
            return Stop(StopReason.MAX_TOKENS, record.failure + refusal)
        # Claude's thinking is tied to everything before it, but for models with a budget, which require it back.
        thoughts = self._provider.info.thinking != "adaptive"
        self._history.shorten(record.text, record.first_kept, thoughts=thoughts)
        self.context.write(record._replace(after=self._history.tokens))
        return None

    def prepare_retry(self, response: Complete | Failed) -> bool:
        """Whether to send the request in another form, which does not count as a turn: compacted by the next
        `compact_if_due`, since the model refused the conversation as too long, or to another model, since the
        conversation's own is unavailable."""
        if not isinstance(response, Failed):
            return False
        model = self._provider.info
        if response.overflow and self._compaction.overflowed(self.turn, self._history.tokens):
            self._overflow = response.message.rstrip(".")
        elif not response.unavailable or not self._replace_model(self.turn, response.message):
            return False
        self._charge(response, model, ())
        self.turn -= 1
        self.session_usage.requests -= 1
        return True

    def _replace_model(self, turn: int, reason: str) -> bool:
        """Whether another model takes the place of the conversation's own, which is unavailable, from `turn` on."""
        provider = None if self.context.cancel.fired else self.context.fallback(reason)
        if provider is None:
            return False
        self._provider = provider
        self._compaction.use(provider)
        self.context.write(ModelChanged(turn, provider.info.name, reason))
        return True

    def ask(self) -> Complete | Failed:
        """Send one request and return its response."""
        context = self.context
        messages = self._history.view()
        self._mask = context.masking(self._state())
        # For the rest of the conversation: a shorter life later would make the vendor write the cache anew.
        self._long_cache = self._long_cache or bool(self.files.changed and context.slow_checks())
        self.turn += 1
        self.session_usage.requests += 1
        context.write(RequestSent(self.turn, len(messages)))
        context.hooks.request_sent(self.turn)
        request = ModelRequest(
            context.system,
            context.toolbox.specs,
            messages,
            required=self._mask is not None and self._mask.required,
            allowed=self._mask and self._mask.allowed,
            session=context.identity,
            max_output=max_response(self._provider.info),
            effort=context.effort,
            long_cache=self._long_cache,
        )
        return receive(context, self._provider, request, self._retrying)

    def _retrying(self, event: Retrying) -> None:
        self.context.write(ProviderRetry(self.turn, event.attempt, event.delay, event.reason))
        self.context.hooks.retrying(event)

    def _state(self) -> RequestState:
        turns, own = self.context.limits.turns, self.context.own_turn_limit
        limits = ((turns, self.session_usage.requests), (own, self.turn))
        left = min((limit - used for limit, used in limits if limit is not None), default=None)
        return RequestState(left, self.turn == 0, self.context.hooks.has_result())

    def record_response(self, response: Complete | Failed) -> Message:
        """Append the response, complete or partial, and add its usage."""
        partial = response.message if isinstance(response, Complete) else response.partial
        partial = partial or Message("assistant", ())
        message = self._history.add_assistant(partial, self.turn, response.usage.total)
        self.final_text = message.text.strip() or self.final_text
        truncated = isinstance(response, Complete) and response.finish is FinishReason.MAX_TOKENS
        self._truncations = self._truncations + 1 if truncated else 0
        self._charge(response, self._provider.info, message.parts)
        self.context.write(BudgetChanged(self.turn, self.session_usage.usage, self.session_usage.cost))
        return message

    def _charge(self, response: Complete | Failed, model: ModelInfo, parts: tuple[Part, ...]) -> None:
        """Add the usage of a response of `model` and write it, with the parts that entered the history."""
        usage = response.usage + response.discarded
        cost = model.cost(usage)
        self._add_usage(usage, cost)
        if isinstance(response, Complete):
            end = response.finish.value, response.raw_reason
            self.context.write(Response(self.turn, parts, *end, usage, cost))
        else:
            failure = response.message, response.status, response.canceled
            self.context.write(ResponseFailed(self.turn, *failure, parts, usage, cost))

    def _add_usage(self, usage: Usage, cost: float) -> None:
        self.own_usage.add(usage, cost)
        self.session_usage.add(usage, cost)

    def run_calls(self, message: Message, stop: Stop | None) -> Stop | None:
        """Run the calls in order, none of them after a `stop`; return a stop if the conversation ends with them."""
        results, stop = self._calls.run(self.turn, message.calls, self._mask, stop)
        self._empty_before = False
        self._history.add_results(results)
        info = self._turn_info(message, failed=self._calls.failed)
        if stop is None and self._truncations >= MAX_TRUNCATIONS:
            return Stop(
                StopReason.MAX_TOKENS, f"The model's answer was cut off {self._truncations} times in a row."
            )
        if stop is None and self.context.hooks.is_handover(info):
            stop = self._end_or_remind(info)
        if stop is None:
            for text in self.context.hooks.after_results(info):
                self.add_user_text(text, "added")
        return stop

    def continue_or_end(self, message: Message) -> Stop | None:
        """Handle a response without calls. The first empty one in a row gets a note, the second ends the
        conversation."""
        if not message.text.strip():
            if self._empty_before:
                reason = "The model answered twice in a row with neither text nor a tool call."
                return Stop(StopReason.PROVIDER_ERROR, reason)
            self._empty_before = True
            self.add_user_text(EMPTY_RESPONSE, "host")
            return None
        return self._end_or_remind(self._turn_info(message))

    def _end_or_remind(self, info: TurnInfo) -> Stop | None:
        """Return a stop, unless `more_work` or `before_end` has a text for the model, which is appended."""
        hooks = self.context.hooks
        text = hooks.more_work(info) or hooks.before_end()
        if not text:
            return Stop(StopReason.END_TURN, "The model ended its turn.")
        self.add_user_text(text, "host")
        return None

    def _turn_info(self, message: Message, *, failed: bool = False) -> TurnInfo:
        seconds = self.context.clock() - self.context.start_time
        shares = limit_shares(self.context.limits, self.session_usage, seconds)
        return TurnInfo(message.calls, self._state(), shares, failed)
