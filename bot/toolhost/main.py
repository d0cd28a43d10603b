"""The entry point of the tool host: confine, read the start message, try the canaries, send `ready`, serve.

Only what that needs is imported before `ready`; the tools are imported afterwards, while the model reads.
"""

import ctypes
import os
import resource
import signal

from bot.contracts import wire
from bot.toolhost import canaries
from bot.toolhost.process_monitor import ProcessMonitor
from bot.toolhost.resource_limits import effective_limits
from bot.toolhost.system_calls import become_subreaper, checked, libc

_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15

# Signals that cannot be caught, that stop the process or do nothing by default, that Python uses, and that report a
# bug of our own.
_LEFT_ALONE = "KILL STOP TSTP TTIN TTOU CONT CHLD URG WINCH PIPE XFSZ SEGV BUS FPE ILL ABRT TRAP SYS"


def main() -> None:
    """Serve `bot/workspace/protocol.md` over standard input and output until the supervisor ends the pipe."""
    harden()
    incoming, outgoing = take_pipes()
    start_message = wire.receive(incoming)
    if start_message is None:
        return
    leaks = canaries.reached(start_message["canaries"]) if start_message["canaries"] else []
    wire.send(outgoing, {"type": "ready", "pid": os.getpid(), "leaks": leaks})
    if start_message["type"] == "probe":
        wire.receive(incoming)  # until the supervisor ends us
        return

    from bot.toolhost.serve import Server  # with all that tools need: the supervisor does not wait for that

    limits = effective_limits(start_message["limits"])
    monitor = ProcessMonitor(limits, confined=bool(start_message["canaries"]))
    monitor.start()
    Server(start_message, incoming, outgoing, monitor).run()


def harden() -> None:
    """Make this process untraceable: commands of the same user cannot read its memory, environment or descriptors, and
    it writes no core file. Make it a subreaper, which adopts orphans. Called before the first message is read."""
    checked(libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl(PR_SET_DUMPABLE)")
    # A name of its own, so that the model's `pkill python` does not hit the host.
    checked(libc.prctl(_PR_SET_NAME, ctypes.c_char_p(b"slash-toolhost"), 0, 0, 0), "prctl(PR_SET_NAME)")
    become_subreaper()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.getpid() != 1:
        return
    # Signals that a command sends to the first process of its namespace: the kernel drops those without a handler, with
    # one exception. While a thread blocks signals, as when it starts a program, it delivers a signal to another thread,
    # which ends the process. So each has a handler that does nothing; started programs have the default ones.
    for number in signal.valid_signals() - {signal.Signals[f"SIG{name}"] for name in _LEFT_ALONE.split()}:
        signal.signal(number, lambda number, frame: None)


def take_pipes() -> tuple[int, int]:
    """Move the pipe from descriptors 0 and 1 to ones that no child inherits; return those.

    What a tool prints by mistake then goes to standard error, never between two frames.
    """
    incoming, outgoing = os.dup(0), os.dup(1)  # close-on-exec, as all of Python's
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return incoming, outgoing
