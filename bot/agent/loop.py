"""The loop: ask the model, run the calls it makes in order, append their results, ask again (S-001..S-036).

Every call gets exactly one result on every path, before the next request (`bot/agent/history.py` refuses
anything else). The model decides when it is done, within the limits; nothing here knows a vendor, GitHub or a
file.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.agent.conversation import MAX_HOST_TEXTS, SAID_NOTHING, Conversation
from bot.agent.finish import Step, Stop, after
from bot.agent.journal import JournalError
from bot.agent.session import Hooks, LoopEnd, Session, TurnInfo
from bot.contracts.journal import SessionEnded
from bot.contracts.messages import Image
from bot.contracts.outcome import StopReason

__all__ = ["MAX_HOST_TEXTS", "SAID_NOTHING", "Hooks", "LoopEnd", "Session", "TurnInfo", "run"]


def run(session: Session, first: str, images: Sequence[Image] = ()) -> LoopEnd:
    """Hold the conversation that `first` opens, or goes on with, until the model is done or something stops it. The
    model is shown `images` with it.

    Raises `Busy` where another conversation is being held under the same name in the same journal (S-029).
    """
    with session.journal.held():
        return _hold(Conversation(session), first, images)


def _hold(talk: Conversation, first: str, images: Sequence[Image]) -> LoopEnd:
    session = talk.session
    try:
        stop = _converse(talk, first, images)
        usage, cost = talk.used
        session.journal.write(SessionEnded(stop.stop.value, stop.reason, talk.turn, usage, cost))
    except JournalError as error:
        stop = Stop(StopReason.ERROR, str(error))
    return LoopEnd(stop.stop, stop.reason, talk.turn, *talk.used, talk.final_text, talk.files)


def _converse(talk: Conversation, first: str, images: Sequence[Image]) -> Stop:
    talk.recall()
    talk.say(first, "task", images)
    while True:
        if stop := talk.may_not_ask() or talk.make_room():
            return stop
        response = talk.ask()
        if talk.too_long(response):
            continue
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
