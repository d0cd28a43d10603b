"""Requests to a provider outside a conversation: is it reachable, does it accept the key, and what is the
context window of an unlisted model. They use no tokens."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import date, datetime
from typing import Any, NamedTuple

import httpx2

from bot.contracts.errors import UsageError
from bot.contracts.model import Provider
from bot.providers.endpoint import Endpoint, key_headers, messages_headers
from bot.providers.failures import AnswerTooLong
from bot.providers.http_client import HttpClient
from bot.providers.presets import VENDORS, endpoint_of
from bot.providers.streaming import StreamingProvider

_PATIENCE = 10.0


class ListedModel(NamedTuple):
    """A model in its vendor's list. `end` is the day on which the vendor ends it, `None` for none; `window` is in
    tokens, 0 if it is not listed."""

    name: str
    end: date | None = None
    is_ended: bool = False
    window: int = 0


class ProbeResult(NamedTuple):
    """`message` is one sentence; `reached` is false without a response, `key_accepted` is false if the key was
    refused. `models` are those that the server lists."""

    reached: bool
    key_accepted: bool
    message: str
    models: tuple[ListedModel, ...] = ()


# Each place once. The clouds list no models behind their doors.
PROBED_PROVIDERS = tuple(
    name
    for name, vendor in VENDORS.items()
    if vendor.format not in ("bedrock", "vertex") and name not in ("openai-responses", "openai-chat")
)


def has_key(provider: str, environment: Mapping[str, str]) -> bool:
    """Whether the provider has a key, or a base URL of the user's own that may need none."""
    vendor = VENDORS[provider]
    return any(environment.get(name, "").strip() for name in (vendor.key_variable, vendor.url_variable))


def probe_provider(provider: str, environment: Mapping[str, str]) -> ProbeResult:
    """Request the list of models from `provider`, for at most 10 seconds. Never raises for network errors."""
    vendor = VENDORS[provider]
    try:
        endpoint = endpoint_of(vendor, environment)
        headers = messages_headers(endpoint) if provider == "anthropic" else key_headers(endpoint)
        with closing(HttpClient(endpoint, headers, patience=lambda: _PATIENCE, idle=_PATIENCE)) as client:
            response = client.get(_models_url(provider, endpoint))
        status = response.status_code
    except UsageError as error:
        return ProbeResult(False, False, str(error))
    except httpx2.HTTPError as error:
        return ProbeResult(False, False, f"{endpoint} cannot be reached: {type(error).__name__}.")
    if status in (401, 403):
        return ProbeResult(
            True, False, f"{endpoint} refuses the key in {vendor.key_variable} (HTTP {status})."
        )
    if status >= 500:
        return ProbeResult(False, False, f"{endpoint} fails (HTTP {status}).")
    # 404: servers of one's own need not list their models.
    message = f"{endpoint} answers" + (" and accepts the key." if endpoint.key else ".")
    return ProbeResult(True, True, message, _listed_models(response.content))


def _listed_models(body: bytes) -> tuple[ListedModel, ...]:
    """Return the models of a list of Anthropic's or OpenAI's kind; none for anything else."""
    try:
        rows = _rows(json.loads(body), "data")
    except (ValueError, RecursionError):
        return ()
    return tuple(
        ListedModel(
            row["id"],
            _day(row.get("retires_at")) or _day(row.get("shutdown_date")),
            row.get("lifecycle") == "retired",
            _first(row, ("max_input_tokens",)),
        )
        for row in rows
        if isinstance(row.get("id"), str)
    )


def _day(value: Any) -> date | None:
    try:
        return datetime.fromisoformat(value).date() if isinstance(value, str) else None
    except ValueError:
        return None


def _models_url(provider: str, endpoint: Endpoint) -> str:
    return f"{endpoint.url}/v1/models?limit=1000" if provider == "anthropic" else f"{endpoint.url}/models"


PATIENCE = 5.0
_MIN_WINDOW, _MAX_WINDOW = 1_024, 100_000_000
_LISTING_VENDORS = frozenset({"openai", "openai-chat", "openrouter", "ollama", "vllm", "sglang", "llamacpp"})
"""The lists of the other providers have no window."""

_WINDOW_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length")
"""Of vLLM and SGLang; OpenRouter and Together; Groq; LM Studio and Mistral."""


def with_served_window(provider: Provider) -> Provider:
    """Return `provider` with the window that its server reports, if the model is not listed. Raises nothing."""

    if not isinstance(provider, StreamingProvider) or provider.info.known:
        return provider
    name, info = provider.model.partition("/")[0], provider.info
    if name not in _LISTING_VENDORS:
        return provider
    if window := served_window(provider.endpoint, info.name, name):
        max_output = min(info.max_output, max(window // 4, 1))
        provider.info = info._replace(context_window=window, max_output=max_output)
    return provider


def served_window(endpoint: Endpoint, model: str, vendor: str = "") -> int:
    """Return the context window of `model` in tokens as the server reports it; 0 if it does not within 5
    seconds."""
    headers = key_headers(endpoint)
    try:
        with closing(HttpClient(endpoint, headers, patience=lambda: PATIENCE, idle=PATIENCE)) as client:
            return _READERS.get(vendor, _listed_window)(client, endpoint, model)
    except (httpx2.HTTPError, httpx2.StreamError, AnswerTooLong, ValueError, RecursionError):
        return 0


def _listed_window(client: httpx2.Client, endpoint: Endpoint, model: str) -> int:
    matches = [
        row for row in _rows(_read(client, "GET", f"{endpoint.url}/models"), "data") if row.get("id") == model
    ]
    return _first(matches[0], _WINDOW_FIELDS) if matches else 0


def _ollama_window(client: httpx2.Client, endpoint: Endpoint, model: str) -> int:
    """Return the loaded model's window, else the model file's `num_ctx`. The trained length is not what is
    served: longer conversations are cut without an error."""
    root = endpoint.url.removesuffix("/v1")
    loaded = _rows(_read(client, "GET", f"{root}/api/ps"), "models")
    matches = [one for one in loaded if model in (one.get("name"), one.get("model"))]
    if matches and (window := _first(matches[0], ("context_length",))):
        return window
    details = _read(client, "POST", f"{root}/api/show", {"model": model})
    parameters = str(details.get("parameters")).split() if isinstance(details, dict) else []
    values = [after for word, after in itertools.pairwise(parameters) if word == "num_ctx"]
    return _first({"num_ctx": int(values[0])}, ("num_ctx",)) if values and values[0].isdecimal() else 0


def _llamacpp_window(client: httpx2.Client, endpoint: Endpoint, model: str) -> int:
    """Return the window of each slot. The list of models has the trained length."""
    props = _read(client, "GET", f"{endpoint.url.removesuffix('/v1')}/props")
    settings = props.get("default_generation_settings") if isinstance(props, dict) else None
    return _first(settings, ("n_ctx",)) if isinstance(settings, dict) else 0


_READERS = {"ollama": _ollama_window, "llamacpp": _llamacpp_window}


def _read(client: httpx2.Client, method: str, url: str, body: Mapping[str, Any] | None = None) -> Any:
    return client.request(method, url, json=body).raise_for_status().json()


def _rows(listed: Any, name: str) -> list[Mapping[str, Any]]:
    """Return the objects of the list `name`; some servers send the list alone."""
    rows = listed.get(name) if isinstance(listed, dict) else listed
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _first(row: Mapping[str, Any], names: Sequence[str]) -> int:
    """Return the first plausible window among `names`."""
    for name in names:
        value = row.get(name)
        if type(value) is int and _MIN_WINDOW <= value <= _MAX_WINDOW:
            return value
    return 0
