"""Restart a command that may use secrets without them in its environment.

The initial environment of a process stays readable in `/proc/PID/environ` while it lives, even if the process deletes
variables later. So the command executes itself once more: variables that the interpreter does not need go through a
file in memory, which is read once and closed, and the new process can be neither dumped nor traced. This costs one
start of the interpreter (some 20 ms), imports next to nothing, and does nothing for commands that use no secret.
"""

import _signal  # type: ignore[import-not-found]  # `signal` makes enumerations of these: 7 ms of the start
import os
import sys
from collections.abc import Mapping, Sequence

PIPE = "SLASH_AGENT_PIPE"
"""Names the descriptor of the file in memory that the two processes share."""

_WITHOUT_SECRETS = frozenset({"restore", "clean", "report", "init", "policy", "skills", "completion"})
"""Verbs that neither use a secret nor start a workspace while they were given one."""

# What the interpreter needs before it reads the file; the time zone is read by the C library before that.
_INHERITED = ("HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "TZ")
_PR_SET_DUMPABLE = 4


def may_use_secrets(verb: str) -> bool:
    return not verb.startswith("-") and verb not in _WITHOUT_SECRETS


def restart_without_secrets(arguments: Sequence[str]) -> None:
    """Remove the secrets of `os.environ` from the process's initial environment. Does not return if that takes a new
    process; there, `os.environ` is restored."""
    environment = os.environ
    if PIPE in environment:
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, {_signal.SIGINT})
        import ctypes
        import resource

        # No core file, no tracing, and `/proc/PID` of this process closed to all but root.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
            raise SystemExit(
                "slash-agent: this kernel cannot protect the memory of a process (PR_SET_DUMPABLE)."
            )
        with open(int(environment.pop(PIPE)), "rb") as file:
            pairs = (os.fsdecode(one).partition("=") for one in file.read().split(b"\0") if one)
            environment.update({name: value for name, _, value in pairs})
    elif (cleaned := environment_without_secrets(arguments, environment)) is not None:
        command = [sys.executable, *sys.orig_argv[1:]]
        # Until `exit_on_ctrl_c` is called there: the interpreter would answer with a traceback of its own start.
        _signal.pthread_sigmask(_signal.SIG_BLOCK, {_signal.SIGINT})
        os.execve(sys.executable, command, cleaned)  # noqa: S606 - ourselves


def open_closed_streams() -> None:
    """Open the null device for standard streams that were closed, as by `>&-`: else the next file that is opened
    becomes that stream."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)
            if nothing != number:
                os.dup2(nothing, number)
                os.close(nothing)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115 - kept open


def exit_on_ctrl_c() -> None:
    """Make Ctrl-C end the process without a traceback of its imports."""

    def end(_number: int, _frame: object) -> None:
        try:
            os.write(2, b"slash-agent: cancelled\n")
        finally:
            os._exit(130)

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, end)


def environment_without_secrets(
    arguments: Sequence[str], environment: Mapping[str, str]
) -> dict[str, str] | None:
    """Return the environment for the new process, with the file's descriptor; `None` if this process can continue."""
    if sys.platform != "linux" or not arguments or not may_use_secrets(arguments[0]):
        return None
    inherited: dict[str, str] = {}
    others: list[str] = []
    for name, value in environment.items():
        # Few variables of the interpreter have an underscore, and none of these is needed: `PYTHON_TOKEN` is a secret.
        of_python = name.startswith("PYTHON") and "_" not in name
        if name in _INHERITED or name.startswith("LC_") or of_python:
            inherited[name] = value
        else:
            others.append(f"{name}={value}")
    # A file in memory: nothing of it is on a disk, nor left if the process is ended in between.
    descriptor = os.memfd_create("slash-agent", 0)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(os.fsencode("\0".join(others)))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return {**inherited, PIPE: str(descriptor)}
