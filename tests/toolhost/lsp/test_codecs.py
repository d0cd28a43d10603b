"""TypeScript's own server as it is spoken to: what is sent in its words, what it says in the protocol's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.toolhost.lsp.codecs import FrameError, TsserverCodec, encode_frame

URI = "file:///w/a%20b.ts"
PATH = "/w/a b.ts"
NAMED = {"textDocument": {"uri": URI}}


@pytest.fixture
def codec() -> TsserverCodec:
    """That has one file open."""
    codec = TsserverCodec(1 << 20)
    sent(codec, "initialize", {"rootUri": "file:///w"}, 1)
    item = {"uri": URI, "languageId": "typescriptreact", "version": 1, "text": "a\r\nb\u2028ü😀"}
    assert sent(codec, "textDocument/didOpen", {"textDocument": item}) == [
        {
            "seq": 3,
            "type": "request",
            "command": "open",
            "arguments": {
                "file": PATH,
                "fileContent": item["text"],
                "scriptKindName": "TSX",
                "projectRootPath": "/w",
            },
        }
    ]
    return codec


def sent(codec: TsserverCodec, method: str, params: Any = None, identity: int | None = None) -> list[Any]:
    message = {"method": method} | ({} if params is None else {"params": params})
    data = codec.encode(message if identity is None else message | {"id": identity})
    return [json.loads(line) for line in data.splitlines()]


def heard(codec: TsserverCodec, *said: dict[str, Any]) -> list[Any]:
    return list(codec.feed(b"".join(map(encode_frame, said))))


def response(seq: int, body: object = None, *, success: object = True, **more: object) -> dict[str, Any]:
    return {"type": "response", "request_seq": seq, "success": success, "body": body} | more


def error(message: str) -> dict[str, Any]:
    place = {"line": 3, "offset": 5}
    return {"start": place, "end": place, "text": message, "code": 2345, "category": "error"}


def test_it_says_its_version_and_that_it_can_be_asked() -> None:
    codec = TsserverCodec(1 << 20)
    assert [one["command"] for one in sent(codec, "initialize", {"rootUri": "file:///w"}, 7)] == [
        "configure",
        "status",
    ]
    assert heard(codec, response(1)) == []
    (answer,) = heard(codec, response(2, {"version": "5.5.4"}))
    assert answer["id"] == 7
    assert answer["result"]["serverInfo"]["version"] == "5.5.4"
    assert answer["result"]["capabilities"]["diagnosticProvider"] == {}


def test_a_change_replaces_the_whole_text_by_lines_as_it_counts_them(codec: TsserverCodec) -> None:
    for text, line, column in (("c\n", 3, 4), ("", 2, 1)):
        (change,) = sent(codec, "textDocument/didChange", {**NAMED, "contentChanges": [{"text": text}]})
        assert change["command"] == "change"
        assert change["arguments"] == {
            "file": PATH,
            "line": 1,
            "offset": 1,
            "endLine": line,
            "endOffset": column,
            "insertString": text,
        }


def test_it_is_asked_twice_and_answers_once(codec: TsserverCodec) -> None:
    asked = sent(codec, "textDocument/diagnostic", NAMED, 9)
    assert [(one["seq"], one["command"], one["arguments"]) for one in asked] == [
        (4, "syntacticDiagnosticsSync", {"file": PATH}),
        (5, "semanticDiagnosticsSync", {"file": PATH}),
    ]
    assert heard(codec, response(4, [])) == []
    (answer,) = heard(codec, response(5, [error("wrong")]))
    assert (answer["id"], [item["message"] for item in answer["result"]["items"]]) == (9, ["wrong"])
    assert answer["result"]["items"][0]["range"]["start"] == {"line": 2, "character": 4}
    assert heard(codec, response(5, [])) == []  # it was answered


@pytest.mark.parametrize(
    "half",
    [
        response(4, None),
        response(4, "?"),
        response(4, [], success=False, message="No Project.\n    at f"),
        response(4, [], success="yes"),
    ],
)
def test_what_is_no_answer_is_not_a_clean_file(codec: TsserverCodec, half: dict[str, Any]) -> None:
    sent(codec, "textDocument/diagnostic", NAMED, 9)
    assert heard(codec, half) == []
    (answer,) = heard(codec, response(5, [], message="said"))
    assert answer["id"] == 9
    assert "result" not in answer


def test_why_it_has_no_answer_is_said(codec: TsserverCodec) -> None:
    sent(codec, "textDocument/diagnostic", NAMED, 9)
    heard(codec, response(4, success=False, message="No Project.\n    at f"))
    (answer,) = heard(codec, response(5, success=False, message="No Project.\n    at f"))
    assert answer["error"]["message"] == "No Project."


def test_what_it_loads_and_what_it_saw_change_are_told(codec: TsserverCodec) -> None:
    events = [
        {"type": "event", "event": name, "body": {"projectName": "/w/tsconfig.json", "openFiles": [PATH]}}
        for name in (
            "projectLoadingStart",
            "projectLoadingFinish",
            "projectsUpdatedInBackground",
            "telemetry",
        )
    ]
    begin, end, refresh = heard(codec, *events)
    assert [one["params"]["value"]["kind"] for one in (begin, end)] == ["begin", "end"]
    assert begin["params"]["token"] == end["params"]["token"] == "/w/tsconfig.json"
    assert refresh["method"] == "workspace/diagnostic/refresh"
    assert codec.encode({"jsonrpc": "2.0", "id": refresh["id"], "result": None}) == b""


def test_what_is_closed_is_not_changed_any_more_and_the_end_is_as_wanted(codec: TsserverCodec) -> None:
    assert [one["command"] for one in sent(codec, "textDocument/didClose", NAMED)] == ["close"]
    assert sent(codec, "textDocument/didClose", NAMED) == []
    assert sent(codec, "textDocument/didChange", {**NAMED, "contentChanges": [{"text": "x"}]}) == []
    assert sent(codec, "$/cancelRequest", {"id": 1}) == []
    (status,) = sent(codec, "shutdown", None, 11)
    assert heard(codec, response(status["seq"], {})) == [{"id": 11, "result": None}]
    assert [one["command"] for one in sent(codec, "exit")] == ["exit"]


@pytest.mark.parametrize(
    "said",
    [{}, {"type": "response"}, {"type": "response", "request_seq": True}, {"type": "response", "request_seq": [1]},
     {"type": "event", "event": ["x"]}, {"type": "event", "event": "projectLoadingStart", "body": 1}],
)  # fmt: skip
def test_what_makes_no_sense_is_nothing(codec: TsserverCodec, said: dict[str, Any]) -> None:
    assert heard(codec, said) == []


def test_garbage_is_the_end_as_with_any_server(codec: TsserverCodec) -> None:
    with pytest.raises(FrameError):
        list(codec.feed(b"npm ERR!\r\n\r\n"))
