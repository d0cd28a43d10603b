"""Translate the errors of the packages and of streams into a `FailedAttempt` for people, and detect context overflow.

Every vendor words an overflow differently, most without a code. A rate limit in tokens (429) reads similarly
but is none: too much a minute is not too much for the model.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bot.providers.encoding import clean, filter_words, mapping
from bot.providers.endpoint import Endpoint
from bot.providers.models import similar_name
from bot.providers.retry import FailedAttempt, is_retryable, requested_wait

_MAX_MESSAGE = 400
_TITLE = re.compile(r"<title>([^<]+)", re.IGNORECASE)
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
    "BadRequestError": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
}
# An account without money answers 429 too, and waiting does not help it.
_NO_FUNDS = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})


class StreamError(Exception):
    """An error that the server reported inside a stream. `body` is its error object."""

    def __init__(self, body: Any) -> None:
        super().__init__(str(body))
        self.body = body


class AnswerTooLong(Exception):
    """The answer is longer than any that a model needs. It counts as cut at the model's output limit."""


def failure_of(error: Exception, endpoint: Endpoint, model: str) -> FailedAttempt:
    """Return the failure for an exception of a vendor's package, of its HTTP client or of reading the stream."""
    if isinstance(error, FailedAttempt):
        return error
    # By attributes: the packages have classes of their own, and only one package is imported.
    status, body, response = (getattr(error, name, None) for name in ("status_code", "body", "response"))
    if isinstance(status, int) and status >= 300 and response is not None:
        return _reported_failure(status, body, response.headers, endpoint, model)
    if body is not None:
        return _reported_failure(None, body, {}, endpoint, model)
    return _connection_failure(error, endpoint)


def reported_error(data: Any) -> Any:
    """Return the error that a stream's event reports instead of a part of the answer; `None` if it reports none."""
    if not isinstance(data, dict):
        return None
    if error := data.get("error"):
        return error
    is_error = data.get("object") == "error" or data.get("type") == "error" or "detail" in data
    return data if is_error or ("message" in data and "choices" not in data) else None


def _reported_failure(
    status: int | None, body: Any, headers: Mapping[str, str], endpoint: Endpoint, model: str
) -> FailedAttempt:
    """Return the failure that a server reported, with an HTTP status or, without one, inside a stream."""
    kind, message = _error_object(body)
    if status is None:
        code = body.get("code") if isinstance(body, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else _STATUS_OF_KIND.get(kind)
    elif status < 400:
        message = f"it redirects to {headers.get('location', 'nowhere')}; set {endpoint.vendor.url_variable} to that"
    overflow, no_funds = is_overflow(status, kind, message), kind in _NO_FUNDS or status == 402
    retryable = not overflow and not no_funds and headers.get("x-should-retry") != "false"
    retryable = retryable and (status is None or is_retryable(status))
    return FailedAttempt(
        _sentence(status, kind, message, endpoint, model),
        status,
        retryable,
        requested_wait(headers, datetime.now(UTC)) if retryable else None,
        overflow,
        no_funds=no_funds,
    )


def _connection_failure(error: Exception, endpoint: Endpoint) -> FailedAttempt:
    cause = error
    while cause.__cause__ is not None and isinstance(cause.__cause__, Exception):
        cause = cause.__cause__
    message = _clean(str(cause), endpoint) or type(cause).__name__
    name = type(error.__cause__ or error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in message:
        return FailedAttempt(
            f"{endpoint} is not trusted: {message}; SSL_CERT_FILE may name the authority that signed it"
        )
    if "Timeout" in name:
        return FailedAttempt(
            f"{endpoint} did not answer in time ({name})", retryable=True, unanswered=name == "ReadTimeout"
        )
    if isinstance(error, ValueError | RecursionError):
        return FailedAttempt(f"{endpoint} sent an event that is not JSON: {message}", retryable=True)
    return FailedAttempt(f"the connection to {endpoint} failed: {message}", retryable=True)


def _sentence(status: int | None, kind: str, message: str, endpoint: Endpoint, model: str) -> str:
    key, near = endpoint.vendor.key_variable, similar_name(model)
    advice = f"did you mean {near!r}?" if near else f"check --model and {endpoint.vendor.url_variable}"
    no_funds = f"the account of the key in {key} has no funds left at {endpoint} ({status})"
    sentences: dict[int | None, str] = {
        None: f"{endpoint} reported an error",
        401: f"{endpoint} refused the key in {key} (401)"
        if endpoint.key
        else f"{endpoint} wants a key (401), and {key} is not set",
        402: no_funds,
        # The region, the model, the account or a proxy: only the server's words tell.
        403: f"{endpoint} does not allow {model!r} with the key in {key} (403)",
        404: f"model {model!r} was not found at {endpoint} (404); {advice}",
        413: f"the conversation is too large for {endpoint} (413)",
        429: f"{endpoint} limits the rate (429)",
        529: f"{endpoint} is overloaded (529)",
    }
    sentence = no_funds if status and kind in _NO_FUNDS else sentences.get(status)
    detail = _clean(message or kind, endpoint)
    return f"{sentence or f'{endpoint} answered {status}'}{f': {detail}' if detail else ''}"


def _error_object(body: Any) -> tuple[str, str]:
    """Return the kind and the message of a vendor's error body, which may be plain text, HTML or empty."""
    if isinstance(body, list) and body:
        body = body[0]  # Google's
    if isinstance(body, dict):
        inner = body.get("error")
        error = inner if isinstance(inner, dict) else body
        code = error.get("code")
        kind = code if isinstance(code, str) and code else error.get("type")
        message = error.get("message") or error.get("detail") or (inner if isinstance(inner, str) else "")
        message = message if isinstance(message, str) else ""
        if words := filter_words(mapping(error.get("innererror")).get("content_filter_result")):
            message = f"{message} ({words})"
        return kind if isinstance(kind, str) else "", message
    text = body if isinstance(body, str) else ""
    title = _TITLE.search(text)
    return "", f"a page in place of an answer, {title[1].strip()!r}" if title else text


def _clean(text: str, endpoint: Endpoint) -> str:
    """Return one line without the key, which some servers repeat."""
    if endpoint.key:
        text = text.replace(endpoint.key, "***")
    line = clean(" ".join(text.split()))
    return line if len(line) <= _MAX_MESSAGE else line[:_MAX_MESSAGE] + "…"


_OVERFLOW = re.compile(
    "|".join(
        (
            r"context_(length|window)_exceeded",  # OpenAI, Azure, DeepSeek; Anthropic
            r"exceed_context_size_error",  # llama.cpp
            r"request_too_large",  # Anthropic: 32 MB
            r"tokens_limit_reached",  # Azure AI
            r"string_above_max_length",  # OpenAI: one message too long
            r"prompt (is |was )?too long",  # Anthropic, Ollama
            r"input length and `?max_tokens`? exceed",  # Anthropic
            r"input is too long for (the )?requested model",  # Bedrock
            r"exceeds? the (model's )?(maximum )?context (window|length|size)",  # OpenAI Responses, LiteLLM
            r"maximum context length",  # OpenAI Chat, OpenRouter, vLLM, DeepSeek, Mistral
            r"longer than the (maximum model|model's context) length",  # vLLM; SGLang, Together
            r"input token count.{0,40}exceeds the maximum",  # Gemini
            r"maximum prompt length is",  # xAI
            r"reduce the length of (the|your) (messages|prompt|input)",  # Groq, OpenAI
            r"request body too large for .{1,80} model",  # Azure AI
            r"prompt token count .{0,20}exceeds the limit",  # GitHub Copilot's doors
            r"exceeds the available context size",  # llama.cpp
            r"greater than the context length",  # LM Studio
            r"exceed(ed|s)? (the )?(max )?context (length|window)",  # Ollama, MiniMax
            r"context window exceeds limit",  # MiniMax
            r"exceeded model token limit",  # Kimi
            r"inputs?\W* tokens? \+ .{0,20}max_new_tokens. must be",  # Hugging Face, Together
            r"too large for model with \d+ maximum context",  # Mistral
            r"too many (input )?tokens for (this|the) model",
        )
    ),
    re.IGNORECASE,
)
# Never the conversation's length, whatever the words say.
_NOT_OVERFLOW = frozenset({401, 402, 403, 404, 429})


def is_overflow(status: int | None, kind: str, message: str) -> bool:
    """Whether a refusal means that the conversation is longer than the model can read. `status` is the HTTP
    status, `kind` the vendor's code or type; each may be missing."""
    if status in _NOT_OVERFLOW or (status is not None and status < 400):
        return False
    return status == 413 or _OVERFLOW.search(f"{kind} {message[:4000]}") is not None
