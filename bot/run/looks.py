"""Checkers run over the tree of one workshop, one after the other, within the time that there is for them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass

from bot.contracts.cancel import CancelToken
from bot.contracts.problems import Answer, ToolRun
from bot.evidence.checkers import Checker
from bot.run.inspected import Inspected, failed, inspected
from bot.workshop.client.workshop import Workshop, WorkshopError

_SENT = ("program", "where", "version", "arguments", "form", "exits", "unit", "together", "environment")

_OVER = "the run was over before it"
_NO_TIME = "the time for checkers was spent before it"
_BUDGET = "checkers have a share of 30 % of budget.check_minutes"


Key = tuple[str, str]
"""The checker's name and the folder of the project."""


@dataclass(slots=True)
class Look:
    """`limit` is in seconds, for each. `down` says what became of the workshop where one of them took it along."""

    workshop: Workshop
    cancel: CancelToken
    limit: float
    down: str = ""

    def all(
        self,
        checkers: Iterable[Checker],
        paths: Collection[str],
        together: float,
        spoilt: Mapping[Key, str],
    ) -> dict[Key, Inspected]:
        """What each finds, by its key. `paths` are all that the tree has; `spoilt` says why one is not to be run;
        `together` is in seconds."""
        looks: dict[Key, Inspected] = {}
        until = time.monotonic() + together
        for checker in checkers:
            others = ((name, checker.folder) for name in checker.instead_of)
            if any(looks[key].run.answer is Answer.COMPLETE for key in others if key in looks):
                continue
            if spoilt.get(checker.key):
                looks[checker.key] = failed(spoilt[checker.key])
                continue
            left = until - time.monotonic()
            look = self._one(checker, paths, min(self.limit, left)) if left > 0 else _no_time()
            cut = look.run.answer is Answer.TIMED_OUT and left < self.limit
            looks[checker.key] = look.because(_BUDGET) if cut else look
        return looks

    def _one(self, checker: Checker, paths: Collection[str], limit: float) -> Inspected:
        if self.cancel.fired or self.down:
            return failed(self.down or _OVER)
        files, all_of_them = checker.files_of(paths)
        began = time.monotonic()
        question = {
            "checker": as_sent(checker),
            "files": list(files),
            "folder": checker.folder,
            "timeout": limit,
        }
        try:
            outcome = self.workshop.call("problems_of", question, self.cancel)
        except WorkshopError as error:
            self.down = str(error)
            return failed(self.down)
        found = inspected(checker.name, outcome, round(time.monotonic() - began, 4))
        if self.cancel.wait(0):
            return failed(_OVER)
        return found if all_of_them else found.because(f"only the first {len(files)} files were looked at")


def as_sent(checker: Checker) -> dict[str, object]:
    """What the tool host is told of it."""
    whole = asdict(checker) | {"arguments": checker.called}
    return {name: whole[name] for name in _SENT}


def _no_time() -> Inspected:
    return Inspected(ToolRun(Answer.TIMED_OUT, note=_NO_TIME))
