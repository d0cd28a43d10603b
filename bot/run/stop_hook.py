"""What the host says when the model says that it is done (S-037): the plan that is missing, steps of its list that
are open, files that do not parse any more, checks that fail. The loop lets it speak twice a session; what nothing was
done about is not said again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from bot.agent.todo import rendered
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import GateError
from bot.policy.schema import StopHookPolicy
from bot.run.judging import Judging
from bot.run.profiles import SUBMIT_PLAN, Profile
from bot.run.results import Results
from bot.run.rounds import Rounds

TryTexts = Callable[[Sequence[Mapping[str, str]]], Sequence[str]]

NO_PLAN = (
    "You said you are done, but no plan was submitted. Call `submit_plan`, or say in one sentence why there is no "
    "plan to make. This is said once."
)
OPEN_ITEMS = (
    "You said you are done, but your list has open items:\n{items}\nDo them, or say why they are not needed and "
    "update the list. This is said once."
)
NEW_ERRORS = (
    "You said you are done, but with your change these files have errors that were not there before:\n{errors}\n"
    "Mend them, or say in one sentence why they are right. This is said once."
)


class StopHook:
    """`try_texts` says which of the texts that it is given do not parse, though they did before; `instruction` is the
    request's own words: a check that they name must pass."""

    def __init__(
        self, policy: StopHookPolicy, profile: Profile, results: Results, rounds: Rounds, judging: Judging,
        try_texts: TryTexts, instruction: str, stop: CancelToken,
    ) -> None:  # fmt: skip
        self._policy = policy
        self._profile = profile
        self._results = results
        self._rounds = rounds
        self._judging = judging
        self._try_texts = try_texts
        self._instruction = instruction
        self._stop = stop
        self._told: set[str] = set()
        self._told_trees: set[str] = set()

    def before_end(self) -> str | None:
        """What is missing, in one message; `None` lets the session end."""
        return "\n\n".join(self._missing()) or None

    def _missing(self) -> Iterator[str]:
        if SUBMIT_PLAN in self._profile.results and self._results.submit.plan is None and self._once("plan"):
            yield NO_PLAN
        if self._profile.read_only:
            return
        if self._policy.todos and self._results.todo.open and self._once("todos"):
            yield OPEN_ITEMS.format(items=rendered(self._results.todo.items))
        if self._policy.diagnostics:
            yield from self._new_errors()
        if self._policy.checks:
            yield from self._failing_checks()

    def _once(self, what: str) -> bool:
        new = what not in self._told
        self._told.add(what)
        return new

    def _new_errors(self) -> Iterator[str]:
        judged = self._judging.now()
        if (
            isinstance(judged, GateError)
            or not judged.files
            or not self._once(f"errors of {judged.tree_sha}")
        ):
            return
        from bot.run.new_errors import texts_to_try

        texts = texts_to_try(self._judging.checkout, judged)
        errors = self._try_texts(texts) if texts else ()
        if errors:
            listed = "\n".join(f"- {error}" for error in errors)
            yield self._judging.mask(NEW_ERRORS.format(errors=listed))

    def _failing_checks(self) -> Iterator[str]:
        """What cannot be judged is told at the end, and so is what was told of this very tree before."""
        if not self._rounds.checks or self._profile.unrun:
            return
        from bot.evidence.compare import failing, tell_model

        judged = self._judging.now()
        if isinstance(judged, GateError) or not judged.files or judged.tree_sha in self._told_trees:
            return
        self._told_trees.add(judged.tree_sha)
        bad = failing(self._rounds.results(judged.tree_sha), self._instruction)
        if bad and not self._stop.fired:
            yield self._judging.mask(tell_model(bad))
