"""Restart a command that has secrets in its environment without them.

The initial environment of a process stays readable in `/proc/PID/environ` while it lives, even if the process deletes
variables later. So the command executes itself once more: variables that no program needs to start go through a file in
memory, which is read once and closed, and the new process can be neither dumped nor traced. This costs one start of the
interpreter (some 20 ms), imports next to nothing, and does nothing for commands and environments without secrets.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` makes enumerations of these: 7 ms of the start
import os
import sys
from collections.abc import Mapping, Sequence

PIPE = "SLASH_AGENT_PIPE"
"""Names the descriptor of the file in memory that the two processes share."""

_WITHOUT_SECRETS = frozenset({"restore", "clean", "report", "init", "policy", "skills", "completion"})
"""Verbs that neither use a secret nor start a workspace while they were given one."""

# What the interpreter, its libraries and the programs that we start need to find their way. No value of these that
# holds a password stays.
_INHERITED = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "COLUMNS", "LINES", "NO_COLOR", "LANG", "LANGUAGE",
    "TZ", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "http_proxy", "https_proxy", "all_proxy",
    "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
})  # fmt: skip
_INHERITED_PREFIXES = ("LC_", "PYTHON", "XDG_")
# Wider than `bot.session.context.secrets`, and without a regular expression: too much costs 20 ms, too little a secret.
_SIGNS = ("TOKEN", "KEY", "SECRET", "CRED", "PASS", "AUTH", "PWD", "PAT")
_PR_SET_DUMPABLE = 4


def may_use_secrets(verb: str) -> bool:
    return not verb.startswith("-") and verb not in _WITHOUT_SECRETS


def restart_without_secrets(arguments: Sequence[str]) -> None:
    """Remove the secrets of `os.environ` from the process's initial environment. Does not return if that takes a new
    process; there, `os.environ` is restored."""
    environment = os.environ
    if PIPE in environment:
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, {_signal.SIGINT})
        _forbid_dumps()
        environment.update(_received(int(environment.pop(PIPE))))
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
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _exit_cancelled)


def _exit_cancelled(_number: int, _frame: object) -> None:
    try:
        os.write(2, b"slash-agent: cancelled\n")
    finally:
        os._exit(130)


def environment_without_secrets(
    arguments: Sequence[str], environment: Mapping[str, str]
) -> dict[str, str] | None:
    """Return the environment for the new process, with the file's descriptor; `None` if this process can continue."""
    may_hold = sys.platform == "linux" and arguments and may_use_secrets(arguments[0])
    if not may_hold or not any(map(_is_secret, environment.items())):
        return None
    inherited = {name: value for name, value in environment.items() if _is_inherited(name, value)}
    secrets = {name: value for name, value in environment.items() if name not in inherited}
    return {**inherited, PIPE: str(_send_secrets(secrets))}


def _is_inherited(name: str, value: str) -> bool:
    return (name in _INHERITED or name.startswith(_INHERITED_PREFIXES)) and not _has_password(value)


def _is_secret(variable: tuple[str, str]) -> bool:
    name, value = variable
    return not _is_inherited(name, value) and (
        _has_password(value) or any(sign in name.upper() for sign in _SIGNS)
    )


def _has_password(value: str) -> bool:
    """Whether it looks like `https://user:password@host`."""
    _, _, rest = value.partition("://")
    return "@" in rest and ":" in rest.partition("@")[0]


def _send_secrets(variables: Mapping[str, str]) -> int:
    """The descriptor of a file in memory with `variables`, for whoever is executed next. Nothing is on a disk, and when
    the process is ended in between, nothing of it is left."""
    data = b"\0".join(os.fsencode(f"{name}={value}") for name, value in variables.items())
    descriptor = os.memfd_create("slash-agent", 0)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _received(descriptor: int) -> dict[str, str]:
    with open(descriptor, "rb") as file:
        data = file.read()
    pairs = (os.fsdecode(variable).partition("=") for variable in data.split(b"\0") if variable)
    return {name: value for name, _, value in pairs}


def _forbid_dumps() -> None:
    """No core file, no tracing, and `/proc/PID` of this process closed to all but root."""
    import ctypes
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise SystemExit("slash-agent: this kernel cannot protect the memory of a process (PR_SET_DUMPABLE).")
