"""The function of each tool.

To add a tool, describe it in `specs.py`, write a module in `tools/` with `run`, and add it here. Then say which runs
get it (`bot/session/context/profiles.py`) and how path rules call it (`bot/policy/rule.py`). A name has a `_` only if
the part before it is the tool whose group it belongs to (`bash_output`).
"""

from __future__ import annotations

import importlib
import signal
import time
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.toolhost import specs
from bot.toolhost.context import Context, ToolFailure
from bot.toolhost.search import SIMPLIFY
from bot.toolhost.tools import (
    bash,
    bash_output,
    edit,
    glob,
    grep,
    ls,
    patch,
    view,
    write,
)

Run = Callable[[Mapping[str, Any], Context], ToolOutcome]


LIMIT = 60.0
_EVERY = 0.2
_LET_OTHERS_RUN = 0.001


def limited(
    run: Callable[[Mapping[str, Any], Context], ToolOutcome],
) -> Callable[[Mapping[str, Any], Context], ToolOutcome]:
    """`run` with a limit of `LIMIT` seconds, for a tool that changes nothing. A regular expression lets no other
    thread run but checks for signals, which are handled by the main thread: the one that tools run in."""

    def run_limited(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
        deadline = time.monotonic() + LIMIT

        def check(number: int, frame: FrameType | None) -> None:
            time.sleep(_LET_OTHERS_RUN)  # so that a word from the supervisor is read
            if context.cancelled.is_set():
                raise ToolFailure("The search was cancelled.")
            if time.monotonic() > deadline:
                raise ToolFailure(
                    f"The search took longer than {LIMIT:g} s. Narrow it with path, or change the pattern. {SIMPLIFY}"
                )

        before = signal.signal(signal.SIGALRM, check)
        signal.setitimer(signal.ITIMER_REAL, _EVERY, _EVERY)
        try:
            return run(arguments, context)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    return run_limited


def imported_at_first_call(name: str) -> Run:
    """The tool `tools/<name>.py`. No workspace is asked for all of these, which take a quarter of the start."""

    def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
        tool: Run = importlib.import_module(f"bot.toolhost.tools.{name}").run
        return tool(arguments, context)

    return run


RUN: Mapping[str, Run] = {
    specs.VIEW.name: view.run,
    specs.LS.name: ls.run,
    specs.GLOB.name: limited(glob.run),
    specs.GREP.name: limited(grep.run),
    specs.EDIT.name: edit.run,
    specs.WRITE.name: write.run,
    specs.PATCH.name: patch.run,
    specs.BASH.name: bash.run,
    specs.BASH_OUTPUT.name: bash_output.run,
    specs.BASH_KILL.name: bash_output.run_kill,
    # The supervisor's own: no description of them is shown to a model.
    **{
        name: imported_at_first_call(name)
        for name in (
            "check_reports",
            "new_errors",
            "problems_of",
            "related_tests",
            "restore",
            "try_suggestion",
        )
    },
}
