"""Exit codes, and the root of every package's error hierarchy."""

import errno
import os
from enum import IntEnum

_REMEDIES = {
    os.strerror(errno.ENOSPC): "free some disk space",
    "Out of diskspace": "free some disk space",
    "No usable temporary directory": "free some disk space, or set TMPDIR to a folder that can be written",
    os.strerror(errno.EDQUOT): "free some of your disk quota",
    os.strerror(errno.EFBIG): "allow larger files (`ulimit -f`)",
    "killed by SIGXFSZ": "allow larger files (`ulimit -f`)",
    os.strerror(errno.EMFILE): "allow more open files (`ulimit -n`)",
    os.strerror(errno.ENFILE): "end other programs that hold files open",
    os.strerror(errno.ENOMEM): "free some memory, or allow more (`ulimit -v`)",
    "failed to map segment from shared object": "free some memory, or allow more (`ulimit -v`)",
}


READ_ONLY = os.strerror(errno.EROFS)


def shortage_remedy(text: str) -> str:
    """Return what to do if `text`, an error message of the system or of git, reports a lack of disk space,
    memory or files; otherwise ""."""
    return next((remedy for words, remedy in _REMEDIES.items() if words in text), "")


class ExitCode(IntEnum):
    """Exit codes of the program. Documented in `docs/cli.md`; scripts depend on them."""

    DONE = 0
    INTERNAL = 1
    USAGE = 2
    REFUSED = 3
    BUDGET = 4
    PROVIDER = 5
    PUBLISHING = 6
    GATE = 7
    FINDINGS = 8
    UNAVAILABLE = 75
    NO_SANDBOX = 78
    CANCELLED = 130


class AgentError(Exception):
    """An error that a person can act on. The message is one or two sentences: what happened, to what, what
    next.

    Packages subclass it and set `exit_code`; the command line prints the message and exits with the code,
    without a traceback. Whatever failed, a message about a lack of resources exits with `UNAVAILABLE`. Any other
    exception is a bug of ours and exits with 1.
    """

    exit_code: ExitCode = ExitCode.UNAVAILABLE

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        if shortage_remedy(sentence):
            self.exit_code = ExitCode.UNAVAILABLE


class UsageError(AgentError):
    """Bad input: an option, an event, a policy file, an unusable repository."""

    exit_code = ExitCode.USAGE


class PublishError(AgentError):
    """GitHub did not accept the result; the bundle is kept."""

    exit_code = ExitCode.PUBLISHING


class GateError(AgentError):
    """The gate refused the diff; the bundle is kept."""

    exit_code = ExitCode.GATE


class NoSandboxError(AgentError):
    """No sandbox works here, and running without one is not allowed."""

    exit_code = ExitCode.NO_SANDBOX
