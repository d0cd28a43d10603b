"""Errors of checkouts. Each message is one sentence."""

from __future__ import annotations

from bot.contracts.errors import ExitCode, UsageError


class CheckoutError(UsageError):
    """The repository could not be checked out."""


class RemoteGitError(CheckoutError):
    """A git command that talks to a server failed."""

    def __init__(self, stdout: str, stderr: str) -> None:
        super().__init__("a git command that talks to a server failed")
        self.stdout = stdout
        self.stderr = stderr


class UnavailableError(CheckoutError):
    """The server did not answer. The same request may succeed later."""

    exit_code = ExitCode.UNAVAILABLE


class MissingRepositoryError(CheckoutError):
    """There is no repository at that address, or the token has no access."""


class MissingRevisionError(CheckoutError):
    """The repository has no such branch or commit."""


class MovedHeadError(CheckoutError):
    """The pull request's head at the time of the trigger is no longer on the server."""


class NoCommitsError(CheckoutError):
    """The repository is empty."""


class AuthenticationFailedError(CheckoutError):
    """The server refused the token."""


class HostileRepositoryError(CheckoutError):
    """The commit contains a path that is not safe to check out, or is over a size limit."""
