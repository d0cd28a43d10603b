"""The providers there are, by the name before the slash in `--model provider/name`: where each is, what its variables
are called, and which wire format it speaks. Adding one that speaks a known format is one row here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

from bot.providers.endpoint import Endpoint, read_endpoint

# `openai` picks by its base URL: OpenAI itself has Responses, what only speaks like it has Chat Completions.
Format = Literal["messages", "responses", "chat", "openai", "bedrock", "vertex"]


@dataclass(frozen=True, slots=True)
class Vendor:
    """A provider's variables and where it is when they do not say. `package` is what `prewarm` imports.

    `key_variable` is empty where there is more to it than a key; `default_url` where there is no such place.
    `path` is put behind a URL that has none. `needs_key` is for places that are never without.
    """

    package: str
    format: Format
    key_variable: str
    url_variable: str
    default_url: str
    path: str = ""
    needs_key: bool = True


VENDORS = {
    "anthropic": Vendor(
        "anthropic", "messages", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"
    ),
    "openai": Vendor("openai", "openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"),
    "openai-responses": Vendor(
        "openai", "responses", "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"
    ),
    "openai-chat": Vendor("openai", "chat", "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"),
    "azure": Vendor("openai", "chat", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "", path="/openai/v1"),
    "openrouter": Vendor(
        "openai", "chat", "OPENROUTER_API_KEY", "OPENROUTER_BASE_URL", "https://openrouter.ai/api/v1"
    ),
    "github": Vendor(
        "openai",
        "chat",
        "GITHUB_MODELS_TOKEN",
        "GITHUB_MODELS_BASE_URL",
        "https://models.github.ai/inference",
    ),
    "gemini": Vendor(
        "openai",
        "chat",
        "GEMINI_API_KEY",
        "GEMINI_BASE_URL",
        "https://generativelanguage.googleapis.com/v1beta/openai",
    ),
    "ollama": Vendor(
        "openai",
        "chat",
        "OLLAMA_API_KEY",
        "OLLAMA_BASE_URL",
        "http://localhost:11434/v1",
        path="/v1",
        needs_key=False,
    ),
    "vllm": Vendor(
        "openai",
        "chat",
        "VLLM_API_KEY",
        "VLLM_BASE_URL",
        "http://localhost:8000/v1",
        path="/v1",
        needs_key=False,
    ),
    "bedrock": Vendor("anthropic", "bedrock", "AWS_BEARER_TOKEN_BEDROCK", "ANTHROPIC_BEDROCK_BASE_URL", ""),
    "vertex": Vendor("anthropic", "vertex", "ANTHROPIC_VERTEX_ACCESS_TOKEN", "ANTHROPIC_VERTEX_BASE_URL", ""),
}


def endpoint_of(vendor: Vendor, environment: Mapping[str, str]) -> Endpoint:
    """Where `vendor` is by its variables. Raises `UsageError` for a value that cannot be one."""
    endpoint = read_endpoint(environment, vendor.url_variable, vendor.key_variable, vendor.default_url)
    if vendor.path and urlsplit(endpoint.url).path in ("", "/"):
        return replace(endpoint, url=urlsplit(endpoint.url)._replace(path=vendor.path).geturl())
    return endpoint
