"""Whether a provider can be reached and takes its key: one request for the list of its models, no tokens spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.contracts.errors import UsageError
from bot.providers.endpoint import Endpoint, Line, open_client
from bot.providers.presets import VENDORS, endpoint_of

_PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Reach:
    """`said` is one sentence; `reached` is false where there was no answer, `taken` where the key was refused."""

    reached: bool
    taken: bool
    said: str


# Each place once. The clouds list no models behind their doors.
PLACES = tuple(
    name
    for name, vendor in VENDORS.items()
    if vendor.format not in ("bedrock", "vertex") and name not in ("openai-responses", "openai-chat")
)


def has_key(provider: str, environment: Mapping[str, str]) -> bool:
    """Whether there is anything to try: a key, or a base URL of one's own that may need none."""
    vendor = VENDORS[provider]
    return any(environment.get(name, "").strip() for name in (vendor.key_variable, vendor.url_variable))


def reach(provider: str, environment: Mapping[str, str]) -> Reach:
    """Ask `provider` for its models, for at most 10 seconds. Never raises for what the network does."""
    import httpx2

    vendor = VENDORS[provider]
    try:
        endpoint = endpoint_of(vendor, environment)
        line = Line()
        with open_client(
            endpoint, line, _headers(provider, endpoint), patience=_PATIENCE, idle=_PATIENCE
        ) as client:
            status = client.get(_models(provider, endpoint)).status_code
        line.close()
    except UsageError as error:
        return Reach(False, False, str(error))
    except httpx2.HTTPError as error:
        return Reach(False, False, f"{endpoint} cannot be reached: {type(error).__name__}.")
    if status in (401, 403):
        return Reach(True, False, f"{endpoint} refuses the key in {vendor.key_variable} (HTTP {status}).")
    if status >= 500:
        return Reach(False, False, f"{endpoint} is in trouble (HTTP {status}).")
    # 404: servers of one's own need not list their models.
    return Reach(True, True, f"{endpoint} answers" + (" and takes the key." if endpoint.key else "."))


def _models(provider: str, endpoint: Endpoint) -> str:
    return f"{endpoint.url}/v1/models" if provider == "anthropic" else f"{endpoint.url}/models"


def _headers(provider: str, endpoint: Endpoint) -> dict[str, str]:
    if not endpoint.key:
        return {}
    if provider == "anthropic":
        return {"x-api-key": endpoint.key, "anthropic-version": "2023-06-01"}
    return {"api-key": endpoint.key} if endpoint.is_azure else {"authorization": f"Bearer {endpoint.key}"}
