"""The tool calls that a journal recorded, each with its result, and the messages that its run continued from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bot.agent.handover import ANSWER
from bot.agent.journal_file import JournalFile
from bot.contracts.journal import RecalledMessage, Response, Result
from bot.contracts.messages import Message, ToolCall


class RecordedCall(NamedTuple):
    """One recorded call; `result` is `None` if the run died in it."""

    turn: int
    call: ToolCall
    result: Result | None

    @property
    def handed_over(self) -> bool:
        """Whether the call submitted a result: a question that was answered during the run did not."""
        return self.result is not None and not self.result.is_error and ANSWER not in self.result.metadata


def recorded_calls(journal: JournalFile) -> Iterator[RecordedCall]:
    """Yield every call of the run in order, with its result."""
    results = {(result.turn, result.call_id): result for result in journal.records(Result)}
    for response in journal.records(Response):
        for part in response.parts:
            if isinstance(part, ToolCall):
                yield RecordedCall(response.turn, part, results.get((response.turn, part.id)))


def recalled_messages(journal: JournalFile) -> tuple[Message, ...]:
    """Return the messages that the recorded run continued from."""
    return tuple(Message(line.role, line.parts) for line in journal.records(RecalledMessage))
