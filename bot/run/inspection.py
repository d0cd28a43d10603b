"""The checkers of a run over whole projects, before the change and after it: the same ones, called alike, in the same
folders of the repository.

They run in the workshop in which the checks do, before them: on a tree as the commit has it, with what setup left, and
with nothing of the checks'. `bot/run/rounds.py` says when.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType

from bot.checkout.clone import Checkout
from bot.checkout.git import GitError
from bot.contracts.cancel import CancelToken
from bot.contracts.plain_text import named
from bot.contracts.problems import Answer, Compared
from bot.evidence.by_project import compared
from bot.evidence.checkers import CHECKERS, Checker, sets_up
from bot.evidence.choosing import choose, first_of_each
from bot.evidence.moved_projects import Paired
from bot.evidence.together import Looked, Side
from bot.evidence.words import RECONFIGURED
from bot.run.doubts import doubted, spoilt_by
from bot.run.history import History
from bot.run.inspected import Inspected, failed
from bot.run.looks import Key, Look
from bot.run.tree_changes import TreeChanges
from bot.workshop.client.workshop import Workshop

LIMIT = 120
"""Seconds for one checker, its start included."""

_NOT_RUN = "it was not run again, since it did not run before the change"

_Looks = dict[Key, Inspected]


class Inspection:
    """`only` are the checkers that policy names, `None` where it leaves the choice to the repository."""

    def __init__(
        self,
        checkout: Checkout,
        cancel: CancelToken,
        only: Collection[str] | None = None,
        limit: float = LIMIT,
    ) -> None:
        self._history = History(checkout)
        self._only = only
        self._limit = limit
        self._cancel = CancelToken()
        self._forget = cancel.on_fire(lambda: self._cancel.fire("the run is over"))
        self._chosen: tuple[Checker, ...] | None = None
        self._down = ""
        self._before: _Looks = {}
        self._tried_again = False
        self._changes: dict[str, TreeChanges] = {}
        self._after: dict[str, _Looks] = {}

    def wanted(self) -> bool:
        """Whether there is a checker for this repository. Asks git; not to be called before the first request."""
        return bool(self._checkers())

    def configured(self, tool: str) -> bool:
        """Whether the policy names the checker, or a project has settings for it."""
        return self._only is not None or any(
            checker.name == tool and checker.configured for checker in self._checkers()
        )

    def give_up(self) -> None:
        """What runs ends now, and nothing more is begun."""
        self._cancel.fire("the run is over")
        self._forget()

    def look(self, workshop: Workshop, tree_sha: str | None, together: float) -> bool:
        """Run them over the tree of `workshop`: the base, or `tree_sha`, in so many seconds `together`. False if one of
        them brought it down."""
        self._down = ""
        if tree_sha is None:
            first = first_of_each(self._checkers())
            self._before = self._looks(workshop, self._history.paths(), first, together)
            return not self._down
        change = self._change(tree_sha)
        usable = [one.after for one in change.pairs if one.after and self._is_usable(one)]
        first = first_of_each(usable, change.paths, most=len(usable))
        spoilt = {one.key: spoilt_by(one, change.paths) for one in first}
        looks = self._looks(workshop, self._history.paths(tree_sha), first, together, spoilt)
        for one in first:
            if one.key in looks and (settings := self._reconfigured(one, change.edited, tree_sha)):
                looks[one.key] = looks[one.key].incomparable(f"{RECONFIGURED}, in {settings}")
        self._after[tree_sha] = looks
        return not self._down

    def late(self, tree_sha: str) -> tuple[str, ...]:
        """What is still to be run on the base, in words: those that timed out on it while the agent was at work, once,
        and those beyond the first ones that the change turns out to concern."""
        return tuple(dict.fromkeys(_in_words(one) for one in self._late(tree_sha)))

    def look_again(self, workshop: Workshop, tree_sha: str, together: float) -> None:
        """Run those over the base, in so many seconds `together`."""
        late, timed_out, self._down = self._late(tree_sha), self._timed_out(), ""
        self._tried_again = True
        self._before |= self._looks(workshop, self._history.paths(), late, min(together, self._limit))
        for key in self._timed_out():
            self._before[key] = self._before[key].because("nothing else of the run was running then")
        for checker in self._checkers():
            stands_in_for = {(name, checker.folder) for name in checker.instead_of}
            if any(key in timed_out and self._is_complete(key) for key in stands_in_for):
                self._before.pop(checker.key, None)

    def compared(self, tree_sha: str | None) -> tuple[Compared, ...]:
        """Each checker before the change and with it; nothing where there is no change, or where nothing ran."""
        if tree_sha is None or tree_sha not in self._after:
            return ()
        change, looks = self._change(tree_sha), self._after[tree_sha]
        looked = {checker.name: list[Looked]() for checker in CHECKERS}
        left_out = {checker.name: list[str]() for checker in CHECKERS}
        for pair in change.pairs:
            checker = pair.before or pair.after
            assert checker is not None
            if pair.before is None or checker.key in self._before:
                looked[checker.name].append(self._looked(pair, checker, looks))
            elif not any((name, checker.folder) in self._before for name in checker.instead_of):
                left_out[checker.name].append(checker.place)
        return tuple(
            row
            for name, some in looked.items()
            if some
            for row in compared(some, change.change(), left_out[name])
        )

    def _looked(self, pair: Paired, checker: Checker, looks: Mapping[Key, Inspected]) -> Looked:
        before = doubted(checker, self._before[checker.key]) if pair.before else None
        if pair.after is None:
            return Looked(checker, _side(before), None)
        after = looks.get(pair.after.key) or failed(_NOT_RUN)
        if before and after.run.answer is Answer.COMPLETE and after.version != before.version:
            after = after.because(f"with the change it is another version: {after.version}")
        return Looked(checker, _side(before), _side(after))

    def _late(self, tree_sha: str) -> list[Checker]:
        timed_out = () if self._tried_again else self._timed_out()
        wanted = first_of_each(self._checkers(), self._change(tree_sha).paths)
        unseen = {one.key for one in wanted if one.key not in self._before}
        stand_ins = {
            one.key for one in wanted for name in one.instead_of if self._is_complete((name, one.folder))
        }
        return [one for one in self._checkers() if one.key in timed_out or one.key in unseen - stand_ins]

    def _timed_out(self) -> tuple[Key, ...]:
        return tuple(key for key, look in self._before.items() if look.run.answer is Answer.TIMED_OUT)

    def _is_complete(self, key: Key) -> bool:
        return key in self._before and self._before[key].run.answer is Answer.COMPLETE

    def _is_usable(self, pair: Paired) -> bool:
        """One that came with the change is looked at where the tool could be run before at all."""
        if pair.before is not None:
            return self._is_complete(pair.before.key)
        return pair.after is not None and any(name == pair.after.name for name, _ in self._before)

    def _checkers(self) -> tuple[Checker, ...]:
        if self._chosen is None:
            try:
                self._chosen = choose(self._history.paths(), self._history.read, self._only)
            except GitError:
                self._chosen = ()
        return self._chosen

    def _change(self, tree_sha: str) -> TreeChanges:
        if tree_sha not in self._changes:
            self._changes[tree_sha] = TreeChanges(self._history, tree_sha, self._checkers(), self._only)
        return self._changes[tree_sha]

    def _looks(
        self, workshop: Workshop, paths: Collection[str], checkers: Iterable[Checker], together: float,
        spoilt: Mapping[Key, str] = MappingProxyType({}),
    ) -> _Looks:  # fmt: skip
        look = Look(workshop, self._cancel, self._limit)
        looks = look.all(checkers, paths, together, spoilt)
        self._down = look.down
        return looks

    def _reconfigured(self, checker: Checker, changed: Collection[str], tree_sha: str) -> str:
        """A file by which the change sets up `checker`, or has it leave something out."""

        def texts(path: str) -> Iterator[str]:
            yield self._history.read(path) or ""
            yield self._history.read(path, tree_sha) or ""

        return next((named(path) for path in sorted(changed) if sets_up(checker, path, texts(path))), "")


def _side(look: Inspected | None) -> Side | None:
    return Side(look.run, look.problems, look.version) if look else None


def _in_words(checker: Checker) -> str:
    return f"{checker.name} in {checker.place}" if checker.place else checker.name
