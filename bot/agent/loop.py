"""The loop: send a request, run the calls of the response in order, append their results, repeat.

Every call gets exactly one result on every path, before the next request (`bot/agent/message_history.py` enforces it).
The model decides when it is done, within the limits; nothing here depends on a vendor, GitHub or a file.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.agent.conversation import Conversation
from bot.agent.conversation_context import ConversationContext, LoopEnd
from bot.agent.journal import JournalError
from bot.agent.limits import Stop, ending
from bot.contracts.journal import SessionEnded
from bot.contracts.messages import Image
from bot.contracts.outcome import StopReason


def run_loop(context: ConversationContext, first: str, images: Sequence[Image] = ()) -> LoopEnd:
    """Run the conversation that `first` starts until the model is done or something stops it. `images` go with `first`.
    The journal is that of one conversation."""
    conversation = Conversation(context)
    try:
        stop = _run_turns(conversation, first, images)
        usage, cost = conversation.totals
        context.write(SessionEnded(stop.stop.value, stop.reason, conversation.turn, usage, cost))
    except JournalError as error:
        stop = Stop(StopReason.ERROR, str(error))
    return LoopEnd(
        stop.stop,
        stop.reason,
        conversation.turn,
        *conversation.totals,
        conversation.final_text,
        conversation.files,
    )


def _run_turns(conversation: Conversation, first: str, images: Sequence[Image]) -> Stop:
    conversation.add_user_text(first, "task", images)
    while True:
        if stop := conversation.stop_before_request() or conversation.compact_if_due():
            return stop
        response = conversation.ask()
        if conversation.retry_after_overflow(response) or conversation.fall_back(response):
            continue
        stop = ending(response, conversation.context.cancel, conversation.context.limits)
        message = conversation.record_response(response)
        if stop:
            stop = conversation.skip_calls(message, stop)
        elif message.calls:
            stop = conversation.run_calls(message)
        else:
            stop = conversation.continue_or_end(message)
        if stop:
            return stop
