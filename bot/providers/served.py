"""The window of a model that nobody listed, as its server gives it: asked once, before the first request of a run."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bot.contracts.model import Provider
from bot.providers.endpoint import Endpoint, Line, open_client

if TYPE_CHECKING:
    import httpx2

PATIENCE = 5.0
_MOST_BYTES = 16 * 1024 * 1024
_LEAST, _MOST = 1_024, 100_000_000
_TELLING = frozenset({"openai", "openai-chat", "openrouter", "ollama", "vllm"})
"""The lists of the other providers do not say."""

_OF_A_LIST = ("max_model_len", "context_length", "context_window", "max_context_length")
"""vLLM; OpenRouter and Together; Groq; LM Studio and Mistral."""


def with_served_window(provider: Provider) -> Provider:
    """`provider`, with the window that its server gives if the model is not listed. Raises nothing."""
    from bot.providers.streaming import StreamingProvider

    if not isinstance(provider, StreamingProvider) or provider.info.known:
        return provider
    name, info = provider.model.partition("/")[0], provider.info
    if name not in _TELLING:
        return provider
    if window := served_window(provider.endpoint, info.name, is_ollama=name == "ollama"):
        longest = min(info.max_output, max(window // 4, 1))
        provider.adopt(replace(info, context_window=window, max_output=longest))
    return provider


def served_window(endpoint: Endpoint, model: str, *, is_ollama: bool = False) -> int:
    """How many tokens the server says that `model` takes; 0 if it does not say, or not within 5 seconds."""
    import httpx2

    headers = {"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    line = Line()
    try:
        with open_client(endpoint, line, headers, patience=PATIENCE, idle=PATIENCE) as client:
            return _of_ollama(client, endpoint, model) if is_ollama else _of_list(client, endpoint, model)
    except (httpx2.HTTPError, httpx2.StreamError, ValueError, RecursionError):
        return 0
    finally:
        line.close()


def _of_list(client: httpx2.Client, endpoint: Endpoint, model: str) -> int:
    mine = [
        row for row in _rows(_read(client, "GET", f"{endpoint.url}/models"), "data") if row.get("id") == model
    ]
    return _first(mine[0], _OF_A_LIST) if mine else 0


def _of_ollama(client: httpx2.Client, endpoint: Endpoint, model: str) -> int:
    """What a loaded model was given, else the model file's `num_ctx`. The length it was trained for is not what is
    served: longer conversations are cut without a word."""
    root = endpoint.url.removesuffix("/v1")
    loaded = _rows(_read(client, "GET", f"{root}/api/ps"), "models")
    mine = [one for one in loaded if model in (one.get("name"), one.get("model"))]
    if mine and (window := _first(mine[0], ("context_length",))):
        return window
    shown = _read(client, "POST", f"{root}/api/show", {"model": model})
    words = str(shown.get("parameters")).split() if isinstance(shown, dict) else []
    told = [after for word, after in itertools.pairwise(words) if word == "num_ctx"]
    return _first({"num_ctx": int(told[0])}, ("num_ctx",)) if told and told[0].isdecimal() else 0


def _read(client: httpx2.Client, method: str, url: str, body: Mapping[str, Any] | None = None) -> Any:
    with client.stream(method, url, json=body) as response:
        response.raise_for_status()
        data = b""
        for piece in response.iter_bytes():
            data += piece
            if len(data) > _MOST_BYTES:
                return {}
    return json.loads(data)


def _rows(listed: Any, name: str) -> list[Mapping[str, Any]]:
    """The objects of the list `name`; some servers send the list alone."""
    rows = listed.get(name) if isinstance(listed, dict) else listed
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _first(row: Mapping[str, Any], names: Sequence[str]) -> int:
    """The first number among `names` that a window can have."""
    for name in names:
        value = row.get(name)
        if type(value) is int and _LEAST <= value <= _MOST:
            return value
    return 0
