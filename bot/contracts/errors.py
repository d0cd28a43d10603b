"""The exit codes and the root of every room's error hierarchy."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a process of ours answers its caller. Documented in `docs/cli.md`; scripts depend on it."""

    DONE = 0
    INTERNAL = 1
    USAGE = 2
    REFUSED = 3
    BUDGET = 4
    PROVIDER = 5
    PUBLISHING = 6
    GATE = 7
    UNAVAILABLE = 75
    NO_SANDBOX = 78
    CANCELLED = 130


class AgentError(Exception):
    """Something a person can act on. The message is one or two sentences: what happened, to what, what next.

    Rooms subclass it and set `exit_code`; the command line prints the message and exits with the code,
    without a traceback. Anything that is not an `AgentError` is a bug of ours and exits with 1.
    """

    exit_code: ExitCode = ExitCode.INTERNAL


class UsageError(AgentError):
    """Bad input: an option, an event, a policy file, a repository that cannot be worked on."""

    exit_code = ExitCode.USAGE


class PublishError(AgentError):
    """GitHub would not take the result; the bundle is kept."""

    exit_code = ExitCode.PUBLISHING


class GateError(AgentError):
    """The diff may not leave; the bundle is kept."""

    exit_code = ExitCode.GATE


class NoSandboxError(AgentError):
    """No sandbox works here and nobody allowed going without."""

    exit_code = ExitCode.NO_SANDBOX
