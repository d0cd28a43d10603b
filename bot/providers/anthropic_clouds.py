"""Claude at Amazon Bedrock and Google Vertex AI: the Messages API behind those clouds' endpoints and
signatures.

Uses the clients of the `anthropic` package, which know the clouds' addresses and signatures; the extras bring what they
sign with.
"""

import importlib.util
from collections.abc import Mapping
from functools import partial
from typing import Any

import httpx2
from anthropic import AnthropicBedrock, AnthropicVertex

from bot.contracts.errors import UsageError
from bot.contracts.model import ModelInfo
from bot.providers.anthropic_messages import AnthropicMessages
from bot.providers.endpoint import endpoint_of
from bot.providers.vendors import Vendor

# What the package may send beside the signature: it adds telemetry and whatever its own environment variables name.
_HEADERS = (
    "host connection accept accept-encoding content-type content-length user-agent authorization "
    "anthropic-version"
)


def connect_cloud(vendor: Vendor, info: ModelInfo, environment: Mapping[str, str]) -> AnthropicMessages:
    """Return Claude at the cloud of `vendor`. Raises `UsageError` if the extra, the region or the credentials are
    missing."""
    # Opus 4.5 takes an effort at Anthropic alone.
    efforts = info.efforts if info.thinking == "adaptive" else ()
    info = info._replace(streams_tools=False, efforts=efforts, hour_cache=False)
    return (_bedrock if vendor.format == "bedrock" else _vertex)(vendor, info, environment)


def _bedrock(vendor: Vendor, info: ModelInfo, environment: Mapping[str, str]) -> AnthropicMessages:
    _require_package("bedrock", "boto3")
    region = environment.get("AWS_REGION", "").strip() or environment.get("AWS_DEFAULT_REGION", "").strip()
    if not region:
        raise UsageError(f"bedrock/{info.name} needs a region: set AWS_REGION.")
    url = f"https://bedrock-runtime.{region}.amazonaws.com"
    endpoint = endpoint_of(vendor._replace(default_url=url), environment)
    names = {
        "aws_access_key": "AWS_ACCESS_KEY_ID",
        "aws_secret_key": "AWS_SECRET_ACCESS_KEY",
        "aws_session_token": "AWS_SESSION_TOKEN",
        "aws_profile": "AWS_PROFILE",
    }
    client_options: dict[str, Any] = {
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
    client = partial(_BedrockClient, aws_region=region, **{"api_key": None, **client_options})
    return AnthropicMessages(endpoint, info, client)


def _vertex(vendor: Vendor, info: ModelInfo, environment: Mapping[str, str]) -> AnthropicMessages:
    """Without a token in the environment Google's library finds the machine's credentials."""
    region = environment.get("CLOUD_ML_REGION", "").strip()
    project = environment.get("ANTHROPIC_VERTEX_PROJECT_ID", "").strip()
    if not region or not project:
        raise UsageError(
            f"vertex/{info.name} needs a region and a project: set CLOUD_ML_REGION and ANTHROPIC_VERTEX_PROJECT_ID."
        )
    host = "aiplatform" if region == "global" else f"{region}-aiplatform"
    url = f"https://{host}.googleapis.com/v1"
    endpoint = endpoint_of(vendor._replace(default_url=url), environment)
    if not endpoint.key:
        _require_package("vertex", "google.auth")
    token = endpoint.key or None
    client = partial(_VertexClient, region=region, project_id=project, access_token=token)
    return AnthropicMessages(endpoint, info, client)


def _require_package(extra: str, package: str) -> None:
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        spec = None
    if spec is None:
        raise UsageError(
            f"{extra}/ models need the package {package}, which the extra `{extra}` installs: "
            f"pip install 'slash-agent[{extra}]', in the action `extras: {extra}`."
        )


class _SignedRequests:
    """For the clouds' clients: no header but those of the content is there to be signed."""

    def _prepare_request(self, request: httpx2.Request) -> None:
        for name in [name for name in request.headers if name not in _HEADERS.split()]:
            del request.headers[name]
        super()._prepare_request(request)  # type: ignore[misc]  # of the package's client


class _BedrockClient(_SignedRequests, AnthropicBedrock):
    """The package's client."""


class _VertexClient(_SignedRequests, AnthropicVertex):
    """The package's client."""
