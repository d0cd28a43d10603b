"""The checkers of a run over the whole project, before the change and after it: the same ones, called alike.

They run in the workshop in which the checks do, before them: on a tree as the commit has it, with what setup left, and
with nothing of the checks'. `bot/run/rounds.py` says when.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from bot.checkout.clone import Checkout
from bot.checkout.git import GitError
from bot.contracts.cancel import CancelToken
from bot.contracts.plain_text import named
from bot.contracts.problems import Answer, Compared
from bot.contracts.wording import count_of
from bot.evidence.checkers import Checker, choose, sets_up
from bot.evidence.problems import compared, missing_modules
from bot.run.history import History
from bot.run.inspected import Inspected, failed
from bot.run.looks import Look
from bot.workshop.client.workshop import Workshop

LIMIT = 120
"""Seconds for one checker, its start included."""

TOGETHER = 240
"""Seconds for all checkers of one round."""

_PLACES = (".venv/", "venv/", "node_modules/")

_Looks = dict[str, Inspected]


class Inspection:
    """`named` are the checkers that policy names, `None` where it leaves the choice to the repository."""

    def __init__(
        self,
        checkout: Checkout,
        cancel: CancelToken,
        named: Collection[str] | None = None,
        limit: float = LIMIT,
        together: float = TOGETHER,
    ) -> None:
        self._history = History(checkout)
        self._named = named
        self._limit = limit
        self._together = together
        self._cancel = CancelToken()
        self._forget = cancel.on_fire(lambda: self._cancel.fire("the run is over"))
        self._chosen: tuple[Checker, ...] | None = None
        self._down = ""
        self._before: _Looks = {}
        self._tried_again = False
        self._after: dict[str, tuple[_Looks, Mapping[str, str]]] = {}

    def wanted(self) -> bool:
        """Whether there is a checker for this repository. Asks git; not to be called before the first request."""
        return bool(self._checkers())

    def give_up(self) -> None:
        """What runs ends now, and nothing more is begun."""
        self._cancel.fire("the run is over")
        self._forget()

    def look(self, workshop: Workshop, tree_sha: str | None) -> bool:
        """Run them over the tree of `workshop`: the base, or `tree_sha`. False where one of them brought it down."""
        self._down = ""
        if tree_sha is None:
            self._before = self._looks(workshop, self._history.paths(), self._checkers())
            return not self._down
        changed, renamed = self._history.changes(tree_sha)
        spoilt = {checker.name: _spoilt(checker, changed) for checker in self._checkers()}
        usable = [checker for checker in self._checkers() if self._worked_before(checker)]
        looks = self._looks(workshop, self._history.paths(tree_sha), usable, spoilt)
        for checker in usable:
            if settings := self._reconfigured(checker, changed, tree_sha):
                looks[checker.name] = looks[checker.name].because(
                    f"the change also sets it up anew, in {settings}"
                )
        self._after[tree_sha] = (looks, renamed)
        return not self._down

    @property
    def late(self) -> tuple[str, ...]:
        """Those that timed out on the base while the agent was at work; none once they were tried again."""
        return () if self._tried_again else self._timed_out()

    def look_again(self, workshop: Workshop) -> None:
        """Run those once more over the base, for no longer together than one may take."""
        late, self._tried_again, self._down = self._timed_out(), True, ""
        checkers = [checker for checker in self._checkers() if checker.name in late]
        self._before |= self._looks(workshop, self._history.paths(), checkers, together=self._limit)
        for name in self._timed_out():
            self._before[name] = self._before[name].because("nothing else of the run was running then")
        for checker in self._checkers():
            if any(name in late and self._is_complete(name) for name in checker.instead_of):
                self._before.pop(checker.name, None)

    def _timed_out(self) -> tuple[str, ...]:
        return tuple(name for name, look in self._before.items() if look.run.answer is Answer.TIMED_OUT)

    def _is_complete(self, name: str) -> bool:
        return name in self._before and self._before[name].run.answer is Answer.COMPLETE

    def compared(self, tree_sha: str | None) -> tuple[Compared, ...]:
        """Each checker before the change and with it; nothing where there is no change, or where nothing ran."""
        if tree_sha is None or tree_sha not in self._after:
            return ()
        looks, renamed = self._after[tree_sha]
        made = []
        for checker in self._checkers():
            if checker.name not in self._before:  # it stands in for another, which ran
                continue
            before = _doubted(self._before[checker.name])
            after = looks.get(
                checker.name, failed("it was not run again, since it did not run before the change")
            )
            if after.run.answer is Answer.COMPLETE and after.version != before.version:
                after = after.because(f"with the change it is another version: {after.version}")
            made.append(
                compared(
                    checker.name, before.version, checker.command, (before.run, before.problems),
                    (after.run, after.problems), renamed, checker.stops_at, checker.hides,
                )
            )  # fmt: skip
        return tuple(made)

    def _checkers(self) -> tuple[Checker, ...]:
        if self._chosen is None:
            try:
                self._chosen = choose(self._history.paths(), self._history.read, self._named)
            except GitError:
                self._chosen = ()
        return self._chosen

    def _looks(
        self,
        workshop: Workshop,
        paths: Collection[str],
        checkers: Collection[Checker],
        spoilt: Mapping[str, str] = MappingProxyType({}),
        together: float | None = None,
    ) -> _Looks:
        look = Look(workshop, self._cancel, self._limit)
        looks = look.all(checkers, paths, self._together if together is None else together, spoilt)
        self._down = look.down
        return looks

    def _worked_before(self, checker: Checker) -> bool:
        return self._is_complete(checker.name)

    def _reconfigured(self, checker: Checker, changed: Collection[str], tree_sha: str) -> str:
        """A file by which the change sets up `checker`, or has it leave something out."""

        def texts(path: str) -> Iterator[str]:
            yield self._history.read(path) or ""
            yield self._history.read(path, tree_sha) or ""

        return next((named(path) for path in sorted(changed) if sets_up(checker, path, texts(path))), "")


def _spoilt(checker: Checker, changed: Collection[str]) -> str:
    """Why a checker from the tree says nothing of this change: the change may have put it there."""
    theirs = "project" in checker.where
    # The folder itself may be a link that the change makes.
    touched = next((path for path in changed if f"{path}/".startswith(_PLACES)), "")
    return f"the change writes {named(touched)}, where it may be from" if theirs and touched else ""


def _doubted(before: Inspected) -> Inspected:
    """What a missing environment does is said: it hides errors as well as adding them."""
    missing = missing_modules(before.problems) if not before.python else 0
    if not missing:
        return before
    return before.because(
        f"no Python environment is here: {count_of(missing, 'module')} that the code imports cannot be found, which "
        "hides problems as well as adding some"
    )
