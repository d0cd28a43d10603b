"""What went wrong with one attempt, in words for people: the one place that translates a vendor's errors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bot.providers.encoding import clean
from bot.providers.endpoint import Endpoint
from bot.providers.models import similar_name
from bot.providers.overflow import is_overflow
from bot.providers.retry import Failure, asked_wait, is_retryable

LONGEST_EVENT = 16 * 2**20
"""Bytes of one event of a stream."""

_LONGEST = 400
# Errors inside a stream that began with 200 have a word in place of a status.
_STATUS_OF_KIND = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "internal_server_error": 500,
    "timeout_error": 504,
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
}
# An account without money answers 429 too, and waiting does not help it.
_SPENT = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})


class StreamError(Exception):
    """An error the server reported inside a stream. `body` is its error object."""

    def __init__(self, body: Any) -> None:
        super().__init__(str(body))
        self.body = body


class StreamCut(Exception):
    """The stream ended before the response did."""


class StreamTooLong(Exception):
    """The whole request has taken too long, although something still comes. `seconds` is the limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"over {seconds:.0f} s")
        self.seconds = seconds


def failure_of(error: Exception, endpoint: Endpoint, model: str) -> Failure:
    """The failure behind an exception of a vendor's package, of its HTTP client, or of reading the stream."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        response = getattr(error, "response", None)
        return _http_failure(status, getattr(error, "body", None), response, endpoint, model)
    if isinstance(error, StreamError):
        return _stream_failure(error.body, endpoint, model)
    if isinstance(error, StreamCut):
        return Failure("the stream ended before the answer was whole", retryable=True)
    if isinstance(error, StreamTooLong):
        return Failure(
            f"{endpoint} was still answering after {error.seconds:.0f} s, the limit of one request"
        )
    return _connection_failure(error, endpoint)


def _http_failure(status: int, body: Any, response: Any, endpoint: Endpoint, model: str) -> Failure:
    headers: Mapping[str, str] = response.headers if response is not None else {}
    kind, said = _error_object(body)
    retryable = is_retryable(status) and kind not in _SPENT and headers.get("x-should-retry") != "false"
    wait = asked_wait(headers, datetime.now(UTC), is_rate_limit=status == 429) if retryable else None
    if 300 <= status < 400:
        said = f"it redirects to {headers.get('location', 'nowhere')}; set {endpoint.url_variable} to that"
    overflow = is_overflow(status, kind, said)
    sentence = _sentence(status, said, endpoint, model)
    return Failure(sentence, status, retryable and not overflow, wait, overflow, said=said or kind)


def _stream_failure(body: Any, endpoint: Endpoint, model: str) -> Failure:
    kind, said = _error_object(body)
    code = body.get("code") if isinstance(body, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else _STATUS_OF_KIND.get(kind)
    overflow = is_overflow(status, kind, said)
    retryable = not overflow and kind not in _SPENT and (status is None or is_retryable(status))
    if status is None:
        said = f"{endpoint} reported an error: {_clean(said or kind, endpoint)}"
        return Failure(said, None, retryable, overflow=overflow)
    return Failure(_sentence(status, said, endpoint, model), status, retryable, overflow=overflow)


def _connection_failure(error: Exception, endpoint: Endpoint) -> Failure:
    cause = error
    while cause.__cause__ is not None and isinstance(cause.__cause__, Exception):
        cause = cause.__cause__
    said = _clean(str(cause), endpoint) or type(cause).__name__
    name = type(error.__cause__ or error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return Failure(
            f"{endpoint} is not trusted: {said}; SSL_CERT_FILE may name the authority that signed it"
        )
    if "Timeout" in name:
        return Failure(
            f"{endpoint} did not answer in time ({name})", retryable=True, unanswered=name == "ReadTimeout"
        )
    if name == "SSEError" and "exceeded" in said:
        limit = LONGEST_EVENT // 2**20
        return Failure(
            f"{endpoint} sent one event of over {limit} MiB, more than any answer of a model needs"
        )
    if name == "SSEError":
        message = f"{endpoint} did not answer with an event stream; is {endpoint.url_variable} right? {said}"
        return Failure(message, retryable=False)
    if isinstance(error, ValueError):
        return Failure(f"{endpoint} sent what is not valid in an event stream: {said}", retryable=True)
    return Failure(f"the connection to {endpoint} failed: {said}", retryable=True)


def _sentence(status: int, said: str, endpoint: Endpoint, model: str) -> str:
    detail = _clean(said, endpoint)
    tail = f": {detail}" if detail else ""
    if status == 401 and not endpoint.key:
        return f"{endpoint} wants a key (401), and {endpoint.key_variable} is not set{tail}"
    if status in (401, 403):
        return f"{endpoint} refused the key in {endpoint.key_variable} ({status}){tail}"
    if status == 404:
        near = similar_name(model)
        advice = f"did you mean {near!r}?" if near else f"check --model and {endpoint.url_variable}"
        return f"model {model!r} was not found at {endpoint} (404); {advice}{tail}"
    if status == 413:
        return f"the conversation is too large for {endpoint} (413){tail}"
    if status == 429:
        return f"{endpoint} limits the rate (429){tail}"
    if status == 529:
        return f"{endpoint} is overloaded (529){tail}"
    return f"{endpoint} answered {status}{tail}"


def _error_object(body: Any) -> tuple[str, str]:
    """The kind and the message of a vendor's error body; it may be a plain text, HTML or nothing."""
    if isinstance(body, list) and body:
        body = body[0]  # Google's
    if isinstance(body, dict):
        inner = body.get("error")
        error = inner if isinstance(inner, dict) else body
        code = error.get("code")
        kind = code if isinstance(code, str) and code else error.get("type")
        message = error.get("message") or (inner if isinstance(inner, str) else "")
        return kind if isinstance(kind, str) else "", message if isinstance(message, str) else ""
    return "", body if isinstance(body, str) else ""


def _clean(text: str, endpoint: Endpoint) -> str:
    """One line without the key, which some servers repeat."""
    if endpoint.key:
        text = text.replace(endpoint.key, "***")
    line = clean(" ".join(text.split()))
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"
