"""What is wrong with a patch, all of it in one message: each problem with its file and its line of the patch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.workshop.host.context import ToolFailure

_MOST = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake. `line` is the patch's, from 1; `path` is the file as the patch names it, empty for none."""

    line: int
    path: str
    message: str

    def __str__(self) -> str:
        where = f"line {self.line}, {self.path}" if self.path else f"line {self.line}"
        return f"{where}: {self.message.rstrip('.')}."


class PatchError(ToolFailure):
    """The patch cannot be applied. The message names every problem and says that nothing was written."""

    def __init__(self, problems: Sequence[Problem], fitting: int = 0) -> None:
        self.problems = tuple(problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        head = f"Nothing was written: the patch has {count} (lines are those of the patch)."
        told = [f"- {problem}" for problem in problems[:_MOST]]
        if len(problems) > _MOST:
            told.append(f"- and {len(problems) - _MOST} more")
        tail = "Send the whole patch again, corrected."
        if fitting:
            others = "1 other section fits" if fitting == 1 else f"{fitting} other sections fit"
            tail = f"{others} as they are. {tail}" if fitting > 1 else f"{others} as it is. {tail}"
        super().__init__("\n".join([head, *told, tail]))
