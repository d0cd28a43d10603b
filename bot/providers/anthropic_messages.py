"""The Messages API (Anthropic, and servers that speak it) over the `anthropic` package.

Goes through the package's `client.post` with a body of bytes: its typed path walks every message again each
turn (5.2 ms a turn at 200 turns against 2.4), and this way a request is a byte prefix of the next.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from bot.contracts.messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from bot.contracts.model import ModelInfo, ModelRequest
from bot.contracts.tools import ToolSpec
from bot.providers.assembly import Assembly
from bot.providers.carried import is_foreign
from bot.providers.choice import anthropic_choice
from bot.providers.encoding import (
    History,
    Opening,
    argument_object,
    clean,
    clean_tree,
    dumps,
    fitting_id,
    unseen,
)
from bot.providers.endpoint import Endpoint, Line, open_client
from bot.providers.messages_reader import MessagesReader
from bot.providers.streaming import Frame, events_of

if TYPE_CHECKING:
    import httpx2

_IDLE = 90.0
_USER = b'{"role":"user"'
_ASSISTANT = b'{"role":"assistant"'
_CONTENT = b',"content":['
_END = b"]}"
_BLOCK_END = b"}" + _END
_MARKED_BLOCK_END = b',"cache_control":{"type":"ephemeral"}}' + _END
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NO_OUTPUT = "(no output)"
# In tokens, for models that want a number; the API's least is 1,024.
_BUDGET = 16_384
_LEAST_BUDGET = 1_024
# One is on the end of the system text; the API takes four.
_MESSAGE_MARKS = 3


class AnthropicMessages:
    """A `bot.providers.streaming.Wire`."""

    def __init__(
        self, endpoint: Endpoint, info: ModelInfo, *, patience: float | None = None, idle: float = _IDLE
    ) -> None:
        import anthropic
        import httpx2

        self.endpoint = endpoint
        self.line = Line()
        self.errors: tuple[type[Exception], ...] = (
            anthropic.AnthropicError,
            httpx2.HTTPError,
            httpx2.StreamError,
        )
        self.info = info
        self.by = f"messages/{info.name}"
        self._history = History(self._message)
        self._moved = History(self._unthinking)
        self._opening = Opening(self._render)
        self._client = self._open(patience or info.timeout, idle)

    def _open(self, patience: float, idle: float) -> Any:
        """The package's client, with nothing of the process's environment in it."""
        import anthropic

        # Servers on the own machine need no key, but the package insists on one.
        key = self.endpoint.key or "none"
        headers = {"Authorization": f"Bearer {key}"}
        if not self.endpoint.is_anthropic:
            headers["X-Api-Key"] = key  # where gateways looked before the package moved to Authorization
        return anthropic.Anthropic(
            api_key=key,
            base_url=self.endpoint.url.removesuffix("/v1"),
            max_retries=0,
            open_telemetry=False,
            http_client=open_client(self.endpoint, self.line, headers, patience=patience, idle=idle),
        )

    def close(self) -> None:
        self._client.close()
        self.line.close()

    def send(self, body: bytes) -> httpx2.Response:
        import httpx2

        response: httpx2.Response = self._client.post(
            "/v1/messages",
            cast_to=httpx2.Response,
            content=body,
            options={"headers": {"Content-Type": "application/json"}},
            stream=True,
        )
        return response

    def frames(self, response: httpx2.Response) -> Iterator[Frame]:
        return events_of(response)

    def reader(self, assembly: Assembly, request: ModelRequest) -> MessagesReader:
        return MessagesReader(assembly, len(request.messages))

    def encode(self, request: ModelRequest) -> bytes:
        """The body. What changes from turn to turn comes last: messages, marks on their end, tool choice."""
        rows = _joined(self._rows(request))
        # The newest message, and those marked before: a lookup walks back 20 blocks at most, and one turn with
        # ten parallel calls has more. The third is for a request that failed before anything of it was kept.
        users = (at for at in range(len(rows) - 1, -1, -1) if rows[at].startswith(_USER))
        for at in islice(users, _MESSAGE_MARKS):
            rows[at] = rows[at].removesuffix(_BLOCK_END) + _MARKED_BLOCK_END
        forced = self.info.forced_choice and self.info.thinking == "off"
        choice = anthropic_choice(request, forced=forced)
        tail = b"" if choice is None else b',"tool_choice":' + dumps(choice)
        return b'%s"messages":[%s]%s}' % (self._opening.of(request), b",".join(rows), tail)

    def _rows(self, request: ModelRequest) -> list[bytes]:
        """Each message's bytes. Thinking is tied to everything before it: what was moved goes without."""
        if not request.moved:
            return self._history.encoded(request.messages)
        moved, rest = request.messages[: request.moved], request.messages[request.moved :]
        return [*self._moved.encoded(moved), *self._history.encoded(rest)]

    def _unthinking(self, message: Message, position: int) -> bytes:
        """A moved message. Models that are given a number of tokens to think with tie nothing, and want it back."""
        if self.info.thinking == "budget":
            return self._message(message, position)
        parts = tuple(part for part in message.parts if not isinstance(part, Thinking))
        return self._message(replace(message, parts=parts), position)

    def _render(self, request: ModelRequest) -> bytes:
        """Everything before the messages."""
        longest = min(request.max_output or self.info.max_output, self.info.max_output)
        opening: dict[str, Any] = {"model": self.info.name, "max_tokens": longest, "stream": True}
        thinking = _thinking(self.info, longest)
        if thinking is not None:
            opening["thinking"] = thinking
        if request.tools:
            opening["tools"] = [self._tool(spec) for spec in request.tools]
        if request.system.strip():
            block = {"type": "text", "text": clean(request.system), "cache_control": {"type": "ephemeral"}}
            opening["system"] = [block]
        return dumps(opening)[:-1] + b","

    def _tool(self, spec: ToolSpec) -> dict[str, Any]:
        tool = {
            "name": spec.name,
            "description": spec.description,
            "input_schema": dict(spec.parameters),
        }
        return {**tool, "eager_input_streaming": True} if self.info.streams_tools else tool

    def _message(self, message: Message, position: int) -> bytes:
        """The message as it is sent, empty where nothing is left of it."""
        blocks = [block for part in message.parts if (block := self._block(part)) is not None]
        if message.role == "assistant":
            _trim_end(blocks)
        if not blocks:
            return b""
        start = _ASSISTANT if message.role == "assistant" else _USER
        return start + _CONTENT + b",".join(dumps(block) for block in blocks) + _END

    def _block(self, part: Part) -> dict[str, Any] | None:
        """A content block, or `None` for what the API refuses: blank text, thinking without its signature, the
        thinking of another model."""
        if isinstance(part, Text):
            return {"type": "text", "text": clean(part.text)} if part.text.strip() else None
        if isinstance(part, Thinking):
            return _own_thinking(part) if not is_foreign(part.extra, self.by) else None
        if isinstance(part, Image):
            return self._image(part)
        if isinstance(part, ToolCall):
            return {
                "type": "tool_use",
                "id": fitting_id(part.id, _ID),
                "name": clean(part.name),
                "input": _input(part.arguments),
            }
        return self._result(part)

    def _image(self, image: Image) -> dict[str, Any]:
        if not self.info.vision:
            return {"type": "text", "text": clean(unseen(image))}
        data = base64.b64encode(image.data).decode()
        source = {"type": "base64", "media_type": image.media_type, "data": data}
        return {"type": "image", "source": source}

    def _result(self, part: ToolResult) -> dict[str, Any]:
        block: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": fitting_id(part.call_id, _ID),
            # Never empty: the block may get a cache mark, which empty ones must not have.
            "content": clean(part.content) if part.content.strip() else _NO_OUTPUT,
        }
        if part.images:
            text = {"type": "text", "text": block["content"]}
            block["content"] = [text, *(self._image(image) for image in part.images)]
        if part.is_error:
            block["is_error"] = True
        return block


def _thinking(info: ModelInfo, longest: int) -> dict[str, Any] | None:
    """How the model is asked to think. The text is asked for in summary: the newest models leave it out."""
    if info.thinking == "adaptive":
        return {"type": "adaptive", "display": "summarized"}
    budget = min(_BUDGET, longest // 2)
    if info.thinking == "budget" and budget >= _LEAST_BUDGET:
        return {"type": "enabled", "budget_tokens": budget}
    return None


def _own_thinking(part: Thinking) -> dict[str, Any] | None:
    if part.redacted is not None:
        return {"type": "redacted_thinking", "data": part.redacted}
    if part.signature is None:
        return None
    return {"type": "thinking", "thinking": part.text, "signature": part.signature}


def _trim_end(blocks: list[dict[str, Any]]) -> None:
    """White space at the end of the model's own last words is refused where nothing follows them."""
    if blocks and blocks[-1]["type"] == "text":
        blocks[-1]["text"] = blocks[-1]["text"].rstrip()


def _joined(rows: list[bytes]) -> list[bytes]:
    """The messages to send: empty ones left out, neighbours of one role made one."""
    sent: list[bytes] = []
    last_role = b""
    for row in rows:
        if not row:
            continue
        # The first letters tell the roles apart; this loop runs over the whole history every turn.
        role = row[: len(_USER)]
        if role == last_role:
            content = row.partition(_CONTENT)[2]
            sent[-1] = sent[-1].removesuffix(_END) + b"," + content
        else:
            sent.append(row)
            last_role = role
    return sent


def _input(raw: str) -> dict[str, Any]:
    """The arguments as an object. Broken ones go back under a key of their own, so that call and result stay
    a pair and the model sees what it wrote."""
    value = argument_object(raw)
    try:
        if value is not None:
            tree: dict[str, Any] = clean_tree(value)
            dumps(tree)
            return tree
    except (ValueError, RecursionError):
        pass  # a number beyond floating point: valid for the parser, not for the wire
    return {"INVALID_JSON": clean(raw)}
