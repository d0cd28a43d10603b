"""The Messages API (Anthropic, and servers that speak it) over the `anthropic` package.

Goes through the package's `client.post` with a body of bytes: its typed path walks every message again each
turn (5.2 ms a turn at 200 turns against 2.4), and this way a request is a byte prefix of the next.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from bot.contracts.events import Complete, Event
from bot.contracts.messages import Finish, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Usage
from bot.contracts.model import ModelInfo, ModelRequest
from bot.contracts.tools import ToolSpec
from bot.providers.assembly import Assembly, Block, CallBlock, TextBlock, ThinkingBlock
from bot.providers.encoding import History, argument_object, clean, clean_tree, dumps
from bot.providers.endpoint import Endpoint, Line, open_client
from bot.providers.failures import StreamError

if TYPE_CHECKING:
    import httpx2

_HOST = "api.anthropic.com"
_PATIENCE = 300.0
_IDLE = 90.0
_USER = b'{"role":"user"'
_ASSISTANT = b'{"role":"assistant"'
_CONTENT = b',"content":['
_END = b"]}"
_BLOCK_END = b"}" + _END
_MARKED_BLOCK_END = b',"cache_control":{"type":"ephemeral"}}' + _END
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FINISH = {
    "end_turn": Finish.END_TURN,
    "stop_sequence": Finish.END_TURN,
    "tool_use": Finish.TOOL_USE,
    "max_tokens": Finish.MAX_TOKENS,
    "model_context_window_exceeded": Finish.MAX_TOKENS,
}


class AnthropicMessages:
    """A `bot.providers.streaming.Wire`."""

    def __init__(
        self, endpoint: Endpoint, info: ModelInfo, *, patience: float = _PATIENCE, idle: float = _IDLE
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
        self._info = info
        self._history = History(_message)
        self._head: tuple[str, tuple[ToolSpec, ...], bytes] | None = None
        # Servers on the own machine need no key, but the package insists on one.
        key = endpoint.key or "none"
        headers = {"Authorization": f"Bearer {key}"}
        if endpoint.host != _HOST:
            headers["X-Api-Key"] = key  # where gateways looked before the package moved to Authorization
        self._client = anthropic.Anthropic(
            api_key=key,
            base_url=endpoint.url.removesuffix("/v1"),
            max_retries=0,
            open_telemetry=False,
            http_client=open_client(endpoint, self.line, headers, patience=patience, idle=idle),
        )

    def close(self) -> None:
        self._client.close()
        self.line.close()

    def send(self, body: bytes) -> httpx2.Response:
        import httpx2

        return self._client.post(
            "/v1/messages",
            cast_to=httpx2.Response,
            content=body,
            options={"headers": {"Content-Type": "application/json"}},
            stream=True,
        )

    def reader(self, assembly: Assembly, request: ModelRequest) -> MessagesReader:
        return MessagesReader(assembly, len(request.messages))

    def encode(self, request: ModelRequest) -> bytes:
        """The body. What changes from turn to turn comes last: messages, marks on their end, tool choice."""
        rows = _joined(self._history.encoded(request.messages))
        # The newest message, and the one marked last time: a lookup walks back 20 blocks at most, and one
        # turn with ten parallel calls has more.
        users = (at for at in range(len(rows) - 1, -1, -1) if rows[at].startswith(_USER))
        for at in islice(users, 2):
            rows[at] = rows[at].removesuffix(_BLOCK_END) + _MARKED_BLOCK_END
        choice = b',"tool_choice":{"type":"none"}' if request.tool_choice == "none" and request.tools else b""
        return b'%s"messages":[%s]%s}' % (self._opening(request), b",".join(rows), choice)

    def _opening(self, request: ModelRequest) -> bytes:
        """Everything before the messages; the same bytes for the whole session."""
        if self._head is None or self._head[0] != request.system or self._head[1] is not request.tools:
            opening: dict[str, Any] = {
                "model": self._info.name,
                "max_tokens": self._info.max_output,
                "stream": True,
            }
            if request.tools:
                opening["tools"] = [_tool(spec) for spec in request.tools]
            if request.system.strip():
                block = {
                    "type": "text",
                    "text": clean(request.system),
                    "cache_control": {"type": "ephemeral"},
                }
                opening["system"] = [block]
            self._head = (request.system, request.tools, dumps(opening)[:-1] + b",")
        return self._head[2]


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {"name": spec.name, "description": spec.description, "input_schema": dict(spec.parameters)}


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


def _message(message: Message, position: int) -> bytes:
    """The message as it is sent, empty where nothing is left of it."""
    blocks = [block for part in message.parts if (block := _block(part)) is not None]
    if not blocks:
        return b""
    start = _ASSISTANT if message.role == "assistant" else _USER
    return start + _CONTENT + b",".join(dumps(block) for block in blocks) + _END


def _block(part: Part) -> dict[str, Any] | None:
    """A content block, or `None` for what the API refuses: blank text, thinking without its signature."""
    if isinstance(part, Text):
        return {"type": "text", "text": clean(part.text)} if part.text.strip() else None
    if isinstance(part, Thinking):
        if part.redacted is not None:
            return {"type": "redacted_thinking", "data": part.redacted}
        if part.signature is None:
            return None
        return {"type": "thinking", "thinking": part.text, "signature": part.signature}
    if isinstance(part, Image):
        return _image(part)
    if isinstance(part, ToolCall):
        return {
            "type": "tool_use",
            "id": _id(part.id),
            "name": clean(part.name),
            "input": _input(part.arguments),
        }
    return _result(part)


def _image(image: Image) -> dict[str, Any]:
    data = base64.b64encode(image.data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": data}}


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


def _result(part: ToolResult) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": _id(part.call_id)}
    if part.content.strip():
        block["content"] = clean(part.content)
    if part.is_error:
        block["is_error"] = True
    return block


def _id(id: str) -> str:
    """The id as the API takes it; another vendor's that does not fit is replaced, the same way each time."""
    return id if _ID.fullmatch(id) else "call_" + sha256(id.encode("utf-8", "replace")).hexdigest()[:32]


class MessagesReader:
    """Events of the Messages API into the grammar. Blocks are told apart by `index`; several may be open."""

    def __init__(self, assembly: Assembly, turn: int) -> None:
        self._assembly = assembly
        self._turn = turn
        self._open: dict[Any, Block] = {}
        self._given: dict[int, Any] = {}
        self._stop = ""

    def end(self) -> Complete | None:
        if not self._stop:
            return None
        return self._assembly.complete(_FINISH.get(self._stop, Finish.ERROR), self._stop)

    def read(self, event: str, data: Any) -> Iterator[Event]:
        data = _mapping(data)
        kind = data.get("type") or event
        if kind == "content_block_delta":
            yield from self._delta(self._open.get(data.get("index")), _mapping(data.get("delta")))
        elif kind == "content_block_start":
            yield from self._start(data.get("index"), _mapping(data.get("content_block")))
        elif kind == "content_block_stop":
            yield from self._end(self._open.get(data.get("index")))
        elif kind == "message_start":
            self._count(_mapping(_mapping(data.get("message")).get("usage")))
        elif kind == "message_delta":
            self._count(_mapping(data.get("usage")))
            self._stop = _string(_mapping(data.get("delta")).get("stop_reason")) or self._stop
        elif kind == "error":
            raise StreamError(data.get("error", data))

    def _start(self, index: Any, content: Mapping[str, Any]) -> Iterator[Event]:
        assembly = self._assembly
        kind = content.get("type")
        if not isinstance(index, int):
            return
        if kind == "text":
            self._open[index] = text = assembly.add(TextBlock())
            yield from assembly.text(text, _string(content.get("text")))
        elif kind == "thinking":
            thinking = ThinkingBlock(signature=_string(content.get("signature")))
            self._open[index] = assembly.add(thinking)
            yield from assembly.thinking(thinking, _string(content.get("thinking")))
        elif kind == "redacted_thinking":
            self._open[index] = assembly.add(ThinkingBlock(redacted=_string(content.get("data"))))
        elif kind == "tool_use":
            id = _string(content.get("id")) or f"call_{self._turn}_{len(assembly.calls)}"
            call, event = assembly.start_call(id, _string(content.get("name")))
            self._open[index] = call
            self._given[call.index] = content.get("input")
            yield event

    def _delta(self, block: Block | None, delta: Mapping[str, Any]) -> Iterator[Event]:
        if isinstance(block, TextBlock):
            yield from self._assembly.text(block, _string(delta.get("text")))
        elif isinstance(block, CallBlock):
            yield from self._assembly.arguments(block, _string(delta.get("partial_json")))
        elif isinstance(block, ThinkingBlock):
            block.signature += _string(delta.get("signature"))
            yield from self._assembly.thinking(block, _string(delta.get("thinking")))

    def _end(self, block: Block | None) -> Iterator[Event]:
        if not isinstance(block, CallBlock):
            return
        given = self._given.get(block.index)
        if given and isinstance(given, dict) and not block.pieces:
            # Some servers give the whole input at the start and no deltas.
            yield from self._assembly.arguments(block, dumps(given).decode())
        yield from self._assembly.end_call(block)

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Later figures replace earlier ones; a field that a proxy leaves out stays as it was."""
        old = self._assembly.usage
        details = _mapping(usage.get("output_tokens_details"))
        self._assembly.usage = Usage(
            _count_of(usage.get("input_tokens"), old.input),
            _count_of(usage.get("cache_read_input_tokens"), old.cache_read),
            _count_of(usage.get("cache_creation_input_tokens"), old.cache_write),
            _count_of(usage.get("output_tokens"), old.output),
            _count_of(details.get("thinking_tokens"), old.reasoning),
        )


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count_of(value: Any, old: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else old
