"""Failures of GitHub's API, and one sentence for each."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from bot.contracts.errors import AgentError, ExitCode

HIDDEN = (403, 404)
"""The statuses for what the token may not see or do."""
OPENING_FORBIDDEN = "not permitted to create or approve pull requests"
ACTIONS_SETTING = "Allow GitHub Actions to create and approve pull requests"

_MESSAGE_LIMIT = 300
_LIMITED = ("rate limit", "abuse detection", "retry your request again later")
_CODES = {
    "missing": "does not exist",
    "missing_field": "is missing",
    "invalid": "is invalid",
    "already_exists": "exists already",
    "unprocessable": "cannot be used",
}


class Failure(NamedTuple):
    """One response that is not a success. `status` is 0 without a response.

    `retry_after` is in seconds from now, `reset_at` in seconds since the epoch; `None` if GitHub does not say.
    `permissions` are those that the request needs, as GitHub names them, and `location` is where a redirect leads. What
    a 403 means is on GitHub's pages "Rate limits for the REST API" and "Troubleshooting the REST API".
    """

    status: int
    message: str
    reasons: tuple[str, ...] = ()
    retry_after: float | None = None
    reset_at: float | None = None
    out_of_quota: bool = False
    permissions: str = ""
    location: str = ""

    @property
    def archived(self) -> bool:
        message = self.message.lower()
        return self.status == 403 and "archived" in message and "read-only" in message

    @property
    def suspended(self) -> bool:
        return self.status == 403 and "suspended" in self.message.lower()

    @property
    def moved(self) -> bool:
        return self.status in (301, 302, 307, 308)

    @property
    def rate_limited(self) -> bool:
        """Refused by a primary or secondary rate limit or by abuse detection; the request was not executed."""
        if self.status == 429:
            return True
        message = self.message.lower()
        is_stated = any(words in message for words in _LIMITED)
        return self.status == 403 and (is_stated or self.out_of_quota or self.retry_after is not None)

    @property
    def transient(self) -> bool:
        """No response, or a server error: the request may have been executed."""
        return self.status == 0 or self.status >= 500


class GitHubError(AgentError):
    """A request to GitHub failed."""

    exit_code = ExitCode.USAGE

    def __init__(self, sentence: str, failure: Failure) -> None:
        super().__init__(sentence)
        self.failure = failure
        if failure.transient or failure.rate_limited:
            self.exit_code = ExitCode.UNAVAILABLE

    @property
    def status(self) -> int:
        return self.failure.status

    def says(self, words: str) -> bool:
        """Whether GitHub's message or one of its reasons contains `words`, case ignored."""
        return any(words.lower() in text.lower() for text in (self.failure.message, *self.failure.reasons))


class RepositoryMovedError(AgentError):
    """The repository was renamed or transferred, and the operation needs its current name."""

    exit_code = ExitCode.USAGE

    def __init__(self, action: str) -> None:
        super().__init__(
            f"The repository was renamed or transferred, which stops {action}: do it again under its new name."
        )


def failure_from(status: int, data: object, headers: Mapping[str, str] | None) -> Failure:
    """The failure in a response. `data` may have any shape."""
    body: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
    lowered = {key.lower(): value for key, value in (headers or {}).items()}
    listed = body.get("errors")
    reasons = listed if isinstance(listed, list) else [listed] if isinstance(listed, str) else []
    return Failure(
        status=status,
        message=_clean(body.get("message") or (data if isinstance(data, str) else "")),
        reasons=tuple(dict.fromkeys(_reason(one) for one in reasons[:5])),
        retry_after=_number(lowered.get("retry-after")),
        reset_at=_number(lowered.get("x-ratelimit-reset")),
        out_of_quota=lowered.get("x-ratelimit-remaining") == "0",
        permissions=_clean(lowered.get("x-accepted-github-permissions", "")),
        location=lowered.get("location", ""),
    )


def sentence(failure: Failure, action: str) -> str:
    """`action` is a verb phrase, such as "comment on octo/hello#7"."""
    message = failure.message or "no message"
    if failure.reasons:
        message = f"{message}: {'; '.join(failure.reasons)}"
    status = failure.status
    attempt = f"an attempt to {action} ({status}: {message})"
    if failure.rate_limited:
        limit = "primary rate limit (requests an hour)" if failure.out_of_quota else "secondary rate limit"
        return f"GitHub's {limit} stopped {attempt}; try again {_when(failure)}."
    if failure.suspended:
        return f"The account of this token, or its app's installation, is suspended, which stopped {attempt}."
    if failure.archived:
        return f"The repository is archived, which stopped {attempt}: unarchive it, then do this again."
    needed = f": it needs {failure.permissions.replace('=', ': ')}" if failure.permissions else ""
    sentences = {
        0: f"GitHub did not answer an attempt to {action} ({message}).",
        401: f"GitHub did not accept the token in {attempt}: it is wrong or has expired.",
        403: f"GitHub does not allow this token to {action} (403: {message}){needed}.",
        404: f"GitHub found nothing in {attempt}: it does not exist, or the token may not see it.",
        409: f"GitHub could not carry out {attempt} in the present state.",
        410: f"GitHub answered {attempt}: it no longer exists.",
        422: f"GitHub refused {attempt}.",
    }
    if failure.moved:
        return f"GitHub answered {attempt}: it has moved, so use its new name."
    return sentences.get(status, f"GitHub answered {attempt}.")


def _when(failure: Failure) -> str:
    if failure.retry_after is not None:
        return f"in {failure.retry_after:.0f} seconds"
    if failure.out_of_quota and failure.reset_at is not None:
        with suppress(OverflowError, ValueError, OSError):
            return f"after {datetime.fromtimestamp(failure.reset_at, UTC):%Y-%m-%d %H:%M} UTC"
    return "later"


def _reason(error: object) -> str:
    """Return one entry of `errors` as text: it is a sentence, or an object with a `code`."""
    if not isinstance(error, Mapping):
        return _clean(error)
    if error.get("message"):
        return _clean(error["message"])
    code = str(error.get("code") or "")
    about = " ".join(str(error[key]) for key in ("resource", "field") if error.get(key))
    return _clean(f"{about} {_CODES.get(code, code)}")


def _clean(text: object) -> str:
    line = " ".join(str(text).split())
    return "".join(c for c in line if c.isprintable())[:_MESSAGE_LIMIT].rstrip(".")


def _number(text: object) -> float | None:
    try:
        return max(float(str(text)), 0.0) if text is not None else None
    except ValueError:
        return None
