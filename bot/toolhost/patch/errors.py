"""The error of a patch that cannot be applied: one message with each problem, its file and its line of the patch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bot.contracts.formatting import count_of
from bot.contracts.tools import ToolFailure

_MOST = 20


class Problem(NamedTuple):
    """One mistake. `line` is the patch's, from 1, or 0 in the stored part of an earlier patch; `path` is the file as
    the patch names it, empty for none."""

    line: int
    path: str
    message: str

    def __str__(self) -> str:
        line = f"line {self.line}" if self.line else "kept"
        where = f"{line}, {self.path}" if self.path else line
        return f"{where}: {self.message.rstrip('.')}."


class PatchError(ToolFailure):
    """The patch cannot be applied. The message names every problem and says that nothing was written.

    `fitting` sections and operations are stored under `stored_number`, so that only the others must be sent again.
    """

    def __init__(self, problems: Sequence[Problem], fitting: int = 0, stored_number: int = 0) -> None:
        self.problems = tuple(problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        head = f"Nothing was written: the patch has {count} (lines are those of the patch)."
        lines = [f"- {problem}" for problem in problems[:_MOST]]
        if len(problems) > _MOST:
            lines.append(f"- and {len(problems) - _MOST} more")
        tail = "Send the whole patch again, corrected."
        if stored_number:
            tail = (
                f"Kept for the next patch: {count_of(fitting, 'section')} that nothing is wrong with. Do not send them "
                f'again: after "*** Begin Patch" put the line "*** Kept: {stored_number}" and below it only the '
                "corrected sections, if any. All of it is then written together."
            )
        super().__init__("\n".join([head, *lines, tail]))
