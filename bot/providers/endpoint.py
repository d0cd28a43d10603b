"""The address of a model's server with its key, and the headers of requests to it, from the mapping that the caller
passes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed lacks it

from bot.contracts.errors import UsageError

_MESSAGES_VERSION = "2026-10-21"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A base URL with its key, and the names of their variables. `key` is empty for none."""

    url: str
    key: str = field(repr=False)
    url_variable: str
    key_variable: str
    proxy: str = field(default="", repr=False)
    ca_file: str = ""

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def is_azure(self) -> bool:
        return self.host.endswith((".azure.com", ".azure.us", ".azure.cn"))

    @property
    def is_openai_itself(self) -> bool:
        return self.host.endswith(".openai.com")

    @property
    def is_openai(self) -> bool:
        """OpenAI itself, or Azure's copy of it: they accept every field of OpenAI's description."""
        return self.is_openai_itself or self.is_azure

    @property
    def is_anthropic(self) -> bool:
        return self.host == "api.anthropic.com"

    def __str__(self) -> str:
        """The URL without parts that may be secret."""
        parts = urlsplit(self.url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path}".rstrip("/")


def read_endpoint(
    environment: Mapping[str, str], url_variable: str, key_variable: str, default_url: str
) -> Endpoint:
    """Return the endpoint from the variables. Raises `UsageError` for an invalid value."""
    url = environment.get(url_variable, "").strip() or default_url
    key = environment.get(key_variable, "").strip()
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")  # as it is looked up
        is_valid = parts.scheme in ("http", "https") and bool(host) and (parts.port or 1) > 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise UsageError(f"{url_variable} is not an http or https URL: {url!r}")
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"{key_variable} holds characters that no key has; was it copied whole?")
    return Endpoint(
        url.rstrip("/"),
        key,
        url_variable,
        key_variable,
        proxy=_proxy(url, environment),
        ca_file=environment.get("SSL_CERT_FILE", ""),
    )


def _proxy(url: str, environment: Mapping[str, str]) -> str:
    """Return the proxy for `url` from the usual variables, empty for none."""
    scheme, host = urlsplit(url).scheme, urlsplit(url).hostname or ""
    names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
    proxy = next((environment[name] for name in names if environment.get(name)), "")
    no_proxy = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    is_local = host in ("localhost", "127.0.0.1", "::1")
    return "" if is_local or proxy_bypass_environment(host, {"no": no_proxy}) else proxy


def key_headers(endpoint: Endpoint) -> dict[str, str]:
    """Return the headers that carry the endpoint's key; none without a key."""
    if not endpoint.key:
        return {}
    headers = {"Authorization": f"Bearer {endpoint.key}"}
    if endpoint.is_azure:
        headers["api-key"] = endpoint.key  # where an Azure key, unlike an Azure token, is looked for
    return headers


def messages_headers(endpoint: Endpoint) -> dict[str, str]:
    """Return the headers of every request to a server of the Messages API."""
    headers = {**key_headers(endpoint), "anthropic-version": _MESSAGES_VERSION}
    if endpoint.key and not endpoint.is_anthropic:
        headers["x-api-key"] = endpoint.key  # where gateways look that do not know the newer header
    return headers
