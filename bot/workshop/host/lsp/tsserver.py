"""What TypeScript before version 7 says of a file when it is asked, not when it comes to it. Its language servers only
publish, without versions, and nothing of a file that is clean and stays so: what another's change broke comes long
after the word on that other, if at all. But they pass on requests to the compiler's own server, which answers them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

COMMAND = "typescript.tsserverRequest"
REQUESTS = ("syntacticDiagnosticsSync", "semanticDiagnosticsSync")
"""Suggestions are left out: they are hints."""

_SEVERITY = {"error": 1, "warning": 2}
_HINT = 4


def params(request: str, path: str) -> dict[str, Any]:
    """Of `workspace/executeCommand`, for a file by its absolute path."""
    return {"command": COMMAND, "arguments": [request, {"file": path}]}


def items(answer: object) -> list[Any] | None:
    """As the protocol has problems; None where this is no answer."""
    body = answer.get("body") if isinstance(answer, dict) else None
    return list(_items(body)) if isinstance(body, list) else None


def _items(body: list[Any]) -> Iterator[Any]:
    for one in body:
        if isinstance(one, dict):
            yield {
                "range": {"start": _place(one.get("start")), "end": _place(one.get("end"))},
                "severity": _SEVERITY.get(str(one.get("category")), _HINT),
                "code": one.get("code"),
                "message": one.get("text"),
            }


def _place(said: object) -> Mapping[str, Any] | None:
    """tsserver counts lines and columns from 1."""
    line, column = (said.get("line"), said.get("offset")) if isinstance(said, dict) else (None, None)
    if type(line) is not int or type(column) is not int:
        return None
    return {"line": line - 1, "character": column - 1}
