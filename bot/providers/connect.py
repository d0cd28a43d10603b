"""From `--model provider/name` and the environment to a provider. Imports no vendor's package before that."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.contracts.errors import UsageError
from bot.contracts.model import ModelInfo, Provider
from bot.providers.endpoint import Endpoint, read_endpoint
from bot.providers.models import DEFAULTS, model_info
from bot.providers.retry import DEFAULT_POLICY, Policy

if TYPE_CHECKING:
    from bot.providers.streaming import Wire

_NO_KEY = "To see it work without a key, run: slash-agent demo"


@dataclass(frozen=True, slots=True)
class Vendor:
    """A provider's variables and where it is when they do not say. `package` is what `prewarm` imports."""

    package: str
    key_variable: str
    url_variable: str
    default_url: str


VENDORS = {
    "anthropic": Vendor("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    "openai": Vendor("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"),
}


def default_model(environment: Mapping[str, str]) -> str:
    """The model for people who name none: of the first provider that has a key.

    Raises `UsageError` where none has.
    """
    for provider, vendor in VENDORS.items():
        if environment.get(vendor.key_variable, "").strip():
            return f"{provider}/{DEFAULTS[provider]}"
    keys = " or ".join(vendor.key_variable for vendor in VENDORS.values())
    raise UsageError(
        f"There is no model to work with: set {keys}, or name one with --model provider/name. {_NO_KEY}"
    )


def connect(model: str, environment: Mapping[str, str], *, policy: Policy = DEFAULT_POLICY) -> Provider:
    """The provider for `model`, as `provider/name`. Sends nothing yet.

    Raises `UsageError` where the name is not of that form, the provider is unknown, or its key is missing. A
    base URL of one's own needs no key: local servers want none.
    """
    provider, name, vendor = _split(model)
    endpoint = read_endpoint(environment, vendor.url_variable, vendor.key_variable, vendor.default_url)
    if not endpoint.key and not environment.get(vendor.url_variable, "").strip():
        raise UsageError(f"{model} needs a key: set {vendor.key_variable}. {_NO_KEY}")
    info = model_info(name, is_local=_is_local(endpoint))
    prewarm(model)
    from bot.providers.streaming import StreamingProvider

    return StreamingProvider(_wire(provider, endpoint, info), info, policy)


def prewarm(model: str) -> None:
    """Import what `connect(model)` and its first request will need: most of the time to the first request.

    Safe to call on a thread while other start-up work goes on. Raises `UsageError` as `connect` does.
    """
    import gc
    import importlib

    provider, _, vendor = _split(model)
    if _ADAPTERS[provider] in sys.modules and vendor.package in sys.modules:
        return
    # The packages make some 100,000 objects that stay. Without the collector, which would walk them again and
    # again, the import is 15 to 20 % faster; frozen, they do not slow down collections later either.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        importlib.import_module(vendor.package)
        importlib.import_module("bot.providers.streaming")
        importlib.import_module(_ADAPTERS[provider])
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


_ADAPTERS = {
    "anthropic": "bot.providers.anthropic_messages",
    "openai": "bot.providers.openai_chat",
}


def _wire(provider: str, endpoint: Endpoint, info: ModelInfo) -> Wire:
    if provider == "anthropic":
        from bot.providers.anthropic_messages import AnthropicMessages

        return AnthropicMessages(endpoint, info)
    from bot.providers.openai_chat import OpenAIChat

    return OpenAIChat(endpoint, info)


def _split(model: str) -> tuple[str, str, Vendor]:
    provider, slash, name = model.partition("/")
    known = ", ".join(VENDORS)
    if not slash or not name.strip():
        raise UsageError(f"--model takes provider/name, for example {_example()}; this is {model!r}")
    vendor = VENDORS.get(provider)
    if vendor is None:
        raise UsageError(
            f"There is no provider {provider!r}; known are {known}. A server that speaks OpenAI's or "
            f"Anthropic's API is reached through one of them and its base URL variable."
        )
    return provider, name.strip(), vendor


def _example() -> str:
    provider, name = next(iter(DEFAULTS.items()))
    return f"{provider}/{name}"


def _is_local(endpoint: Endpoint) -> bool:
    if endpoint.host == "localhost" or endpoint.host.endswith((".local", ".internal")):
        return True
    try:
        return ipaddress.ip_address(endpoint.host).is_private
    except ValueError:
        return False
