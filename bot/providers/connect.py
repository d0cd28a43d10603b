"""From `--model provider/name` and the environment to a provider. Imports no vendor's package before that."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.contracts.errors import UsageError
from bot.contracts.model import ModelInfo, ModelOverride, Provider
from bot.providers.endpoint import Endpoint
from bot.providers.models import DEFAULTS, full_name_of, model_info, overridden
from bot.providers.presets import VENDORS, Format, Vendor, endpoint_of
from bot.providers.retry import DEFAULT_POLICY, Policy

if TYPE_CHECKING:
    from bot.providers.streaming import Wire

_NO_KEY = "To see it work without a key, run: slash-agent demo"


def default_model(environment: Mapping[str, str]) -> str:
    """The model for people who name none: of the first provider that has a key.

    Raises `UsageError` where none has.
    """
    for provider, name in DEFAULTS.items():
        if environment.get(VENDORS[provider].key_variable, "").strip():
            return f"{provider}/{name}"
    keys = " or ".join(VENDORS[provider].key_variable for provider in DEFAULTS)
    raise UsageError(f"No model is configured: set {keys}, or name one with --model provider/name. {_NO_KEY}")


def connect(model: str, environment: Mapping[str, str], *, policy: Policy = DEFAULT_POLICY) -> Provider:
    """The provider for `model`, as `provider/name`. Sends nothing yet.

    Raises `UsageError` where the name is not of that form, the provider is unknown, its key or address is missing,
    or the extra that has its package. A base URL of one's own needs no key: local servers want none.
    """
    _, name, vendor = _split(model)
    if vendor.format in ("bedrock", "vertex"):
        wire = _cloud(vendor, name, environment)
    else:
        endpoint = _endpoint(model, vendor, environment)
        info = _placed(model_info(name, is_local=_is_local(endpoint)), endpoint)
        prewarm(model)
        wire = _wire(vendor, endpoint, info)
    from bot.providers.streaming import StreamingProvider

    return StreamingProvider(wire, policy, model=model)


def adapted(provider: Provider, overrides: Mapping[str, ModelOverride]) -> Provider:
    """`provider` with what the policy says of its model, by the name it was connected with."""
    from bot.providers.streaming import StreamingProvider

    if overrides and isinstance(provider, StreamingProvider) and provider.model in overrides:
        provider.adopt(overridden(provider.info, overrides[provider.model]))
    return provider


def of_the_same_model(provider: Provider, other: Provider) -> Provider:
    """`provider` with what is known of its model by `other`, which was connected with the same name."""
    from bot.providers.streaming import StreamingProvider

    if not isinstance(provider, StreamingProvider) or not isinstance(other, StreamingProvider):
        return provider
    if provider.model == other.model:
        provider.adopt(other.info)
    return provider


def _endpoint(model: str, vendor: Vendor, environment: Mapping[str, str]) -> Endpoint:
    given = environment.get(vendor.url_variable, "").strip()
    if not given and not vendor.default_url:
        raise UsageError(f"{model} needs an address: set {vendor.url_variable}.")
    endpoint = endpoint_of(vendor, environment)
    if not endpoint.key and not given and vendor.needs_key:
        raise UsageError(f"{model} needs a key: set {vendor.key_variable}. {_NO_KEY}")
    return endpoint


def _placed(info: ModelInfo, endpoint: Endpoint) -> ModelInfo:
    """What the vendor's own door takes, and doors that only speak alike may refuse."""
    return replace(
        info,
        allowed_tools=info.allowed_tools and endpoint.is_openai,
        streams_tools=info.streams_tools and endpoint.is_anthropic,
    )


def prewarm(model: str) -> None:
    """Import what `connect(model)` and its first request will need: most of the time to the first request.

    Safe to call on a thread while other start-up work goes on. Raises `UsageError` as `connect` does.
    """
    import gc
    import importlib

    _, _, vendor = _split(model)
    if vendor.package in sys.modules and all(name in sys.modules for name in _ADAPTERS[vendor.format]):
        return
    # The packages make some 100,000 objects that stay. Without the collector, which would walk them again and
    # again, the import is 15 to 20 % faster; frozen, they do not slow down collections later either.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        importlib.import_module(vendor.package)
        for name in _ADAPTERS[vendor.format]:
            importlib.import_module(name)
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


_CHAT, _RESPONSES = "bot.providers.openai_chat", "bot.providers.openai_responses"
_ADAPTERS: Mapping[Format, tuple[str, ...]] = {
    "messages": ("bot.providers.anthropic_messages",),
    "openai": (_CHAT, _RESPONSES),
    "responses": (_RESPONSES,),
    "chat": (_CHAT,),
    "bedrock": ("bot.providers.anthropic_clouds",),
    "vertex": ("bot.providers.anthropic_clouds",),
}


def _wire(vendor: Vendor, endpoint: Endpoint, info: ModelInfo) -> Wire:
    if vendor.format == "messages":
        from bot.providers.anthropic_messages import AnthropicMessages

        return AnthropicMessages(endpoint, info)
    if vendor.format == "responses" or (vendor.format == "openai" and endpoint.is_openai_itself):
        from bot.providers.openai_responses import OpenAIResponses

        return OpenAIResponses(endpoint, info)
    from bot.providers.openai_chat import OpenAIChat

    return OpenAIChat(endpoint, info)


def _cloud(vendor: Vendor, name: str, environment: Mapping[str, str]) -> Wire:
    from bot.providers import anthropic_clouds

    info = replace(model_info(name), streams_tools=False)
    if vendor.format == "bedrock":
        return anthropic_clouds.bedrock(info, environment)
    return anthropic_clouds.vertex(info, environment)


def _split(model: str) -> tuple[str, str, Vendor]:
    provider, slash, name = model.partition("/")
    known = ", ".join(VENDORS)
    if not slash or not name.strip():
        meant = full_name_of(model)
        hint = f"did you mean {meant}?" if meant else f"for example {_example()}"
        raise UsageError(f"--model takes provider/name, and {model!r} is not of that form; {hint}")
    vendor = VENDORS.get(provider)
    if vendor is None:
        import difflib

        near = difflib.get_close_matches(provider[:100], VENDORS, n=1)
        raise UsageError(
            f"There is no provider {provider!r}{f'; did you mean {near[0]}/{name}?' if near else '.'} "
            f"Known are {known}. A server that speaks OpenAI's or Anthropic's API is reached through one of them "
            f"and its base URL variable."
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
