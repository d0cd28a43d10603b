"""A-96: a model's answer without an end, in each form: it is cut at a limit and ends as one that was cut off."""

import gzip
import json
from collections.abc import Iterator

import pytest

from bot.contracts.messages import FinishReason, Message, Thinking
from bot.contracts.model import Complete
from bot.providers import assembly
from bot.providers.assembly import MAX_CALLS
from bot.providers.retry import RetryPolicy
from tests.support.model_script import Call, Raw, Say, Think, Turn
from tests.support.provider_runs import FRAMES, MODELS, completed, failed, run

LIMIT = 5_000


@pytest.fixture(autouse=True)
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "MAX_ANSWER", LIMIT)
    monkeypatch.setattr("bot.providers.response_body.MAX_RESPONSE", 40 * LIMIT)


def answer(model: str, *parts: object, **turn: object) -> Complete:
    end, requests = run(model, [Raw(FRAMES[model](Turn(parts, **turn), 0))])
    assert len(requests) == 1
    return completed(end)


@pytest.mark.parametrize("model", MODELS)
def test_a96_calls_beyond_the_limit_are_cut_off(model: str):
    end = answer(model, *(Call("bash", {"command": f"echo {n}"}, f"c{n}") for n in range(MAX_CALLS + 50)))
    assert end.finish is FinishReason.MAX_TOKENS
    assert len(end.message.calls) <= MAX_CALLS


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ["text", "thinking", "arguments", "arguments that are whole"])
def test_a96_content_beyond_the_limit_is_cut_off(model: str, kind: str):
    long = "x" * (3 * LIMIT)
    part = {
        "text": Say(long),
        "thinking": Think(long),
        "arguments": Call("bash", long),
        "arguments that are whole": Call("bash", {"command": long}),
    }[kind]
    end = answer(model, part, pieces=100)
    assert end.finish is FinishReason.MAX_TOKENS
    assert 0 < size(end.message) <= LIMIT
    assert not any(call.complete for call in end.message.calls)


@pytest.mark.parametrize("model", MODELS)
def test_a96_an_answer_within_the_limits_is_whole(model: str):
    text = "x" * (LIMIT // 2)
    end = answer(model, Say(text), Call("bash", {"command": "true"}), pieces=500)
    assert (end.finish, end.message.text) == (FinishReason.TOOL_USE, text)


def messages(*frames: dict[str, object]) -> bytes:
    return b"".join(f"event: {frame['type']}\ndata: {json.dumps(frame)}\n\n".encode() for frame in frames)


def delta(**fields: str) -> dict[str, object]:
    return {"type": "content_block_delta", "index": 0, "delta": fields}


def start(kind: str, **fields: str) -> dict[str, object]:
    return {"type": "content_block_start", "index": 0, "content_block": {"type": kind, **fields}}


ENDLESS = {
    "deltas of zero length": messages(start("text")) + messages(delta(text="")) * LIMIT,
    "pings": messages({"type": "ping"}) * 2 * LIMIT,
    "a signature in pieces": messages(start("thinking"), *[delta(signature="x" * 3000)] * 20),
    "blocks without content": messages(start("thinking")) * LIMIT,
    "one redacted block": messages(start("redacted_thinking", data="x" * 3 * LIMIT)),
    "comments": b": x\n" * (20 * LIMIT),
    "empty lines": b"\n" * (41 * LIMIT),
    "a comment that never ends": b":" + b"x" * (41 * LIMIT),
}


@pytest.mark.parametrize("form", ENDLESS)
def test_a96_a_stream_without_an_end_is_cut_off(form: str):
    end, requests = run(MODELS[0], [Raw(ENDLESS[form])])
    end = completed(end)
    assert (end.finish, len(requests)) == (FinishReason.MAX_TOKENS, 1)
    assert size(end.message) <= LIMIT


def test_a96_a_compressed_stream_is_not_unpacked():
    packed = gzip.compress(b": x\n" * 10**6)
    raw = Raw(packed, headers={"Content-Encoding": "gzip"})
    end, _ = run(MODELS[0], [raw], policy=RetryPolicy(attempts=1))
    assert failed(end).partial is None


def size(message: Message) -> int:
    return sum(map(len, _texts(message)))


def _texts(message: Message) -> Iterator[str]:
    yield message.text
    yield from (call.arguments for call in message.calls)
    for part in message.parts:
        if isinstance(part, Thinking):
            yield from (part.text, part.signature or "", part.redacted or "")
