"""GitHub's API by the standard library alone, for the step before anything is installed."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any

TIMEOUT = 10
"""Seconds for one answer."""


class ApiError(Exception):
    """A request failed."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: urllib would send the token to any host."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Api:
    """A client for one API address and token."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._opener = urllib.request.build_opener(_NoRedirects)

    def get(self, path: str) -> tuple[int, Any]:
        """Status and JSON, also for 404. Raises `ApiError` for any other failure."""
        return self._send("GET", path, None)

    def post(self, path: str, data: Mapping[str, object]) -> Any:
        return self._send("POST", path, json.dumps(data).encode())[1]

    def patch(self, path: str, data: Mapping[str, object]) -> Any:
        return self._send("PATCH", path, json.dumps(data).encode())[1]

    def _send(self, method: str, path: str, data: bytes | None) -> tuple[int, Any]:
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "User-Agent": "slash-agent",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        request = urllib.request.Request(self._url + path, data=data, headers=headers, method=method)  # noqa: S310  # the API
        try:
            with self._opener.open(request, timeout=TIMEOUT) as answer:
                body = answer.read()
                return answer.status, json.loads(body) if body else None
        except urllib.error.HTTPError as error:
            if error.code == 404 and method == "GET":
                return 404, None
            raise ApiError(f"GitHub answered {error.code} to {method} {path.partition('?')[0]}") from error
        except (OSError, ValueError, HTTPException) as error:
            raise ApiError(f"GitHub did not answer {method} {path.partition('?')[0]}: {error}") from error
