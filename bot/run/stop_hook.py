"""What the host says when the model says that it is done (S-037): the plan that is missing, steps of its list that are
open, what the gate leaves out, files that do not parse any more, errors that checkers find and did not find before,
checks that fail. The loop lets it speak twice a session; what nothing was done about is not said again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from bot.agent.todo import rendered
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import GateError
from bot.contracts.plain_text import quoted_lines
from bot.contracts.problems import Problem
from bot.gate.errors import NoRoom, shown
from bot.policy.schema import StopHookPolicy
from bot.run.judging import Judging
from bot.run.looking_on import LookingOn
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
WITHHELD = (
    "You said you are done, but no patch can hold these files, so they will not be part of your change:\n{rows}\n"
    "Remove what is left over (core dumps, build output, clones); what belongs to the change, make in another way. "
    "This is said once."
)
REFUSED = "You said you are done, but your change cannot be published: {why}. Undo what causes that. This is said once."
NEW_ERRORS = (
    "You said you are done, but with your change files have errors that were not there before, in the lines with |:\n"
    "{errors}\nFix them, or say in one sentence why they are right. This is said once."
)
_MOST_ROWS = 20


class StopHook:
    """`try_texts` says which of the texts that it is given do not parse, though they did before; `instruction` is the
    request's own words: a check that they name must pass; `looking_on` knows what language servers found."""

    def __init__(
        self, policy: StopHookPolicy, profile: Profile, results: Results, rounds: Rounds, judging: Judging,
        try_texts: TryTexts, instruction: str, stop: CancelToken, looking_on: LookingOn,
    ) -> None:  # fmt: skip
        self._policy = policy
        self._profile = profile
        self._results = results
        self._rounds = rounds
        self._judging = judging
        self._try_texts = try_texts
        self._instruction = instruction
        self._stop = stop
        self._looking_on = looking_on
        self._told: set[str] = set()
        self._told_trees: set[str] = set()
        self._told_problems: set[tuple[str, str, str]] = set()
        self._unparsed: frozenset[str] = frozenset()

    def changed(self) -> bool:
        """Whether the work tree differs from the base, or cannot be judged."""
        judged = self._judging.now()
        return isinstance(judged, GateError) or bool(judged.files or judged.withheld)

    def before_end(self) -> str | None:
        """What is missing, in one message; `None` lets the session end."""
        return "\n\n".join(self._missing()) or None

    def _missing(self) -> Iterator[str]:
        if SUBMIT_PLAN in self._profile.results and self._results.submit.plan is None and self._once("plan"):
            yield NO_PLAN
        if self._profile.read_only:
            return
        described = bool(self._results.describe.description.title)
        if self._policy.todos and not described and self._results.todo.open and self._once("todos"):
            yield OPEN_ITEMS.format(items=rendered(self._results.todo.items))
        yield from self._gate()
        if self._policy.diagnostics:
            yield from self._new_errors(only_parsed=described)
        if self._policy.checks or self._policy.diagnostics:
            yield from self._rounds_with_change()

    def _gate(self) -> Iterator[str]:
        """What the gate refuses or cannot put in a patch; what it withholds by policy was said at each write."""
        judged = self._judging.now()
        if isinstance(judged, GateError):
            if not isinstance(judged, NoRoom) and self._once("gate"):
                yield self._judging.mask(REFUSED.format(why=judged))
        elif judged.unfit and self._once("gate"):
            rows = [f"- {shown(row.path)}: {row.reason}" for row in judged.unfit[:_MOST_ROWS]]
            if more := len(judged.unfit) - len(rows):
                rows.append(f"- and {more} more")
            yield self._judging.mask(WITHHELD.format(rows="\n".join(rows)))

    def _once(self, what: str) -> bool:
        new = what not in self._told
        self._told.add(what)
        return new

    def _new_errors(self, *, only_parsed: bool) -> Iterator[str]:
        """Files that do not parse any more, and what language servers find; the model was shown that with its edits, so
        a change that it has described is not held up for it."""
        judged = self._judging.now()
        if (
            isinstance(judged, GateError)
            or not judged.files
            or not self._once(f"errors of {judged.tree_sha}")
        ):
            return
        from bot.run.new_errors import texts_to_try

        texts = texts_to_try(self._judging.checkout, judged)
        errors = [*(self._try_texts(texts) if texts else ())]
        if not only_parsed:
            errors += self._looking_on.errors_in(self._judging.checkout, judged, errors)
        said = tuple(error.partition(": ")[0] for error in errors)
        self._unparsed = frozenset(file.path for file in judged.files if file.path in said)
        if errors:
            listed = quoted_lines("\n".join(errors))
            yield self._judging.mask(NEW_ERRORS.format(errors=listed))

    def _rounds_with_change(self) -> Iterator[str]:
        """Checks that fail and errors that checkers find. What cannot be judged is told at the end, and so is what was
        told of this very tree before."""
        if not self._rounds.any or self._profile.unrun:
            return
        from bot.evidence.compare import failing, tell_model

        judged = self._judging.now()
        if isinstance(judged, GateError) or not judged.files or judged.tree_sha in self._told_trees:
            return
        self._told_trees.add(judged.tree_sha)
        bad = failing(self._rounds.results(judged.tree_sha), self._instruction)
        if self._stop.fired:
            return
        if self._policy.diagnostics and (problems := self._new_problems(judged.tree_sha)):
            yield self._judging.mask(problems)
        if self._policy.checks and bad:
            yield self._judging.mask(tell_model(bad))

    def _new_problems(self, tree_sha: str) -> str:
        """Each is told of once, and those in a file that does not parse are not told of beside it."""
        from bot.evidence.problems import new_errors, tell_model

        found = new_errors(
            row for row in self._rounds.diagnostics(tree_sha) if self._rounds.configured(row.tool)
        )
        new = [
            error
            for error in found
            if error.path not in self._unparsed and _known(error) not in self._told_problems
        ]
        self._told_problems.update(map(_known, new))
        return tell_model(new) if new else ""


def _known(problem: Problem) -> tuple[str, str, str]:
    return problem.path, f"{problem.tool} {problem.code}", problem.message
