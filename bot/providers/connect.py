"""From `--model provider/name` and the environment to a provider. No vendor's package is imported before that."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from bot.contracts.errors import UsageError
from bot.contracts.model import ModelInfo, ModelOverride, Provider
from bot.contracts.nearest import nearest
from bot.providers.endpoint import Endpoint, endpoint_of
from bot.providers.models import (
    CHAT_EFFORTS,
    DEFAULTS,
    apply_override,
    end_of,
    full_name_of,
    listed_name,
    model_info,
)
from bot.providers.retry import DEFAULT_POLICY, RetryPolicy
from bot.providers.vendors import CLOUDS, VENDORS, Vendor

if TYPE_CHECKING:
    from bot.providers.streaming import StreamingProvider

_CLOSED = {
    "github": "GitHub Models was closed on 2026-07-30. Use anthropic/, openai/, azure/, openrouter/ or gemini/ with "
    "the key of that provider."
}


class MissingKeyError(UsageError):
    """No key for a model is set. `variables` are those that may hold one, the usual one first."""

    def __init__(self, sentence: str, *variables: str) -> None:
        super().__init__(f"{sentence} To see it work without a key, run: slash-agent demo")
        self.variables = variables


def default_model(environment: Mapping[str, str]) -> str:
    """Return the default model: of the first provider that has a key.

    Raises `MissingKeyError` if none has.
    """
    for provider, name in DEFAULTS.items():
        if environment.get(VENDORS[provider].key_variable, "").strip():
            return f"{provider}/{name}"
    keys = [VENDORS[provider].key_variable for provider in DEFAULTS]
    sentence = f"No model is configured: set {' or '.join(keys)}, or name one with --model provider/name."
    raise MissingKeyError(sentence, *keys)


def check_model(model: str, environment: Mapping[str, str], today: date | None = None) -> None:
    """Raise the `UsageError` of `connect` as far as it needs no package. `today` is the date in UTC by default."""
    vendor, name = _split(model)
    if vendor.format in CLOUDS:
        return
    endpoint = _endpoint(model, vendor, environment)
    # Other servers keep models for longer.
    end = end_of(name) if endpoint.is_anthropic or endpoint.is_openai_itself else None
    if end is not None and end.day <= (today or datetime.now(UTC).date()):
        raise UsageError(f"{model} ended on {end.day}: use {model.partition('/')[0]}/{end.instead} instead.")


def connect(
    model: str,
    environment: Mapping[str, str],
    *,
    policy: RetryPolicy = DEFAULT_POLICY,
    today: date | None = None,
) -> Provider:
    """Return the provider for `model`, given as `provider/name`. Sends nothing yet.

    Imports the vendor's package, which takes up to a second: call it on a thread of its own.

    Raises `UsageError` for an invalid name, an unknown provider, a model that its vendor ended, a missing key or
    address, or a missing extra. A base URL of the user's own needs no key, since local servers need none.
    """
    check_model(model, environment, today)
    vendor, name = _split(model)
    if vendor.format in CLOUDS:
        from bot.providers.anthropic_clouds import connect_cloud

        provider: StreamingProvider = connect_cloud(vendor, model_info(name), environment)
    else:
        endpoint = _endpoint(model, vendor, environment)
        provider = _adapter(endpoint, _at_endpoint(model_info(name, is_local=_is_local(endpoint)), endpoint))
    provider.model, provider.policy = model, policy
    return provider


def apply_overrides(provider: Provider, overrides: Mapping[str, ModelOverride]) -> Provider:
    """Return `provider` with the policy's settings for its model, by the name it was connected with."""
    from bot.providers.streaming import StreamingProvider

    if isinstance(provider, StreamingProvider) and provider.model in overrides:
        provider.info = apply_override(provider.info, overrides[provider.model])
    return provider


def _endpoint(model: str, vendor: Vendor, environment: Mapping[str, str]) -> Endpoint:
    url = environment.get(vendor.url_variable, "").strip()
    if not url and not vendor.default_url:
        raise UsageError(f"{model} needs an address: set {vendor.url_variable}.")
    endpoint = endpoint_of(vendor, environment)
    if not endpoint.key and not url and vendor.needs_key:
        raise MissingKeyError(f"{model} needs a key: set {vendor.key_variable}.", vendor.key_variable)
    return endpoint


def _at_endpoint(info: ModelInfo, endpoint: Endpoint) -> ModelInfo:
    """Restrict features to the vendor's own endpoint: compatible servers may refuse them."""
    takes_effort = endpoint.is_anthropic if endpoint.format == "messages" else endpoint.is_openai
    if endpoint.format == "chat" and listed_name(info.name) not in CHAT_EFFORTS:
        takes_effort = False
    return info._replace(
        allowed_tools=info.allowed_tools and endpoint.is_openai,
        forced_choice=endpoint.vendor.forced_choice or (info.forced_choice and endpoint.is_openai),
        streams_tools=info.streams_tools and endpoint.is_anthropic,
        efforts=info.efforts if takes_effort else (),
        hour_cache=info.hour_cache and endpoint.is_anthropic,
    )


def _adapter(endpoint: Endpoint, info: ModelInfo) -> StreamingProvider:
    if endpoint.format == "messages":
        from bot.providers.anthropic_messages import AnthropicMessages

        return AnthropicMessages(endpoint, info)
    if endpoint.format == "responses":
        from bot.providers.openai_responses import OpenAIResponses

        return OpenAIResponses(endpoint, info)
    from bot.providers.openai_chat import OpenAIChat

    return OpenAIChat(endpoint, info)


def _split(model: str) -> tuple[Vendor, str]:
    """Return the vendor and the model's name in `provider/name`. Raises `UsageError`."""
    provider, slash, name = model.partition("/")
    if provider in _CLOSED:
        raise UsageError(_CLOSED[provider])
    if not slash or not name.strip():
        suggestion = full_name_of(model)
        example = "/".join(next(iter(DEFAULTS.items())))
        hint = f"did you mean {suggestion}?" if suggestion else f"for example {example}"
        raise UsageError(f"--model takes provider/name, and {model!r} is not of that form; {hint}")
    vendor = VENDORS.get(provider)
    if vendor is None:
        near = nearest(provider, VENDORS)
        raise UsageError(
            f"There is no provider {provider!r}{f'; did you mean {near}/{name}?' if near else '.'} "
            f"Known are {', '.join(VENDORS)}. A server that speaks OpenAI's or Anthropic's API is reached through one "
            "of them and its base URL variable."
        )
    return vendor, name.strip()


def _is_local(endpoint: Endpoint) -> bool:
    if endpoint.host == "localhost" or endpoint.host.endswith((".local", ".internal")):
        return True
    try:
        return ipaddress.ip_address(endpoint.host).is_private
    except ValueError:
        return False
