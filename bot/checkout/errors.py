"""Errors of checkouts. Each message is one sentence."""

from bot.contracts.errors import ExitCode, UsageError


class CheckoutError(UsageError):
    """The repository could not be checked out: it is missing, empty, damaged or hostile, or the token has no access."""


class RemoteGitError(CheckoutError):
    """A git command that talks to a server failed."""

    def __init__(self, stdout: str, stderr: str) -> None:
        super().__init__("a git command that talks to a server failed")
        self.stdout = stdout
        self.stderr = stderr


class UnavailableError(CheckoutError):
    """The server did not answer. The same request may succeed later."""

    exit_code = ExitCode.UNAVAILABLE


class MissingRevisionError(CheckoutError):
    """The repository has no such branch or commit."""
