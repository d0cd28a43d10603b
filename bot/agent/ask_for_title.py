"""Request a title for a change that its model did not describe, if the instruction is too long to be one
(S-169).

One extra request with a timeout; without a response the instruction's first words are the title.
"""

from collections.abc import Callable

from bot.agent.conversation_context import ConversationContext, LoopEnd
from bot.agent.limits import SessionUsage, limit_stop
from bot.agent.prompt import new_marker, render
from bot.agent.receive import receive
from bot.agent.submission_tools import MAX_CHANGE_TITLE
from bot.contracts.journal import BudgetChanged
from bot.contracts.messages import FinishReason, Message, Text
from bot.contracts.model import Complete, ModelRequest, Provider
from bot.contracts.outcome import StopReason
from bot.contracts.plain_text import quoted_names

SECONDS = 20.0
_MAX_INSTRUCTION = 4_000
_FILES = 20
_TOKENS = 2_048
"""A title needs few of these; a model that thinks needs the rest."""


def title_change(
    context: ConversationContext,
    model: Callable[[], Provider],
    instruction: str,
    end: LoopEnd,
    seconds: float = SECONDS,
) -> tuple[str, LoopEnd]:
    """Return the title that `model()` gives, empty if none is needed or none arrives within `seconds`, and `end` with
    the added usage."""
    short = len(instruction) <= MAX_CHANGE_TITLE and "\n" not in instruction.strip()
    if short or end.stop is not StopReason.END_TURN or not end.files.changed or context.cancel.fired:
        return "", end
    if limit_stop(context.limits, SessionUsage(usage=end.usage, cost=end.cost), 0.0):
        return "", end
    text = render(
        "title",
        longest=str(MAX_CHANGE_TITLE),
        instruction=instruction.strip()[:_MAX_INSTRUCTION],
        files=quoted_names(end.files.changed, _FILES),
        marker=new_marker(),
    )
    provider, request = model(), ModelRequest("", (), (Message("user", (Text(text),)),), max_output=_TOKENS)
    response = receive(context, provider, request, seconds=seconds)
    usage, cost = end.usage + response.usage, end.cost + provider.info.cost(response.usage)
    context.write(BudgetChanged(end.turns, usage, cost))
    title = ""
    if isinstance(response, Complete) and response.finish is FinishReason.END_TURN:
        title = _line(response.message.text)
    return title, end._replace(usage=usage, cost=cost)


def _line(text: str) -> str:
    """Return the first line with text, without the decoration that models put around a title; empty if it is
    too long."""
    lines = (" ".join(line.split()).strip("#*`\"' ").removesuffix(".") for line in text.split("\n"))
    line = next(filter(None, lines), "")
    return line if len(line) <= MAX_CHANGE_TITLE else ""
