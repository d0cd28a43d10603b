"""A scripted model in the test's process, for tests of the loop."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import FinishReason, Message, Part, Text, ToolCall, Usage
from bot.contracts.model import Complete, Failed, ModelInfo, ModelRequest, OnRetry, unreported

INFO = ModelInfo("scripted/model", 200_000, 8_192, 1.0, 5.0, 0.1, 1.25)

Turn = Complete | Failed | Callable[[CancelToken], Complete | Failed]


def says(
    *parts: Part | str, finish: FinishReason | None = None, usage: Usage | None = None, raw: str = ""
) -> Complete:
    """A whole response. A bare string is text; the finish follows from the parts unless it is given."""
    whole = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    message = Message("assistant", whole)
    natural = FinishReason.TOOL_USE if message.calls else FinishReason.END_TURN
    return Complete(message, finish or natural, raw or (finish or natural).value, usage or Usage(10, 0, 0, 5))


def call(name: str, arguments: str = "{}", call_id: str = "c1", *, complete: bool = True) -> ToolCall:
    return ToolCall(call_id, name, arguments, complete)


@dataclass
class ScriptedProvider:
    """Plays `script` turn by turn; one more request fails. `requests` records the messages of every request."""

    script: Sequence[Turn]
    info: ModelInfo = INFO
    requests: list[list[Message]] = field(default_factory=list)

    def respond(
        self, request: ModelRequest, cancel: CancelToken, retrying: OnRetry = unreported
    ) -> Complete | Failed:
        number = len(self.requests)
        self.requests.append(list(request.messages))
        if number >= len(self.script):
            return Failed("the script is over")
        turn = self.script[number]
        return turn if isinstance(turn, Complete | Failed) else turn(cancel)

    def close(self) -> None:
        pass
