"""The address of a model's server with its key, and the headers of requests to it, from the mapping that the caller
passes."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed lacks it

from bot.contracts.errors import UsageError
from bot.providers.vendors import CLOUDS, Format, Vendor

_MESSAGES_VERSION = "2026-10-21"


@dataclass(frozen=True)
class Endpoint:
    """A vendor's base URL with its key, which is empty for none."""

    vendor: Vendor
    url: str
    key: str = field(repr=False)
    proxy: str = field(default="", repr=False)
    verify: ssl.SSLContext | bool = True
    """What trusts the server's certificate."""

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

    @property
    def format(self) -> Format:
        if self.vendor.format != "openai":
            return self.vendor.format
        return "responses" if self.is_openai_itself else "chat"

    @property
    def headers(self) -> Mapping[str, str] | None:
        """The headers of every request beside those of its content; `None` at a cloud, whose client signs its own."""
        if self.format in CLOUDS:
            return None
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        if self.key and self.is_azure:
            headers["api-key"] = self.key  # where an Azure key, unlike an Azure token, is looked for
        if self.key and self.format == "messages" and not self.is_anthropic:
            headers["x-api-key"] = self.key  # where gateways look that do not know the newer header
        return {**headers, "anthropic-version": _MESSAGES_VERSION} if self.format == "messages" else headers

    def __str__(self) -> str:
        """The URL without parts that may be secret."""
        parts = urlsplit(self.url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path}".rstrip("/")


def endpoint_of(vendor: Vendor, environment: Mapping[str, str]) -> Endpoint:
    """Return the endpoint of `vendor` from its variables. Raises `UsageError` for an invalid value."""
    url = environment.get(vendor.url_variable, "").strip() or vendor.default_url
    key = environment.get(vendor.key_variable, "").strip()
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")  # as it is looked up
        is_valid = parts.scheme in ("http", "https") and bool(host) and (parts.port or 1) > 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise UsageError(f"{vendor.url_variable} is not an http or https URL: {url!r}")
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"{vendor.key_variable} holds characters that no key has; was it copied whole?")
    if vendor.path and parts.path in ("", "/"):
        url = parts._replace(path=vendor.path).geturl()
    if vendor.format == "messages":  # people set the URL with or without the version
        url = parts._replace(path=parts.path.rstrip("/").removesuffix("/v1")).geturl()
    try:
        authority = environment.get("SSL_CERT_FILE")
        verify = ssl.create_default_context(cafile=authority) if authority else True
    except OSError as error:
        raise UsageError(f"SSL_CERT_FILE names {authority!r}, which cannot be read: {error}") from error
    return Endpoint(vendor, url.rstrip("/"), key, _proxy(url, environment), verify)


def _proxy(url: str, environment: Mapping[str, str]) -> str:
    """Return the proxy for `url` from the usual variables, empty for none."""
    scheme, host = urlsplit(url).scheme, urlsplit(url).hostname or ""
    names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
    proxy = next((environment[name] for name in names if environment.get(name)), "")
    no_proxy = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    is_local = host in ("localhost", "127.0.0.1", "::1")
    return "" if is_local or proxy_bypass_environment(host, {"no": no_proxy}) else proxy
