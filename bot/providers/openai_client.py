"""The `openai` package's client for an endpoint, isolated from the process's environment, and `tool_choice` for
OpenAI's formats.

The Messages API gets no `tool_choice`: `bot/providers/anthropic_messages.py` (`encode`) says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from bot.contracts.model import ModelInfo, ModelRequest
from bot.providers.endpoint import ActiveConnection, Endpoint, open_client
from bot.providers.streaming import Frame, events_of

if TYPE_CHECKING:
    import httpx2
    import openai

# Longer than for the Messages API: there are no pings here, and a model that reasons is silent meanwhile.
IDLE = 300.0


class OpenAIWire:
    """The part of a `bot.providers.streaming.Wire` that OpenAI's formats have in common. `errors` are the exceptions
    of sending and reading; `format` is part of `writer`."""

    def __init__(
        self, format: str, endpoint: Endpoint, info: ModelInfo, *, patience: float | None, idle: float
    ) -> None:
        import httpx2
        import openai

        self.endpoint = endpoint
        self.info = info
        self.writer = f"{format}/{info.name}"
        self.connection = ActiveConnection()
        self.errors: tuple[type[Exception], ...] = (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError)
        # Servers on the own machine need no key, but the package insists on one.
        key = endpoint.key or "none"
        headers = {"Authorization": f"Bearer {key}"}
        if endpoint.is_azure:
            headers["api-key"] = key  # where an Azure key, unlike an Azure token, is looked for
        url = urlsplit(endpoint.url)
        self._client: openai.OpenAI = openai.OpenAI(
            api_key=key,
            organization="",
            project="",
            base_url=url._replace(query="").geturl(),
            default_query=dict(parse_qsl(url.query)),
            max_retries=0,
            http_client=open_client(
                endpoint, self.connection, headers, patience=patience or info.timeout, idle=idle
            ),
        )

    def _post(self, path: str, body: bytes) -> httpx2.Response:
        """Return the streamed response to `body`, sent unchanged. Raises the package's errors for anything but
        success."""
        import httpx2

        options: Any = {"headers": {"Content-Type": "application/json"}}
        return self._client.post(path, cast_to=httpx2.Response, content=body, options=options, stream=True)

    def frames(self, response: httpx2.Response) -> Iterator[Frame]:
        return events_of(response)

    def close(self) -> None:
        self._client.close()
        self.connection.close()


def allowed_names(request: ModelRequest) -> tuple[str, ...] | None:
    """Return the existing tools that are allowed, in the order of the tools; `None` if all are allowed."""
    if request.allowed is None:
        return None
    allowed = frozenset(request.allowed)
    return tuple(spec.name for spec in request.tools if spec.name in allowed)


def openai_choice(request: ModelRequest, info: ModelInfo, *, nested: bool, takes_named: bool = True) -> Any:
    """Return `tool_choice` for a model, `None` for the default. `nested` is the form of Chat Completions. What
    a vendor does not support is left to the dispatch."""
    if not request.tools:
        return None
    names = allowed_names(request)
    if request.tool_choice == "none" or names == ():
        return "none"
    required = request.tool_choice == "required" and info.forced_choice

    def tool(name: str) -> dict[str, Any]:
        return (
            {"type": "function", "function": {"name": name}} if nested else {"type": "function", "name": name}
        )

    if names is not None and required and len(names) == 1 and takes_named:
        return tool(names[0])
    if names is not None and info.allowed_tools:
        choice = {"mode": "required" if required else "auto", "tools": [tool(name) for name in names]}
        return {"type": "allowed_tools", **({"allowed_tools": choice} if nested else choice)}
    return "required" if required else None
