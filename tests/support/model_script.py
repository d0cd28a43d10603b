"""The turns of a scripted model, and their frames in the wire formats.

The frames are written by hand from the vendors' descriptions and not with their packages, so that an adapter
is not checked against its own parser.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, TypeVar

_Frame = TypeVar("_Frame")


@dataclass(frozen=True)
class Say:
    """Text by the model. `phase` and `refusal` are for Responses."""

    text: str
    phase: str = ""
    refusal: bool = False


@dataclass(frozen=True)
class Think:
    """A reasoning block. `redacted` is the vendor's opaque payload (Messages only); `signature` is the encrypted
    content in Responses."""

    text: str = ""
    signature: str = "sig-1"
    redacted: str = ""


@dataclass(frozen=True)
class Call:
    """A tool call. `arguments` is an object, or a string sent as it is (broken JSON, cut JSON)."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


Part = Say | Think | Call


@dataclass(frozen=True)
class Tokens:
    """Usage as Anthropic counts it: `input` is without cache reads and writes."""

    input: int = 10
    output: int = 5
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0


@dataclass(frozen=True)
class Turn:
    """One whole response.

    `stop` is the vendor's word for the reason; empty means the usual one for the parts. `pieces` cuts texts
    and arguments into deltas of that many characters, `interleave` sends the calls' deltas in turns, `cuts`
    are the offsets in the body where one packet ends and the next begins. `drop` closes the connection after
    that many bytes of the body, `stall` goes silent after that many. `delay` is in seconds, before the first
    byte. `error` is sent inside the stream in place of the end, for Responses
    as the event `error_event`. `ending` false leaves out everything after the
    last part.
    """

    parts: tuple[Part, ...] = ()
    stop: str = ""
    tokens: Tokens | None = Tokens()
    pieces: int = 0
    interleave: bool = False
    cuts: tuple[int, ...] = ()
    drop: int | None = None
    stall: int | None = None
    delay: float = 0.0
    error: Mapping[str, Any] | None = None
    error_event: str = "error"
    ending: bool = True


@dataclass(frozen=True)
class Status:
    """An HTTP error. An empty `message` sends no body; `body` is sent word for word in place of it."""

    code: int
    message: str = "scripted"
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "scripted_error"
    body: str = ""


@dataclass(frozen=True)
class Raw:
    """A body sent word for word with status 200."""

    body: bytes
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Hangup:
    """The connection is closed without an answer."""


Answer = Turn | Status | Raw | Hangup
Step = Answer | Part | Sequence[Part]
Script = Callable[["ScriptRequest"], Step]


@dataclass(frozen=True)
class ScriptRequest:
    """A request as a callable script sees it. `number` counts from 0, `results` are all tool results."""

    number: int
    path: str
    body: Mapping[str, Any]

    @property
    def tools(self) -> dict[str, Mapping[str, Any]]:
        """Name to parameter schema."""
        tools = {}
        for tool in self.body.get("tools", []):
            function = tool.get("function", tool)
            schema = function.get("parameters") or function.get("input_schema") or {}
            tools[function.get("name", "")] = schema
        return tools

    @property
    def results(self) -> list[str]:
        """The texts of all tool results, in order."""
        results = []
        for message in self.body.get("messages", []):
            content = message.get("content")
            if message.get("role") == "tool":
                results.append(content)
            elif isinstance(content, list) and message.get("type") != "message":
                results += [block["content"] for block in content if block.get("type") == "tool_result"]
        for item in self.body.get("input", []):
            if item.get("type") == "function_call_output":
                results.append(item.get("output", ""))
        return [result if isinstance(result, str) else json.dumps(result) for result in results]


def as_answer(step: Step) -> Answer:
    if isinstance(step, Turn | Status | Raw | Hangup):
        return step
    if isinstance(step, Say | Think | Call):
        return Turn((step,))
    return Turn(tuple(step))


def cut(text: str, pieces: int) -> list[str]:
    if not pieces:
        return [text] if text else []
    return [text[start : start + pieces] for start in range(0, len(text), pieces)]


def _frame(event: str, data: Mapping[str, Any]) -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _in_order(parts: Sequence[Sequence[_Frame]], turn: Turn) -> list[_Frame]:
    """The frames of one part after the other, or of all in turns."""
    if turn.interleave:
        return [frame for row in zip_longest(*parts) for frame in row if frame is not None]
    return [frame for part in parts for frame in part]


def messages_frames(turn: Turn, number: int) -> bytes:
    """The body of a streamed answer of the Messages API."""
    tokens = turn.tokens or Tokens(0, 0)
    start_usage = {
        "input_tokens": tokens.input,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation_input_tokens": tokens.cache_write,
        "output_tokens": 1,
    }
    message = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": start_usage,
    }
    frames = [_frame("message_start", {"type": "message_start", "message": message})]
    frames.append(_frame("ping", {"type": "ping"}))
    blocks = [_block_frames(part, index, number, turn.pieces) for index, part in enumerate(turn.parts)]
    frames += _in_order(blocks, turn)
    if turn.error is not None:
        frames.append(_frame("error", {"type": "error", "error": turn.error}))
    elif turn.ending:
        stop = turn.stop or ("tool_use" if any(isinstance(part, Call) for part in turn.parts) else "end_turn")
        delta = {"stop_reason": stop, "stop_sequence": None}
        usage = {"output_tokens": tokens.output}
        frames.append(_frame("message_delta", {"type": "message_delta", "delta": delta, "usage": usage}))
        frames.append(_frame("message_stop", {"type": "message_stop"}))
    return b"".join(frames)


def _block_frames(part: Part, index: int, number: int, pieces: int) -> list[bytes]:
    deltas: list[dict[str, Any]]
    if isinstance(part, Say):
        block: dict[str, Any] = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in cut(part.text, pieces)]
    elif isinstance(part, Call):
        block = {
            "type": "tool_use",
            "id": part.id or f"toolu_{number}_{index}",
            "name": part.name,
            "input": {},
        }
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in cut(part.text, pieces)]
    elif part.redacted:
        block = {"type": "redacted_thinking", "data": part.redacted}
        deltas = []
    else:
        block = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in cut(part.text, pieces)]
        deltas.append({"type": "signature_delta", "signature": part.signature})
    start = {"type": "content_block_start", "index": index, "content_block": block}
    frames = [_frame("content_block_start", start)]
    for delta in deltas:
        data = {"type": "content_block_delta", "index": index, "delta": delta}
        frames.append(_frame("content_block_delta", data))
    frames.append(_frame("content_block_stop", {"type": "content_block_stop", "index": index}))
    return frames


def chat_frames(turn: Turn, number: int, include_usage: bool = True) -> bytes:
    """The body of a streamed answer of the Chat Completions API."""

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _frame("", _chat_chunk(number, [choice], None))

    frames = [chunk({"role": "assistant", "content": ""})]
    calls: list[list[bytes]] = []
    for part in turn.parts:
        if isinstance(part, Say):
            frames += [chunk({"content": piece}) for piece in cut(part.text, turn.pieces)]
        elif isinstance(part, Think):
            frames += [chunk({"reasoning_content": piece}) for piece in cut(part.text, turn.pieces)]
        else:
            calls.append(_call_chunks(part, len(calls), number, turn.pieces, chunk))
    frames += _in_order(calls, turn)
    if turn.error is not None:
        frames.append(_frame("", {"error": turn.error}))
    elif turn.ending:
        frames.append(chunk({}, turn.stop or ("tool_calls" if calls else "stop")))
        if include_usage and turn.tokens is not None:
            frames.append(_frame("", _chat_chunk(number, [], turn.tokens)))
        frames.append(b"data: [DONE]\n\n")
    return b"".join(frames)


def _chat_chunk(number: int, choices: list[Any], tokens: Tokens | None) -> dict[str, Any]:
    data: dict[str, Any] = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "scripted",
        "choices": choices,
    }
    if tokens is not None:
        prompt = tokens.input + tokens.cache_read
        data["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": tokens.output,
            "total_tokens": prompt + tokens.output,
            "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
            "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
        }
    return data


def _call_chunks(
    call: Call, index: int, number: int, pieces: int, chunk: Callable[[Mapping[str, Any]], bytes]
) -> list[bytes]:
    head = {
        "index": index,
        "id": call.id or f"call_{number}_{index}",
        "type": "function",
        "function": {"name": call.name, "arguments": ""},
    }
    rows = [chunk({"tool_calls": [head]})]
    for piece in cut(call.text, pieces):
        rows.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    return rows


def responses_frames(turn: Turn, number: int) -> bytes:
    """The body of a streamed answer of the Responses API."""
    frames: list[tuple[str, dict[str, Any]]] = []
    shell = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "model": "scripted",
        "store": False,
    }
    opened = {**shell, "status": "in_progress", "output": [], "usage": None}
    frames.append(("response.created", {"response": opened}))
    frames.append(("response.in_progress", {"response": opened}))
    rows, output = [], []
    for index, part in enumerate(turn.parts):
        item, events = _item_events(part, index, number, turn.pieces, turn.stop)
        output.append(item)
        rows.append(events)
    frames += _in_order(rows, turn)
    if turn.error is not None:
        error = {"code": turn.error.get("type"), "message": turn.error.get("message"), "param": None}
        if turn.error_event == "failed":
            failed = {**shell, "status": "failed", "output": [], "error": error, "usage": _usage(turn.tokens)}
            frames.append(("response.failed", {"response": failed}))
        else:
            frames.append(("error", error))
    elif turn.ending:
        known = turn.stop in ("", "completed", "cancelled")
        status = (turn.stop or "completed") if known else "incomplete"
        details = {"reason": turn.stop} if status == "incomplete" else None
        whole = {**shell, "status": status, "output": output, "incomplete_details": details}
        frames.append((f"response.{status}", {"response": {**whole, "usage": _usage(turn.tokens)}}))
    numbered = [
        _frame(kind, {"type": kind, "sequence_number": place, **data})
        for place, (kind, data) in enumerate(frames)
    ]
    return b"".join(numbered)


def _usage(tokens: Tokens | None) -> dict[str, Any] | None:
    if tokens is None:
        return None
    total_input = tokens.input + tokens.cache_read + tokens.cache_write
    return {
        "input_tokens": total_input,
        "input_tokens_details": {"cached_tokens": tokens.cache_read, "cache_write_tokens": tokens.cache_write},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": total_input + tokens.output,
    }  # fmt: skip


def _item_events(
    part: Part, index: int, number: int, pieces: int, stop: str
) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    """One output item as it is at the end, and the events that build it."""
    name = {Say: "msg", Think: "rs", Call: "fc"}[type(part)]
    id = f"{name}_{number}_{index}"
    at = {"item_id": id, "output_index": index}
    if isinstance(part, Call):
        call_id = part.id or f"call_{number}_{index}"
        item = {"id": id, "type": "function_call", "call_id": call_id, "name": part.name, "arguments": ""}
        events = [
            ("response.function_call_arguments.delta", {**at, "delta": piece})
            for piece in cut(part.text, pieces)
        ]
        events.append(("response.function_call_arguments.done", {**at, "arguments": part.text}))
        status = "incomplete" if stop == "max_output_tokens" and not _is_object(part.text) else "completed"
        whole = {**item, "arguments": part.text, "status": status}
    elif isinstance(part, Say):
        where = {**at, "content_index": 0}
        kind, key = ("refusal", "refusal") if part.refusal else ("output_text", "text")
        item = {"id": id, "type": "message", "role": "assistant", "content": []}
        block: dict[str, Any] = {"type": kind, key: part.text}
        if kind == "output_text":
            block["annotations"] = []
        events = [("response.content_part.added", {**where, "part": {**block, key: ""}})]
        events += [(f"response.{kind}.delta", {**where, "delta": piece}) for piece in cut(part.text, pieces)]
        events.append((f"response.{kind}.done", {**where, key: part.text}))
        events.append(("response.content_part.done", {**where, "part": block}))
        whole = {**item, "content": [block], "status": "completed", "phase": part.phase or None}
    else:
        where = {**at, "summary_index": 0}
        item = {"id": id, "type": "reasoning", "summary": [], "encrypted_content": "half"}
        summary = [{"type": "summary_text", "text": part.text}] if part.text else []
        events = [("response.reasoning_summary_part.added", {**where, "part": block}) for block in summary]
        events += [
            ("response.reasoning_summary_text.delta", {**where, "delta": piece})
            for piece in cut(part.text, pieces)
        ]
        whole = {**item, "summary": summary, "encrypted_content": part.signature, "status": None}
    started = (
        "response.output_item.added",
        {"output_index": index, "item": {**item, "status": "in_progress"}},
    )
    return whole, [started, *events, ("response.output_item.done", {"output_index": index, "item": whole})]


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
