"""What a person at a terminal reads of a run at its end: a few lines.

All of it goes to a `say` that must not take a line of it for a command: a model writes some of these words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from bot.contracts.outcome import CheckResult, CheckRun, CheckState, Outcome
from bot.contracts.problems import Answer, Compared, Problem
from bot.contracts.wording import count_of, ending, money

Say = Callable[[str], None]

_MOST_PROBLEMS = 3


def say_outcome(outcome: Outcome, say: Say) -> None:
    """Status, why, sandbox, cost, checks, problems, files, and what was held back or denied."""
    turns, tokens = count_of(outcome.turns, "turn"), count_of(outcome.usage.total, "token")
    say(f"status   {outcome.status} ({outcome.stop_reason}): {outcome.reason}")
    say(f"sandbox  {outcome.sandbox}")
    for note in outcome.wall.notes if outcome.wall else ():
        say(f"warning  {note}")
    say(f"model    {outcome.model}: {turns}, {tokens}, {money(outcome.cost, 4)}")
    for check in outcome.checks:
        told = f"before {_state(check.before)}, after {_state(check.after)}{_tests(check)}"
        say(f"check    {check.command}: {told}")
        if why := _why(check):
            say(f"         {why}")
    from bot.evidence.summary import summarize_checks  # needed at the end only

    if (summary := summarize_checks(outcome)).unverified:
        say(f"         not verified. {summary.unverified}")
        if summary.advice:
            say(f"         {summary.help}")
    _say_problems(outcome, say)
    if outcome.coverage and outcome.coverage.measured:
        say(
            f"coverage {outcome.coverage.covered} of {count_of(outcome.coverage.measured, 'changed line')} run"
        )
    for file in outcome.files:
        say(f"file     {file.path}  +{file.additions} -{file.removals}")
    for held in outcome.withheld:
        say(f"withheld {held.path}: {held.reason}")
    for denial, times in Counter(outcome.denials).items():
        rule = f"rule {denial.rule}{f', {times} times' if times > 1 else ''}"
        why = f"{denial.reason} ({rule})" if denial.reason else rule
        say(f"denied   {denial.tool} {denial.subject}: {why}")
    for note in outcome.notes:
        say(f"note     {note}")


def _state(run: CheckRun) -> str:
    word = run.state.value.replace("_", " ")
    if run.state is not CheckState.FAILED or run.exit_code is None:
        return word
    return f"{word} ({ending(run.exit_code)})"


def _tests(check: CheckResult) -> str:
    """What became of the tests in it, and whether it is flaky: then its last state is no evidence."""
    from bot.evidence.words import kinds_of  # needed at the end only

    told = ", ".join(f"{count_of(kind.number, 'test')} {kind.words}" for kind in kinds_of(check.tests))
    flaky = "flaky: it passed when it was run again" if check.flaky else ""
    return "".join(f"; {words}" for words in (flaky, told) if words)


def _say_problems(outcome: Outcome, say: Say) -> None:
    from bot.publish.evidence.counted import count_new, new_problems

    for one in outcome.diagnostics:
        say(f"problems {one.named}: {_compared(one)}")
    shown = new_problems(outcome)[:_MOST_PROBLEMS]
    for problem in shown:
        say(f"         {_problem(problem)}")
    if (more := count_new(outcome) - len(shown)) > 0:
        say(f"         and {count_of(more, 'more new problem')}")


def _compared(one: Compared) -> str:
    from bot.evidence.words import no_figures

    words = no_figures(one)
    if not words:
        uncovered = f", {one.uncovered_count:,} uncovered" if one.uncovered_count else ""
        told = f"{max(one.new_count, len(one.new)):,} new, {max(one.fixed_count, len(one.fixed)):,} fixed"
        return told + uncovered
    failed = [run for run in (one.before, one.after) if run.answer is not Answer.COMPLETE]
    why = next((run.note for run in failed if run.note), "")
    return f"{words}: {why}" if why else words


def _problem(problem: Problem) -> str:
    kind = " ".join(filter(None, (problem.tool, problem.code)))
    return f"{problem.path}:{problem.line} {kind}: {problem.message}"


def _why(check: CheckResult) -> str:
    """Why a check says nothing, in the words of the run that did not run."""
    silent = (CheckState.NOT_RUNNABLE, CheckState.NO_SOCKETS)
    return next((run.note for run in (check.after, check.before) if run.state in silent), "")
