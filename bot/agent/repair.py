"""Rebuild the conversation that a journal recorded, also of a run that died at any point.

The result is a history that a vendor accepts: each call has one result, in order, and no id occurs twice. A
missing result is replaced by a note; nothing else is invented, and nothing is executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from bot.agent.journal_file import JournalFile, JournalLine
from bot.agent.message_history import HistoryError, MessageHistory
from bot.contracts.errors import UsageError
from bot.contracts.formatting import count_of
from bot.contracts.journal import (
    CallStarted,
    CompactionRecord,
    RecalledMessage,
    RequestSent,
    Response,
    ResponseFailed,
    Result,
    UserText,
)
from bot.contracts.messages import Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult

DIED_IN_CALL = (
    "canceled: the run died in this call. What it did, if anything, is not known: look before you go on."
)
DIED_BEFORE_CALL = "canceled: the run died before this call. It was not executed."

_CONVERSATION_RECORDS = (
    UserText,
    RecalledMessage,
    Response,
    ResponseFailed,
    Result,
    CompactionRecord,
)
_ALLOWED_PARTS: Mapping[Role, tuple[type, ...]] = {
    "user": (Text, Image),
    "assistant": (Text, Thinking, ToolCall),
    "tool": (ToolResult,),
}


class ConversationError(UsageError):
    """The journal's conversation cannot be continued; the message is the reason, in one sentence."""


class RebuiltConversation(NamedTuple):
    """The messages, and a sentence for each repair."""

    messages: tuple[Message, ...]
    repairs: tuple[str, ...] = ()


def rebuild_conversation(journal: JournalFile) -> RebuiltConversation:
    """Return the conversation of the run itself, without its subagents. Raises `ConversationError` if a line of
    it was masked or is inconsistent with the others."""
    builder = _Builder()
    for line in journal.lines:
        if line.masked and isinstance(line.record, _CONVERSATION_RECORDS):
            raise ConversationError(f"The redactor masked something in line {line.number} of the journal.")
        try:
            builder.take(line)
        except HistoryError as error:
            raise ConversationError(f"Line {line.number} of the journal does not fit: {error}.") from error
    return builder.finished()


class _Builder:
    def __init__(self) -> None:
        self._history = MessageHistory()
        self._recorded_ids: tuple[str, ...] = ()
        """The ids of the open calls as the journal has them; the history may have given others."""
        self._results: dict[str, list[Result]] = {}
        self._started: set[str] = set()
        self._unanswered = 0
        self._dropped = 0

    def take(self, line: JournalLine) -> None:
        record = line.record
        match record:
            case CallStarted():
                self._started.add(record.call_id)
            case Result():
                self._results.setdefault(record.call_id, []).append(record)
            case Response() | ResponseFailed():
                self._settle()
                self._answer(record.parts, record.turn)
            case RequestSent():
                self._settle()
            case UserText():
                self._settle()
                self._history.add_user(record.text, record.images)
            case RecalledMessage():
                if record.role != "tool":
                    self._settle()
                _refuse_foreign(record.role, record.parts)
                self._history.add(Message(record.role, record.parts))
                self._recorded_ids = tuple(call.id for call in record.parts if isinstance(call, ToolCall))
            case CompactionRecord() if not record.failure:
                self._settle()
                if record.dropped:
                    self._history.drop(record.dropped)
                else:
                    self._history.shorten(record.text, record.first_kept)

    def finished(self) -> RebuiltConversation:
        self._settle()
        messages = tuple(self._history.view())
        if messages and messages[0].role != "user":
            raise ConversationError("The journal does not hold what was asked first.")
        repairs = [
            f"{count_of(self._unanswered, 'call')} had no answer" if self._unanswered else "",
            f"{count_of(self._dropped, 'answer')} belonged to no call" if self._dropped else "",
        ]
        return RebuiltConversation(messages, tuple(text for text in repairs if text))

    def _answer(self, parts: tuple[Part, ...], turn: int) -> None:
        _refuse_foreign("assistant", parts)
        self._history.add_assistant(Message("assistant", parts), turn)
        self._recorded_ids = tuple(part.id for part in parts if isinstance(part, ToolCall))

    def _settle(self) -> None:
        """Close the open calls."""
        calls = self._history.open_calls
        if calls:
            self._history.add_results(
                [self._result(*pair) for pair in zip(calls, self._recorded_ids, strict=True)]
            )
        self._dropped += sum(map(len, self._results.values()))
        self._results, self._started, self._recorded_ids = {}, set(), ()

    def _result(self, call: ToolCall, recorded_id: str) -> ToolResult:
        for call_id in (call.id, recorded_id):
            if queue := self._results.get(call_id):
                record = queue.pop(0)
                return ToolResult(call.id, call.name, record.content, record.is_error, record.images)
        self._unanswered += 1
        started = call.id in self._started or recorded_id in self._started
        content = DIED_IN_CALL if started else DIED_BEFORE_CALL
        return ToolResult(call.id, call.name, content, is_error=True)


def _refuse_foreign(role: Role, parts: tuple[Part, ...]) -> None:
    for part in parts:
        if not isinstance(part, _ALLOWED_PARTS[role]):
            raise HistoryError(f"a message of the role {role} holds a {type(part).__name__}")
