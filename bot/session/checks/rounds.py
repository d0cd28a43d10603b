"""The rounds of checks: on the base while the agent works, and with the change when the model ends its turn. If the
change touches tests, one more has the tests as they were.

A check runs as a whole if it fits into the time for checks. If the base round shows that it does not, the tests related
to the change run instead, on both sides.
"""

import math
import time
from collections.abc import Sequence

from bot.contracts import journal as lines
from bot.contracts.errors import AgentError
from bot.contracts.outcome import CheckResult, CheckState
from bot.contracts.plain_text import quoted
from bot.contracts.request import CHECK_MINUTES, Tier
from bot.contracts.review import Finding, Review, Tried
from bot.environment.detection import Detection
from bot.evidence.check import Check
from bot.evidence.reruns import CheckPair
from bot.review.suggestions import Suggestion, applied
from bot.session.checks.after_round import AfterRound, BaseRuns
from bot.session.checks.before_round import MINUTES, NO_CHANGE, BeforeRound, Round
from bot.session.checks.runner import UNNEEDED, not_run
from bot.session.context.base import checks_of, detected_at
from bot.session.context.git_trees import GitTrees
from bot.session.context.run import Run
from bot.session.workspaces.trees import Trees

_UNABLE = (CheckState.NOT_RUNNABLE, CheckState.NO_SOCKETS)

SLOW_SECONDS = 240.0
"""A vendor keeps a cached prefix for five minutes."""


def _minutes(run: Run) -> float:
    """The time for all rounds."""
    limit, wanted = run.policy.budget.check_minutes, run.request.options.get(CHECK_MINUTES)
    if not wanted:
        return MINUTES if limit is None else limit
    # In a thread the policy's own number is the most.
    most = math.inf if limit is None or run.tier is Tier.LOCAL else limit
    return min(float(wanted), most)


class Rounds(BeforeRound):
    """The round on the base, which starts once, in the background; and one round for each changed tree."""

    def __init__(self, run: Run, trees: Trees, checks: Sequence[Check]) -> None:
        super().__init__(run, trees, checks, _minutes(run))
        self._after: dict[str, list[CheckPair]] = {}
        self._base_runs: BaseRuns = {}
        self._told: set[int] = set()

    def unable(self) -> tuple[str, ...]:
        """Return a sentence for the model about each check that turned out since the last call to be unable to run."""
        ended = {number: one.result().run for number, one in enumerate(self.executions) if one.done()}
        unable = {number: run for number, run in ended.items() if run.state in _UNABLE}
        new = {number: run for number, run in unable.items() if number not in self._told}
        self._told.update(new)
        return tuple(
            f"{quoted(self.checks[number].command, 300)} cannot run here, so it will not verify your change: "
            f"{quoted(run.note, 300)}"
            for number, run in new.items()
        )

    @property
    def are_slow(self) -> bool:
        """Whether the checks before the change took over four minutes so far."""
        ended = (one.result().run.duration for one in self.executions if one.done())
        return sum(ended) > SLOW_SECONDS

    def stop_reruns_after(self, minutes: float) -> None:
        """Start no rerun later than this from now on."""
        self.budget.reruns_until = time.monotonic() + minutes * 60

    def with_tested_suggestions(self, review: Review) -> Review:
        """Return `review` with the suggestions whose related tests pass. No process of the agent's may be alive."""
        run, offered = self.run, any(finding.tried for finding in review.findings)
        if run.profile.unrun or not offered or self.budget.left <= 0:
            return review
        own = run.origin if run.tier is Tier.LOCAL else None
        detected = Detection() if run.policy.checks else detected_at(run.checkout, own)
        checks = checks_of(run.policy, None, detected)
        return SuggestionTests(run, self.trees, checks, self.inspection, self.budget).tested(review)

    def results(self, tree_sha: str | None, reason: str = NO_CHANGE) -> tuple[CheckResult, ...]:
        """Return the results of both rounds, the second on `tree_sha`. With `None` there is nothing to check, for this
        `reason`: the base round is cancelled. No process of the agent's may be alive."""
        if reason_not_run := self.run.profile.unrun:
            none = not_run(reason_not_run)
            pairs = [CheckPair(check, none, none) for check in self.checks]
        elif tree_sha is None:
            self.stop(reason)
            none = not_run(reason)
            before = (future.result() if future.done() else none for future in self.executions)
            pairs = [CheckPair(*each, none) for each in zip(self.checks, before, strict=True)]
        elif not self.has_work:
            return ()
        else:
            self.start()
            if tree_sha not in self._after:
                round = AfterRound(self, self._base_runs, len(self._after) + 1, tree_sha)
                self._after[tree_sha] = round.execute()
                self.waits.end()
            pairs = self._after[tree_sha]
        return tuple(pair.result() for pair in pairs if pair.before.run.note != UNNEEDED)


class SuggestionTests(Round):
    """`tested` returns a review with what is known of its suggestions afterwards."""

    def tested(self, review: Review) -> Review:
        findings = [self._tested(number, one) for number, one in enumerate(review.findings, 1)]
        return review._replace(findings=tuple(findings))

    def _tested(self, number: int, finding: Finding) -> Finding:
        if not finding.tried or self.cancel.fired or self.budget.left_for_reruns <= 0:
            return finding
        try:
            passes = self._pass(number, finding)
        except AgentError as error:
            self.run.journal.write(lines.Note(f"The suggestion on {finding.path} was not tested: {error}"))
            return finding
        return finding._replace(tried=(*finding.tried, Tried.TESTS)) if passes else finding

    def _pass(self, number: int, finding: Finding) -> bool:
        """Whether related tests are known, have run, and pass with the suggestion."""
        history, tree = GitTrees(self.run.checkout), self._tree_with(finding)
        if not tree:
            return False
        with self._runner(f"suggestion-{number}", tree) as runner:
            due = {check: one.command for check, one in enumerate(self.checks)}
            commands, text = runner.related_commands(due, history, tree), "tests related to a suggestion"
            narrowed = [self.checks[n]._replace(command=command) for n, (_, command) in commands.items()]
            executions = [runner.run(one, text, lambda: self.budget.left_for_reruns) for one in narrowed]
        states = ", ".join(execution.run.state for execution in executions) or "none are known"
        self.run.journal.write(lines.Note(f"Tests related to the suggestion on {finding.path}: {states}"))
        passed = all(execution.run.state is CheckState.PASSED for execution in executions)
        return passed and any(one.counts_tests for one in executions)

    def _tree_with(self, finding: Finding) -> str:
        """Return the head's tree with the suggestion; empty if the file is no text that a suggestion fits."""
        history = GitTrees(self.run.checkout)
        text = history.texts([finding.path]).get(finding.path, "")
        if finding.suggestion is None or "\r" in text or "\ufffd" in text:
            return ""
        suggestion = Suggestion(finding.path, *finding.lines, finding.text, finding.suggestion)
        return history.with_text(finding.path, applied(text, [suggestion]))
