"""The providers, by the name before the slash in `--model provider/name`: address, variables and wire format. A
provider with a known format is one row here."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from bot.providers.endpoint import Endpoint, read_endpoint

# `openai` picks by its base URL: OpenAI itself has Responses, what only speaks like it has Chat Completions.
Format = Literal["messages", "responses", "chat", "openai", "bedrock", "vertex"]


class Dialect(NamedTuple):
    """Differences of a Chat Completions server from OpenAI's. docs/models.md has the table.

    `named_choice`: `tool_choice` accepts an object that names a tool. `asks_parallel`: several calls in one
    response must be requested. `forced_choice`: it can force a call. `returns_reasoning`: it accepts a message's
    reasoning back, in the field that it used. `call_signature` stands in for that of a first call of another model.
    """

    named_choice: bool = True
    asks_parallel: bool = False
    forced_choice: bool = False
    returns_reasoning: bool = False
    call_signature: str = ""


PLAIN = Dialect()


class Vendor(NamedTuple):
    """A provider's variables and its default address.

    `key_variable` is empty if a key is not enough; `default_url` is empty if there is none. `path` is appended
    to a URL without a path. `needs_key`: the provider always requires a key.
    """

    format: Format
    key_variable: str
    url_variable: str
    default_url: str
    path: str = ""
    needs_key: bool = True
    dialect: Dialect = PLAIN


_SELF_HOSTED = Dialect(forced_choice=True, returns_reasoning=True)


def _self_hosted(name: str, port: int, dialect: Dialect = _SELF_HOSTED) -> Vendor:
    """Return a server that people run themselves: by default on this machine and without a key."""
    key, base, url = f"{name}_API_KEY", f"{name}_BASE_URL", f"http://localhost:{port}/v1"
    return Vendor("chat", key, base, url, path="/v1", needs_key=False, dialect=dialect)


# Gemini 3 refuses a call without its signature; this is its documented word for calls of other models.
_GEMINI = Dialect(call_signature="skip_thought_signature_validator")

VENDORS = {
    "anthropic": Vendor("messages", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    "openai": Vendor("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"),
    "openai-responses": Vendor("responses", "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"),
    "openai-chat": Vendor("chat", "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"),
    "azure": Vendor("chat", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "", path="/openai/v1"),
    "openrouter": Vendor("chat", "OPENROUTER_API_KEY", "OPENROUTER_BASE_URL", "https://openrouter.ai/api/v1"),
    "gemini": Vendor(
        "chat",
        "GEMINI_API_KEY",
        "GEMINI_BASE_URL",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        dialect=_GEMINI,
    ),
    "ollama": _self_hosted("OLLAMA", 11434),
    "vllm": _self_hosted("VLLM", 8000),
    "sglang": _self_hosted("SGLANG", 30000),
    "llamacpp": _self_hosted("LLAMACPP", 8080, _SELF_HOSTED._replace(named_choice=False, asks_parallel=True)),
    "bedrock": Vendor("bedrock", "AWS_BEARER_TOKEN_BEDROCK", "ANTHROPIC_BEDROCK_BASE_URL", ""),
    "vertex": Vendor("vertex", "ANTHROPIC_VERTEX_ACCESS_TOKEN", "ANTHROPIC_VERTEX_BASE_URL", ""),
}


def endpoint_of(vendor: Vendor, environment: Mapping[str, str]) -> Endpoint:
    """Return the endpoint of `vendor` from its variables. Raises `UsageError` for an invalid value."""
    endpoint = read_endpoint(environment, vendor.url_variable, vendor.key_variable, vendor.default_url)
    if vendor.path and urlsplit(endpoint.url).path in ("", "/"):
        return replace(endpoint, url=urlsplit(endpoint.url)._replace(path=vendor.path).geturl())
    return endpoint
