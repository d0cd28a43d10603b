"""The tests related to each suggestion of a review, on the head with that suggestion alone, in the time for checks."""

from __future__ import annotations

from dataclasses import replace

from bot.checkout.git import GitError
from bot.contracts import journal as lines
from bot.contracts.errors import AgentError
from bot.contracts.outcome import CheckState
from bot.contracts.review import Finding, Review, Tried
from bot.review.suggestions import Suggestion, applied
from bot.session.checks.after_round import related_commands
from bot.session.checks.before_round import Round
from bot.session.checks.runner import counts_tests
from bot.session.context.git_trees import GitTrees


class SuggestionTests(Round):
    """`tested` returns a review with what is known of its suggestions afterwards."""

    def tested(self, review: Review) -> Review:
        findings = [self._tested(number, one) for number, one in enumerate(review.findings, 1)]
        return replace(review, findings=tuple(findings))

    def _tested(self, number: int, finding: Finding) -> Finding:
        if not finding.tried or self.cancel.fired or self.budget.left_for_reruns <= 0:
            return finding
        try:
            passes = self._pass(number, finding)
        except (AgentError, GitError) as error:
            self.run.journal.write(lines.Note(f"The suggestion on {finding.path} was not tested: {error}"))
            return finding
        return replace(finding, tried=(*finding.tried, Tried.TESTS)) if passes else finding

    def _pass(self, number: int, finding: Finding) -> bool:
        """Whether related tests are known, have run, and pass with the suggestion."""
        history, tree = GitTrees(self.run.checkout), self._tree_with(finding)
        if not tree:
            return False
        with self.trees.for_checks(f"suggestion-{number}", self.cancel, tree) as workspace:
            due = {check: one.command for check, one in enumerate(self.checks)}
            commands = related_commands(due, history, tree, workspace, self.cancel)
            runner = self._runner(
                workspace,
                lambda check: "tests related to a suggestion",
                lambda check: self.budget.left_for_reruns,
            )
            executions = [
                runner.run(check, replace(self.checks[check], command=command))
                for check, (_, command) in commands.items()
            ]
        states = ", ".join(execution.run.state for execution in executions) or "none are known"
        self.run.journal.write(lines.Note(f"Tests related to the suggestion on {finding.path}: {states}"))
        passed = all(execution.run.state is CheckState.PASSED for execution in executions)
        return passed and any(map(counts_tests, executions))

    def _tree_with(self, finding: Finding) -> str:
        """Return the head's tree with the suggestion; empty if the file is no text that a suggestion fits."""
        history = GitTrees(self.run.checkout)
        text = history.texts([finding.path]).get(finding.path, "")
        if finding.suggestion is None or "\r" in text or "\ufffd" in text:
            return ""
        suggestion = Suggestion(finding.path, *finding.lines, finding.text, finding.suggestion)
        return history.with_text(finding.path, applied(text, [suggestion]))
