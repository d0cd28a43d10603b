"""Interrupt a run by a signal, and say where an interrupted run left its work.

SIGINT, SIGTERM and SIGHUP cancel a run, so that its work still passes the gate and is bundled and reported. A second
Ctrl-C ends the process, and everything it started, at once.
"""

import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from bot.contracts.cancel import CancelToken
from bot.contracts.capacity import CapacityError, retry_at_capacity
from bot.contracts.errors import AgentError, ExitCode
from bot.session.context.run import RunSpec
from bot.session.run_folder import RunFolder
from bot.workspace.process import kill_all_of_ours

CANCELLED = "cancelled immediately; all its processes have ended"

_DUPLICATE_SIGNAL_SECONDS = 0.03
"""Seconds: a wrapper may pass on the signal that the terminal sent to both."""
_REPORT_SECONDS = 0.8
"""Seconds."""

Say = Callable[[str], None]


def to_standard_error(text: str) -> None:
    with suppress(OSError):  # nobody reads it any more; the run continues
        os.write(2, f"{text}\n".encode(errors="backslashreplace"))


@contextmanager
def cancelled_by_signals(
    cancel: CancelToken, say: Say | None = None, cut_off: Callable[[], None] | None = None
) -> Iterator[None]:
    """Call `say` and fire `cancel` at the first SIGINT, SIGTERM or SIGHUP. At the next SIGINT kill everything that this
    process started, give `cut_off` a moment to report and clean up, and end the process: nothing is waited for, and no
    exception is raised that code might swallow.

    Python runs its part of a handler on the main thread, in the middle of whatever that does; so the number goes into a
    pipe first, and a thread that waits there does the rest.
    """
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    ending = threading.Event()
    arguments = (
        woken,
        ending,
        cancel,
        say or to_standard_error,
        cut_off or partial(to_standard_error, CANCELLED),
    )
    thread = threading.Thread(target=_listen, args=arguments, name="signals", daemon=True)
    thread.start()
    # The numbers first: a handler without its pipe would make nothing of a signal.
    pipe_before = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    ends = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # else under `nohup`
        ends.append(signal.SIGHUP)
    before = {number: signal.signal(number, lambda number, frame: None) for number in ends}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(pipe_before)
        os.close(wake)
        if ending.is_set():
            thread.join()  # the process is about to end


def _listen(
    woken: int, ending: threading.Event, cancel: CancelToken, say: Say, cut_off: Callable[[], None]
) -> None:
    first = 0.0
    while number := os.read(woken, 1):
        now = time.monotonic()
        if not first:
            first = now
            text = f"{signal.Signals(number[0]).name}: stopping; the work so far is kept"
            if number[0] == signal.SIGINT and os.isatty(2):
                text += " (Ctrl-C again ends it at once)"
            _run_briefly(partial(say, text))
            cancel.fire("signal")
        elif number[0] == signal.SIGINT and now - first > _DUPLICATE_SIGNAL_SECONDS:
            ending.set()
            try:
                kill_all_of_ours()
                _run_briefly(cut_off)
                kill_all_of_ours()  # what was started meanwhile
            finally:
                os._exit(ExitCode.CANCELLED)
    os.close(woken)


def _run_briefly(task: Callable[[], None]) -> None:
    """Run `task` on a thread and wait for it briefly: a lock that it needs may be taken, or nobody may read its
    output."""

    def do() -> None:
        with suppress(OSError, ValueError):  # nobody reads it any more
            task()

    thread = threading.Thread(target=do, name="for a moment", daemon=True)
    with suppress(CapacityError):  # what follows matters more
        retry_at_capacity(thread.start, patience=_REPORT_SECONDS)
        thread.join(_REPORT_SECONDS)


def cut_off(spec: RunSpec) -> None:
    """Tell people where the work of a run is whose processes were all killed. A run that had not begun leaves no
    folder."""
    folder = spec.folder
    if not folder.begun:
        folder.drop()
        text = f"{CANCELLED}. It had not begun, and nothing of it is left."
    elif not folder.has_tree:
        text = f"{CANCELLED}. It had finished; its result is in {spec.bundle}"
    else:
        rows = recovery_commands(folder, can_continue=spec.can_continue)
        lines = [f"{CANCELLED}. What it had is in {folder.root}", *(f"{label}: {row}" for label, row in rows)]
        text = "\n".join(lines)
    spec.view.cut_off(text)
    if sys.stdout is not None:
        sys.stdout.flush()


def recovery_commands(folder: RunFolder, *, can_continue: bool) -> tuple[tuple[str, str], ...]:
    """Labels with a command each, for a run whose work tree still exists. `can_continue`: `fix --continue` is one."""
    root = shlex.quote(str(folder.root))
    rows = (("its diff", f"slash-agent salvage {root}"), ("go on", f"slash-agent fix --continue {root}"))
    return rows if can_continue else rows[:1]


@contextmanager
def note_work_on_error(spec: RunSpec) -> Iterator[None]:
    """Add notes to an error that ends the run: where its work is. The command line prints them last."""
    folder = spec.folder
    try:
        yield
    except Exception as error:
        if isinstance(error, FileNotFoundError) and not folder.root.is_dir():
            raise AgentError(
                f"The run's folder {folder.root} was removed while the run was at work; nothing of it is left."
            ) from error
        if folder.has_tree and (folder.begun or folder.facts.is_file()):
            error.add_note(f"The work so far is in {folder.root}")
            for label, text in recovery_commands(folder, can_continue=spec.can_continue):
                error.add_note(f"{label}: {text}")
        raise
