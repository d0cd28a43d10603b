"""What the model submitted in a recorded run, and the transcript of its conversation."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Protocol

from bot.agent.arguments import BadArgumentsError, parse_arguments
from bot.agent.journal import JournalFile
from bot.agent.message_history import transcript_text
from bot.agent.submission_tools import ANSWER
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import Response, ResponseFailed, Result, UserText
from bot.contracts.messages import Message, Text, ToolCall, ToolResult
from bot.contracts.tools import ToolArguments, ToolOutcome, ToolSpec


class ResultTool(Protocol):
    """A tool of the supervisor that keeps what the model submits."""

    @property
    def spec(self) -> ToolSpec: ...

    def __call__(self, arguments: ToolArguments, cancel: CancelToken) -> ToolOutcome: ...


def submitted(journal: JournalFile, tool: ToolSpec) -> Iterator[tuple[ToolArguments, Result]]:
    """Yield the arguments and the result of each call by which a recorded run submitted something with `tool`. A
    question that was answered during the run submitted nothing."""
    results = {
        (result.turn, result.call_id): result
        for result in journal.records(Result)
        if result.name == tool.name and not result.is_error and ANSWER not in result.metadata
    }
    for response in journal.records(Response):
        for part in response.parts:
            if isinstance(part, ToolCall) and (result := results.get((response.turn, part.id))):
                with suppress(BadArgumentsError):  # what the redactor masked may have been a bracket
                    yield parse_arguments(part.arguments, tool.parameters).values, result


def repeat_calls(tool: ResultTool, journal: JournalFile) -> None:
    """Give `tool` what it was given in a recorded run."""
    for arguments, _ in submitted(journal, tool.spec):
        tool(arguments, CancelToken())


def recorded_transcript(journal: JournalFile) -> str:
    """Return the conversation of the run itself as plain text, without its first message."""
    return transcript_text(list(_messages(journal))[1:])


def _messages(journal: JournalFile) -> Iterator[Message]:
    for line in journal.lines:
        match line.record:
            case UserText(text=text):
                yield Message("user", (Text(text),))
            case Response(parts=parts) | ResponseFailed(parts=parts):
                yield Message("assistant", parts)
            case Result(call_id=call_id, name=name, content=content, is_error=is_error):
                yield Message("tool", (ToolResult(call_id, name, content, is_error),))
