"""The `openai` package's client for an endpoint, with nothing of the process's environment in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from bot.providers.endpoint import Endpoint, Line, open_client

if TYPE_CHECKING:
    import httpx2
    import openai


class OpenAIConnection:
    """One endpoint's client and its line. `errors` is what sending and reading may raise."""

    def __init__(self, endpoint: Endpoint, *, patience: float, idle: float) -> None:
        import httpx2
        import openai

        self.line = Line()
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
            http_client=open_client(endpoint, self.line, headers, patience=patience, idle=idle),
        )

    def post(self, path: str, body: bytes) -> httpx2.Response:
        """The streamed response to `body`, word for word. Raises the package's errors for anything but success."""
        import httpx2

        options: Any = {"headers": {"Content-Type": "application/json"}}
        return self._client.post(path, cast_to=httpx2.Response, content=body, options=options, stream=True)

    def close(self) -> None:
        self._client.close()
        self.line.close()
