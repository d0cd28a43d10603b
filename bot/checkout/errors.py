"""Why a repository cannot be worked on: one sentence each."""

from __future__ import annotations

from bot.contracts.errors import ExitCode, UsageError


class CheckoutError(UsageError):
    """The repository could not be brought here."""


class UnavailableError(CheckoutError):
    """The server did not answer, or not now: the same request may succeed later."""

    exit_code = ExitCode.UNAVAILABLE


class MissingRepositoryError(CheckoutError):
    """There is no repository at that address, or none that this token may see."""


class MissingRevisionError(CheckoutError):
    """The repository has no such branch or commit."""


class MovedHeadError(CheckoutError):
    """The head that a pull request had at the trigger is gone from the server."""


class NoCommitsError(CheckoutError):
    """The repository is empty."""


class AuthenticationFailedError(CheckoutError):
    """The server did not take the token."""


class HostileRepositoryError(CheckoutError):
    """The base commit holds a path that no work tree may have."""
