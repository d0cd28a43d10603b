"""The providers, by the name before the slash in `--model provider/name`: address, variables and wire format. A
provider with a known format is one row here."""

from typing import Literal, NamedTuple

# `openai` picks by its base URL: OpenAI itself has Responses, what only speaks like it has Chat Completions.
Format = Literal["messages", "responses", "chat", "openai", "bedrock", "vertex"]
CLOUDS = ("bedrock", "vertex")
"""The formats whose client signs its requests, with credentials of several variables."""


class Vendor(NamedTuple):
    """A provider's variables, its default address, and the differences of a Chat Completions server from OpenAI's.

    `default_url` is empty if there is none. `path` is appended to a URL without a path. `needs_key`: the provider
    always requires a key. `named_choice`: `tool_choice` accepts an object that names a tool. `asks_parallel`: several
    calls in one response must be requested. `forced_choice`: it can force a call. `returns_reasoning`: it accepts a
    message's reasoning back, in the field that it used. `call_signature` stands in for that of a first call of another
    model. docs/models.md has a table of these differences.
    """

    format: Format
    key_variable: str
    url_variable: str
    default_url: str
    path: str = ""
    needs_key: bool = True
    named_choice: bool = True
    asks_parallel: bool = False
    forced_choice: bool = False
    returns_reasoning: bool = False
    call_signature: str = ""


def _self_hosted(name: str, port: int) -> Vendor:
    """Return a server that people run themselves: by default on this machine and without a key."""
    key, base, url = f"{name}_API_KEY", f"{name}_BASE_URL", f"http://localhost:{port}/v1"
    return Vendor("chat", key, base, url, "/v1", needs_key=False, forced_choice=True, returns_reasoning=True)


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
        # Gemini 3 refuses a call without its signature; this is its documented word for calls of other models.
        call_signature="skip_thought_signature_validator",
    ),
    "ollama": _self_hosted("OLLAMA", 11434),
    "vllm": _self_hosted("VLLM", 8000),
    "sglang": _self_hosted("SGLANG", 30000),
    "llamacpp": _self_hosted("LLAMACPP", 8080)._replace(named_choice=False, asks_parallel=True),
    "bedrock": Vendor("bedrock", "AWS_BEARER_TOKEN_BEDROCK", "ANTHROPIC_BEDROCK_BASE_URL", ""),
    "vertex": Vendor("vertex", "ANTHROPIC_VERTEX_ACCESS_TOKEN", "ANTHROPIC_VERTEX_BASE_URL", ""),
}
