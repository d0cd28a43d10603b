"""Claude at Amazon Bedrock and Google Vertex AI: the Messages API behind those clouds' endpoints and
signatures.

Uses the clients of the `anthropic` package, which know the clouds' addresses and signatures; the extras bring it.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from bot.contracts.errors import UsageError
from bot.contracts.model import ModelInfo
from bot.providers.anthropic_messages import AnthropicMessages
from bot.providers.endpoint import Endpoint, read_endpoint
from bot.providers.failures import StatusError

if TYPE_CHECKING:
    import httpx2

    from bot.providers.streaming import Frame

_CLOUD_ERRORS = (
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.eventstream", "ParserError"),
    ("google.auth.exceptions", "GoogleAuthError"),
)
# What the package may send beside the signature: it adds telemetry and whatever its own environment variables name.
_HEADERS = frozenset(
    {
        "host",
        "connection",
        "accept",
        "accept-encoding",
        "content-type",
        "content-length",
        "user-agent",
        "authorization",
        "anthropic-version",
    }
)


def bedrock(info: ModelInfo, environment: Mapping[str, str]) -> AnthropicMessages:
    """Return Claude at Bedrock. Raises `UsageError` if the extra, the region or the credentials are missing."""
    _require_packages("bedrock", "anthropic", "boto3")
    region = environment.get("AWS_REGION", "").strip() or environment.get("AWS_DEFAULT_REGION", "").strip()
    if not region:
        raise UsageError(f"bedrock/{info.name} needs a region: set AWS_REGION.")
    endpoint = read_endpoint(
        environment,
        "ANTHROPIC_BEDROCK_BASE_URL",
        "AWS_BEARER_TOKEN_BEDROCK",
        f"https://bedrock-runtime.{region}.amazonaws.com",
    )
    names = {
        "aws_access_key": "AWS_ACCESS_KEY_ID",
        "aws_secret_key": "AWS_SECRET_ACCESS_KEY",
        "aws_session_token": "AWS_SESSION_TOKEN",
        "aws_profile": "AWS_PROFILE",
    }
    client_options = {
        name: environment[variable] for name, variable in names.items() if environment.get(variable)
    }
    if endpoint.key:
        client_options = {"api_key": endpoint.key}
    elif (
        "aws_profile" not in client_options
        and not {"aws_access_key", "aws_secret_key"} <= client_options.keys()
    ):
        raise UsageError(
            f"bedrock/{info.name} needs credentials: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE."
        )
    return _Bedrock(endpoint, info, {"aws_region": region, **client_options})


def vertex(info: ModelInfo, environment: Mapping[str, str]) -> AnthropicMessages:
    """Return Claude at Vertex AI. Raises `UsageError` if the extra, the region or the project is missing.

    Without a token in the environment Google's library finds the machine's credentials.
    """
    region = environment.get("CLOUD_ML_REGION", "").strip()
    project = environment.get("ANTHROPIC_VERTEX_PROJECT_ID", "").strip()
    if not region or not project:
        raise UsageError(
            f"vertex/{info.name} needs a region and a project: set CLOUD_ML_REGION and ANTHROPIC_VERTEX_PROJECT_ID."
        )
    host = "aiplatform" if region == "global" else f"{region}-aiplatform"
    endpoint = read_endpoint(
        environment,
        "ANTHROPIC_VERTEX_BASE_URL",
        "ANTHROPIC_VERTEX_ACCESS_TOKEN",
        f"https://{host}.googleapis.com/v1",
    )
    _require_packages("vertex", "anthropic", *(() if endpoint.key else ("google.auth",)))
    return _Vertex(
        endpoint, info, {"region": region, "project_id": project, "access_token": endpoint.key or None}
    )


def _require_packages(extra: str, *packages: str) -> None:
    for package in packages:
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            spec = None
        if spec is None:
            raise UsageError(
                f"{extra}/ models need the package {package}, which the extra `{extra}` brings: "
                f"pip install 'slash-agent[{extra}]', in the action `extras: {extra}`."
            )


class _Cloud(AnthropicMessages):
    """`client_options` are for the package's client, `client_class` is its name."""

    client_class: ClassVar[str]

    def __init__(self, endpoint: Endpoint, info: ModelInfo, client_options: Mapping[str, Any]) -> None:
        import anthropic

        super().__init__(endpoint, info)
        # What finding and refreshing credentials may raise, beside the package's own errors.
        self.errors = (*self.errors, anthropic.AnthropicError, *_credential_errors(), RuntimeError)

        class Client(getattr(anthropic, self.client_class)):  # type: ignore[misc]  # which class is known only here
            def _prepare_request(self, request: httpx2.Request) -> None:
                # Before the signature: it is over the headers too.
                for name in [name for name in request.headers if name not in _HEADERS]:
                    del request.headers[name]
                super()._prepare_request(request)

        self._package_client = Client(
            **client_options,
            base_url=self.endpoint.url,
            max_retries=0,
            open_telemetry=False,
            http_client=self._client,
        )

    def headers(self) -> dict[str, str]:
        return {}  # the package's client adds what its cloud wants

    def send(self, body: bytes) -> httpx2.Response:
        import anthropic
        import httpx2

        # The clients move the model from the body to the URL, so they want the body as an object. They write it
        # out again in the same order, so that it stays a prefix of the next.
        try:
            response: httpx2.Response = self._package_client.post(
                self.path, cast_to=httpx2.Response, body=json.loads(body), stream=True
            )
        except anthropic.APIStatusError as error:
            raise StatusError(error.status_code, error.body, error.response.headers) from error
        return response


class _Bedrock(_Cloud):
    client_class = "AnthropicBedrock"

    def frames(self, response: httpx2.Response) -> Iterator[Frame]:
        """Decode Amazon's binary event stream with the package's decoder."""
        from anthropic.lib.bedrock._stream_decoder import AWSEventStreamDecoder

        return iter(AWSEventStreamDecoder().iter_bytes(response.iter_bytes()))


class _Vertex(_Cloud):
    client_class = "AnthropicVertex"


def _credential_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of the clouds' libraries that are installed."""
    errors: list[type[Exception]] = []
    for module, name in _CLOUD_ERRORS:
        try:
            errors.append(getattr(importlib.import_module(module), name))
        except ImportError:
            continue
    return tuple(errors)
