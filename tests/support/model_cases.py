"""Two servers that answer the same cases in every wire format: the project's own, and an independent one from npm.

The text of the last user message names the case; no name is part of another.
"""

import json
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.contracts.cancel import CancelToken
from bot.contracts.model import Complete, Failed, ModelRequest, OnRetry, unreported
from bot.providers.connect import connect
from bot.providers.retry import RetryPolicy
from tests.support.model_script import Call, Part, Say, ScriptRequest, Status, Step, Think, Tokens, Turn
from tests.support.model_server import ModelServer
from tests.support.npm import installed

# The vendors' words for why an answer ended, by what it means: Messages, Chat Completions, Responses.
STOPS = {
    "length": ("max_tokens", "length", "max_output_tokens"),
    "content_filter": ("refusal", "content_filter", "content_filter"),
}
FORMATS = ("anthropic", "openai-chat", "openai-responses")


def stop_word(model: str, meaning: str) -> str:
    """The word of `model`'s format for `meaning`; one that has none is sent as it is."""
    words = STOPS.get(meaning)
    return words[FORMATS.index(model.partition("/")[0])] if words else meaning


@dataclass(frozen=True)
class Case:
    """An answer. `finish` is a meaning of `STOPS`, or a word that no vendor has. `cut_after` ends the stream after that
    many chunks. `refused` is an HTTP error in place of an answer. `then` is the answer once results are there."""

    parts: tuple[Part, ...] = ()
    finish: str = ""
    cut_after: int = 0
    refused: Status | None = None
    tokens: Tokens = field(default_factory=Tokens)
    then: str = ""


CASES: Mapping[str, Case] = {
    "text": Case((Say("Hello from here."),)),
    "thinking": Case((Think("Let me see."), Say("Yes."))),
    "single": Case((Call("bash", '{"command":"ls"}', "call_a"),)),
    "parallel": Case(
        (
            Say("I will look."),
            Call("bash", {"command": "one"}, "c1"),
            Call("bash", {"command": "two"}, "c2"),
            Call("view", {"path": "a.py"}, "c3"),
        ),
        then="The answer is hi.",
    ),
    "reasoned": Case((Think("First look."), Call("bash", {"command": "ls"}, "call_r")), then="It is there."),
    "length": Case((Say("too long"),), finish="length"),
    "clipped": Case((Call("write", '{"path": "a", "conte', "call_c"),), finish="length"),
    "broken": Case((Call("bash", '{"command": "ls",}', "call_b"),)),
    "filtered": Case((Say("I cannot"),), finish="content_filter"),
    "odd": Case((Say("Hm."),), finish="a_reason_of_next_year"),
    "severed": Case((Say("never whole " * 40),), cut_after=12),
    "throttled": Case(refused=Status(429, "slow down", {"retry-after": "7"}, "rate_limit_error")),
    "overloaded": Case(refused=Status(503, "busy", {}, "overloaded_error")),
    "overflow": Case(
        refused=Status(400, "prompt is too long: 9 tokens > 8 maximum", {}, "invalid_request_error")
    ),
    "no key": Case(refused=Status(401, "invalid key", {}, "authentication_error")),
    "counted": Case((Say("Counted."),), tokens=Tokens(120, 30)),
}


@dataclass
class CaseServer:
    """A server with the cases, and a client for it."""

    name: str
    url: str

    def respond(
        self, model: str, request: ModelRequest, attempts: int = 1, retrying: OnRetry = unreported
    ) -> Complete | Failed:
        environment = {
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_BASE_URL": self.url,
            "OPENAI_API_KEY": "k",
            "OPENAI_BASE_URL": f"{self.url}/v1",
        }
        provider = connect(model, environment, policy=RetryPolicy(attempts=attempts, base=0.0))
        try:
            return provider.respond(request, CancelToken(), retrying)
        finally:
            provider.close()


@contextmanager
def own_server() -> Iterator[CaseServer]:
    with ModelServer(_played) as server:
        yield CaseServer("own", server.url)


def _played(request: ScriptRequest) -> Step:
    case = CASES[_last_user_text(request.body)]
    if case.refused is not None:
        return case.refused
    if request.results:
        return Say(case.then)
    place = ("messages", "chat/completions", "responses").index(request.path.removeprefix("/v1/"))
    stop = STOPS.get(case.finish, (case.finish,) * 3)[place]
    turn = Turn(case.parts, stop=stop, pieces=7, interleave=True, tokens=case.tokens)
    return Turn(case.parts, pieces=7, drop=3500) if case.cut_after else turn


def _last_user_text(body: Mapping[str, Any]) -> str:
    texts = []
    for message in body.get("messages") or body.get("input") or []:
        content = message.get("content")
        if message.get("role") != "user":
            continue
        if isinstance(content, str):
            texts.append(content)
        for block in content if isinstance(content, list) else ():
            if block.get("type") in ("text", "input_text"):
                texts.append(block["text"])
    return str(texts[-1])


@contextmanager
def independent_server(folder: Path) -> Iterator[CaseServer]:
    fixtures = folder / "fixtures.json"
    fixtures.write_text(
        json.dumps({"fixtures": [row for name, case in CASES.items() for row in _rows(name, case)]})
    )
    program = installed("@copilotkit/aimock", "1.43.0") / "dist" / "cli.js"
    command = ["node", str(program), "-p", "0", "-f", str(fixtures), "--strict", "--log-level", "info"]
    log = folder / "log"
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as process:
        try:
            yield CaseServer("independent", _url(process, log))
        finally:
            process.terminate()


def _rows(name: str, case: Case) -> list[dict[str, Any]]:
    match = {"userMessage": name}
    if case.refused is not None:
        status = case.refused
        error = {"message": status.message, "type": status.kind, "code": status.kind}
        seconds = status.headers.get("retry-after")
        wait = {"retryAfter": int(seconds)} if seconds else {}
        return [{"match": match, "response": {"error": error, "status": status.code, **wait}}]
    text = "".join(part.text for part in case.parts if isinstance(part, Say))
    reasoning = "".join(part.text for part in case.parts if isinstance(part, Think))
    calls = [
        {"name": part.name, "arguments": part.text, "id": part.id}
        for part in case.parts
        if isinstance(part, Call)
    ]
    response: dict[str, Any] = {
        "usage": {
            "prompt_tokens": case.tokens.input,
            "completion_tokens": case.tokens.output,
            "total_tokens": case.tokens.input + case.tokens.output,
            "input_tokens": case.tokens.input,
            "output_tokens": case.tokens.output,
        }
    }
    if text or not calls:
        response["content"] = text
    if calls:
        response["toolCalls"] = calls
    if reasoning:
        response |= {"reasoning": reasoning, "reasoningSignature": "c2lnbmVk"}
    if case.finish:
        response["finishReason"] = case.finish
    row: dict[str, Any] = {"match": match, "response": response}
    if case.cut_after:
        # With a pause after each chunk, or it cuts what it has not sent yet.
        row |= {"truncateAfterChunks": case.cut_after, "latency": 20}
    after = {"match": {**match, "hasToolResult": True}, "response": {"content": case.then}}
    return [after, row] if case.then else [row]


def _url(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        match = re.search(r"http://[\w.]+:(\d+)", log.read_text())
        if match:
            return f"http://127.0.0.1:{match[1]}"
        time.sleep(0.05)
    raise AssertionError(f"the mock did not start: {log.read_text()}")
