"""Requests to a provider outside a conversation: is it reachable, does it accept the key, and what is the
context window of an unlisted model. They use no tokens."""

import itertools
import json
from collections.abc import Mapping
from contextlib import closing
from datetime import date, datetime
from typing import Any, NamedTuple

import httpx2

from bot.contracts.errors import UsageError
from bot.contracts.model import Provider
from bot.providers.encoding import field, string
from bot.providers.endpoint import endpoint_of
from bot.providers.failures import AnswerTooLong
from bot.providers.http_client import HttpClient
from bot.providers.presets import CLOUDS, VENDORS
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
    if vendor.format not in CLOUDS and name not in ("openai-responses", "openai-chat")
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
        with closing(HttpClient(endpoint, patience=_PATIENCE, idle=_PATIENCE)) as client:
            path = "/v1/models?limit=1000" if provider == "anthropic" else "/models"
            response = client.get(endpoint.url + path)
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
            _plausible(row.get("max_input_tokens")),
        )
        for row in rows
        if isinstance(row.get("id"), str)
    )


def _day(value: Any) -> date | None:
    try:
        return datetime.fromisoformat(string(value)).date()
    except ValueError:
        return None


_MIN_WINDOW, _MAX_WINDOW = 1_024, 100_000_000
_LISTING_VENDORS = frozenset({"openai", "openai-chat", "openrouter", "ollama", "vllm", "sglang", "llamacpp"})
"""The lists of the other providers have no window."""

_WINDOW_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length")
"""Of vLLM and SGLang; OpenRouter and Together; Groq; LM Studio and Mistral."""


def with_served_window(provider: Provider) -> Provider:
    """Return `provider` with the window that its server reports within 5 seconds, if the model is not listed. Raises
    nothing."""
    if not isinstance(provider, StreamingProvider) or provider.info.known:
        return provider
    vendor, info, endpoint = provider.model.partition("/")[0], provider.info, provider.endpoint
    if vendor not in _LISTING_VENDORS:
        return provider
    try:
        with closing(HttpClient(endpoint, patience=_PATIENCE / 2, idle=_PATIENCE / 2)) as client:
            window = _served_window(client, endpoint.url, info.name, vendor)
    except (httpx2.HTTPError, httpx2.StreamError, AnswerTooLong, ValueError, RecursionError):
        return provider
    if window:
        max_output = min(info.max_output, max(window // 4, 1))
        provider.info = info._replace(context_window=window, max_output=max_output)
    return provider


def _served_window(client: httpx2.Client, url: str, model: str, vendor: str) -> int:
    """Return the context window that the server of `vendor` gives to `model`, in tokens; 0 if it is unknown."""

    def read(url: str, **body: Any) -> Any:
        return client.request("POST" if body else "GET", url, json=body or None).raise_for_status().json()

    root = url.removesuffix("/v1")
    if vendor == "llamacpp":  # that of each slot: the list of models has the trained length
        return _plausible(field(read(f"{root}/props"), "default_generation_settings", "n_ctx"))
    if vendor != "ollama":
        row = next((row for row in _rows(read(f"{url}/models"), "data") if row.get("id") == model), {})
        return next((window for name in _WINDOW_FIELDS if (window := _plausible(row.get(name)))), 0)
    # The loaded model's window, else its file's `num_ctx`. The trained length is not what is served: longer
    # conversations are cut without an error.
    for one in _rows(read(f"{root}/api/ps"), "models"):
        if model in (one.get("name"), one.get("model")) and (window := _plausible(one.get("context_length"))):
            return window
    parameters = str(field(read(f"{root}/api/show", model=model), "parameters")).split()
    values = [after for word, after in itertools.pairwise(parameters) if word == "num_ctx"]
    return _plausible(int(values[0])) if values and values[0].isdecimal() else 0


def _rows(listed: Any, name: str) -> list[Mapping[str, Any]]:
    """Return the objects of the list `name`; some servers send the list alone."""
    rows = listed.get(name) if isinstance(listed, dict) else listed
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _plausible(window: Any) -> int:
    return window if type(window) is int and _MIN_WINDOW <= window <= _MAX_WINDOW else 0
