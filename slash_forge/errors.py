"""GitHub's error responses: status, message, and the reasons of a 422."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

BODY_LIMIT = 65_536


class ApiError(Exception):
    """Raised by an operation; only the server turns it into a response."""

    def __init__(self, status: int, message: str, errors: Sequence[Mapping[str, str] | str] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = tuple(errors)

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"message": self.message}
        if self.errors:
            body["errors"] = list(self.errors)
        body["documentation_url"] = "https://docs.github.com/rest"
        body["status"] = str(self.status)
        return body


def not_found() -> ApiError:
    """Also for an object that the caller may not see."""
    return ApiError(404, "Not Found")


def bad_credentials() -> ApiError:
    return ApiError(401, "Bad credentials")


def requires_authentication() -> ApiError:
    return ApiError(401, "Requires authentication")


def forbidden(message: str) -> ApiError:
    return ApiError(403, message)


def custom(resource: str, message: str) -> ApiError:
    """A 422 whose reason is a sentence."""
    return ApiError(422, "Validation Failed", [{"resource": resource, "code": "custom", "message": message}])


def invalid(resource: str, field: str, code: str = "invalid") -> ApiError:
    """A 422 that names the field; `code`: invalid, missing_field or already_exists."""
    return ApiError(422, "Validation Failed", [{"resource": resource, "field": field, "code": code}])


def too_long(resource: str, field: str = "body", limit: int = BODY_LIMIT) -> ApiError:
    reason = f"{field} is too long (maximum is {limit} characters)"
    error = {"resource": resource, "code": "custom", "field": field, "message": reason}
    return ApiError(422, "Validation Failed", [error])
