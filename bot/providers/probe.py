"""Ask a provider outside a conversation whether it is reachable and accepts the key. It uses no tokens."""

import json
from collections.abc import Mapping
from contextlib import closing
from datetime import date, datetime
from typing import Any, NamedTuple

import httpx2

from bot.contracts.errors import UsageError
from bot.providers.encoding import count, string
from bot.providers.endpoint import endpoint_of
from bot.providers.http_client import HttpClient
from bot.providers.vendors import CLOUDS, VENDORS

_PATIENCE = 10.0


class ListedModel(NamedTuple):
    """A model in its vendor's list. `end` is the day on which the vendor ends it, `None` for none; `window` is in
    tokens, 0 if it is not listed."""

    name: str
    end: date | None
    is_ended: bool
    window: int


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
        listed = json.loads(body)
    except (ValueError, RecursionError):
        return ()
    rows = listed.get("data") if isinstance(listed, dict) else listed
    return tuple(
        ListedModel(
            row["id"],
            _day(row.get("retires_at")) or _day(row.get("shutdown_date")),
            row.get("lifecycle") == "retired",
            count(row.get("max_input_tokens")),
        )
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict) and isinstance(row.get("id"), str)
    )


def _day(value: Any) -> date | None:
    try:
        return datetime.fromisoformat(string(value)).date()
    except ValueError:
        return None
