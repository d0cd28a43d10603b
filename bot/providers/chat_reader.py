"""Translate chunks of Chat Completions from any compatible server into the event grammar."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bot.contracts.messages import FinishReason, Usage
from bot.contracts.model import Complete, Event
from bot.providers.assembly import Assembly, CallBlock, TextBlock, ThinkingBlock
from bot.providers.encoding import argument_object, count, mapping, string
from bot.providers.failures import StreamError

REASONING = ("reasoning_content", "reasoning", "reasoning_text")
_FINISH = {
    "stop": FinishReason.END_TURN,
    "tool_calls": FinishReason.TOOL_USE,
    "function_call": FinishReason.TOOL_USE,
    "length": FinishReason.MAX_TOKENS,
}


class ChatReader:
    """A `bot.providers.streaming.Reader`. Parallel calls are identified by their `index`."""

    def __init__(self, assembly: Assembly, turn: int) -> None:
        self._assembly = assembly
        self._turn = turn
        self._calls: dict[int, CallBlock] = {}
        self._finish = ""
        self._refused = False

    def end(self) -> Complete | None:
        if not self._finish:
            return None
        if self._refused:
            return self._assembly.complete(FinishReason.ERROR, "refusal")
        return self._assembly.complete(_FINISH.get(self._finish, FinishReason.ERROR), self._finish)

    def read(self, event: str, data: Any) -> Iterator[Event]:
        data = mapping(data)
        if data.get("error"):
            raise StreamError(data["error"])
        self._count(mapping(data.get("usage")))
        choices = data.get("choices")
        if not isinstance(choices, list) or not choices:
            return
        choice = mapping(choices[0])
        yield from self._delta(mapping(choice.get("delta")))
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish and not self._finish:
            self._finish = finish
            for call in self._assembly.calls:
                yield from self._assembly.end_call(call)

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[Event]:
        # Some servers send the same reasoning under two names: the first that says something counts.
        name, reasoning = next(
            ((name, text) for name in REASONING if (text := string(delta.get(name)))), ("", "")
        )
        details = delta.get("reasoning_details")
        if reasoning or (isinstance(details, list) and details):
            last = self._assembly.last
            thinking = last if isinstance(last, ThinkingBlock) else self._assembly.add(ThinkingBlock())
            if name:
                thinking.extra["field"] = name
            yield from self._assembly.thinking(thinking, reasoning)
            for detail in details if isinstance(details, list) else ():
                _add_detail(thinking.extra.setdefault("reasoning_details", []), mapping(detail))
        refusal = string(delta.get("refusal"))
        self._refused = self._refused or bool(refusal)
        text = string(delta.get("content")) + refusal
        if text:
            last = self._assembly.last
            block = last if isinstance(last, TextBlock) else self._assembly.add(TextBlock())
            yield from self._assembly.text(block, text)
        calls = delta.get("tool_calls")
        for piece in calls if isinstance(calls, list) else ():
            yield from self._call(mapping(piece))

    def _call(self, piece: Mapping[str, Any]) -> Iterator[Event]:
        function = mapping(piece.get("function"))
        id, name = string(piece.get("id")), string(function.get("name"))
        index = piece.get("index")
        call = self._known(index if isinstance(index, int) else None, id, name)
        if call is None:
            key = index if isinstance(index, int) else len(self._assembly.calls)
            call, event = self._assembly.start_call(
                id or f"call_{self._turn}_{len(self._assembly.calls)}", name
            )
            self._calls[key] = call
            yield event
        if mapping(piece.get("extra_content")):
            # Gemini's signature, without which it refuses its own call.
            call.extra["extra_content"] = piece["extra_content"]
        yield from self._assembly.arguments(call, _as_text(function.get("arguments")))

    def _known(self, index: int | None, id: str, name: str) -> CallBlock | None:
        """Return the call that a piece continues, or `None` if it starts one.

        Some servers repeat id and name on every piece, some leave out the index, some count every call as 0: a
        new id with a name is a new call whatever the index is. Without an id, a name starts a call if the
        arguments of the previous one are complete.
        """
        if id and name:
            return next((call for call in self._assembly.calls if call.id == id), None)
        if index is not None:
            call = self._calls.get(index)
            return None if call and name and _is_whole(call) else call
        calls = self._assembly.calls
        return calls[-1] if calls and not name else None

    def _count(self, usage: Mapping[str, Any]) -> None:
        """`prompt_tokens` includes cached tokens, `completion_tokens` the reasoning. A field that a later chunk
        leaves out keeps its value."""
        old = self._assembly.usage
        prompt = mapping(usage.get("prompt_tokens_details"))
        completion = mapping(usage.get("completion_tokens_details"))
        read = count(prompt.get("cached_tokens"), old.cache_read)
        written = count(prompt.get("cache_write_tokens"), old.cache_write)
        whole = count(usage.get("prompt_tokens"), old.input + old.cache_read + old.cache_write)
        self._assembly.usage = Usage(
            max(0, whole - read - written),
            read,
            written,
            count(usage.get("completion_tokens"), old.output),
            count(completion.get("reasoning_tokens"), old.reasoning),
        )


def _as_text(arguments: Any) -> str:
    """Return the arguments as text: some servers send the parsed value."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def _is_whole(call: CallBlock) -> bool:
    text = "".join(call.pieces)
    return bool(text.strip()) and argument_object(text) is not None


def _add_detail(details: list[dict[str, Any]], piece: Mapping[str, Any]) -> None:
    """Append a piece of OpenRouter's reasoning; pieces of one block are joined, as it wants them back."""
    last = details[-1] if details else {}
    if not piece:
        return
    if last.get("type") != piece.get("type") or last.get("index") != piece.get("index"):
        details.append(dict(piece))
        return
    for name, value in piece.items():
        grows = name in ("text", "summary") and isinstance(value, str) and isinstance(last.get(name), str)
        last[name] = last[name] + value if grows else (last.get(name) if value is None else value)
