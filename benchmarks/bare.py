"""The least that an agent can be: import the vendor's package, send the request, run what the model asks for.

    python benchmarks/bare.py anthropic|openai REQUEST.json

What ours is compared with. No sandbox, no journal, no limits; messages and tools go through `extra_body`, which
is how a careful person would use the openai package. Ends when the model makes no call.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def main() -> None:
    vendor, file = sys.argv[1:]
    with open(file, encoding="utf-8") as source:
        request = json.load(source)
    ask = anthropic_turns if vendor == "anthropic" else openai_turns
    ask(request)


def anthropic_turns(request: dict[str, Any]) -> None:
    import anthropic

    client = anthropic.Anthropic(max_retries=0)
    while True:
        calls: list[tuple[int, str, str]] = []
        arguments: dict[int, str] = {}
        for event in client.messages.create(**request):
            if event.type == "content_block_start" and event.content_block.type == "tool_use":
                calls.append((event.index, event.content_block.id, event.content_block.name))
                arguments[event.index] = ""
            elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                arguments[event.index] += event.delta.partial_json
        if not calls:
            return
        tool_calls, results = [], []
        for index, call_id, name in calls:
            given = json.loads(arguments[index])
            tool_calls.append({"type": "tool_use", "id": call_id, "name": name, "input": given})
            results.append({"type": "tool_result", "tool_use_id": call_id, "content": run(given["command"])})
        request["messages"] += [
            {"role": "assistant", "content": tool_calls},
            {"role": "user", "content": results},
        ]


def openai_turns(request: dict[str, Any]) -> None:
    import openai

    client = openai.OpenAI(max_retries=0)
    model = request.pop("model")
    request.pop("stream")
    while True:
        calls: dict[int, Any] = {}
        answer = client.chat.completions.create(model=model, messages=[], stream=True, extra_body=request)
        for chunk in answer:
            for call in (chunk.choices[0].delta.tool_calls or ()) if chunk.choices else ():
                new = {"type": "function", "function": {"name": "", "arguments": ""}}
                kept = calls.setdefault(call.index, new)
                if call.id:
                    kept["id"] = call.id
                if call.function:
                    kept["function"]["name"] += call.function.name or ""
                    kept["function"]["arguments"] += call.function.arguments or ""
        if not calls:
            return
        tool_calls = list(calls.values())
        request["messages"].append({"role": "assistant", "content": None, "tool_calls": tool_calls})
        for call in tool_calls:
            given = json.loads(call["function"]["arguments"])
            request["messages"].append(
                {"role": "tool", "tool_call_id": call["id"], "content": run(given["command"])}
            )


def run(command: str) -> str:
    finished = subprocess.run(
        ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return finished.stdout + f"[exit code {finished.returncode}]"


if __name__ == "__main__":
    main()
