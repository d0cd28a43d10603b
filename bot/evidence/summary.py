"""Summarise the checks of a change in one headline, with a sentence of advice if there is no evidence. Pure.

Results are plain text. Reasons quote output of the repository's commands, so callers must escape them. Remedies are
fixed lines for a few kinds of projects.
"""

from collections.abc import Sequence
from typing import NamedTuple

from bot.contracts.formatting import count_of, cut_short, sentence
from bot.contracts.outcome import CheckResult, CheckState, Outcome
from bot.contracts.plain_text import printable
from bot.contracts.request import NO_CHECKS, POLICY_FILE, Tier
from bot.ecosystems.record import Ecosystem, Use
from bot.ecosystems.registry import ecosystems, ecosystems_of, named
from bot.environment.scripts import statements
from bot.evidence.check import NO_TESTS, NOT_SHOWN, OTHER_CODE
from bot.evidence.failing_checks import failing, more_failing
from bot.evidence.labels import as_they_were, check_title, confirms, number_of

_REASON = 300
_MORE_TIME = (
    f"If your tests take longer, give them more time in {POLICY_FILE}",
    "budget: {check_minutes: 15}",
)
_STATE_ORDER = ("timed_out", "failed", "passed", "no_sockets", "not_runnable", "not_run")
_UNKNOWN = (CheckState.TIMED_OUT, CheckState.NOT_RUN)
_NAME_TESTS = f"Name the command that runs your tests in {POLICY_FILE}"
_NO_TEST = ("no test was run", "No test was run")


class CheckSummary(NamedTuple):
    """`headline` is such as `20 of 20 tests pass (1 fixed)` or `not verified: no test was run`, empty if nothing
    changed. `failing`: a check fails because of the change. `doubtful`: the tests as they were do not confirm it, or
    fewer tests ran than passed before.
    `unverified` is one sentence, empty if there is evidence.
    `advice` says what to do about it; `remedy` is a line to add or a command to run."""

    headline: str = ""
    failing: bool = False
    unverified: str = ""
    advice: str = ""
    remedy: str = ""
    doubtful: bool = False

    @property
    def good(self) -> bool:
        """Whether there is evidence for the change, and none against it."""
        return self.verified and not self.failing and not self.doubtful

    @property
    def verified(self) -> bool:
        """Whether some check is evidence for or against the change."""
        return not self.unverified

    @property
    def help(self) -> str:
        """`advice` and `remedy` in one line."""
        return f"{self.advice}: {self.remedy}" if self.remedy else self.advice


def summarize_checks(outcome: Outcome) -> CheckSummary:
    """Return the summary of a run; empty if it changed nothing."""
    if not outcome.files:
        return CheckSummary()
    bad = failing(outcome.checks, outcome.request.instruction)
    known = [check for check in outcome.checks if check in bad or verifies(check)]
    unknown = list(filter(_has_unknown_base, outcome.checks))
    if unknown and not bad:
        return _unverified(outcome, unknown)
    if not known:
        return _unverified(outcome, outcome.checks)
    changed = {one.name for one in ecosystems_of(file.path for file in outcome.files)}
    # Their tests may be about a changed file: they are of its language, or of any.
    languages = ((check, languages_of(check.command)) for check in outcome.checks)
    near = [check for check, named in languages if not (changed and named and named.isdisjoint(changed))]
    if not bad and not any(check in known and check.counts and check.counts.ran for check in near):
        # A formatter that passes does not speak for tests, nor do the tests of another language.
        tests = [check for check in near if may_run_tests(check.command)]
        summary = _unverified(outcome, tests or outcome.checks)
        return summary._replace(headline=", ".join([summary.headline, *_counted(known)]))
    silent = len(outcome.checks) - len(known)
    parts = _counted([check for check in known if not check.related])
    for check in (check for check in known if check.related):
        why = f": {check.scope_note}" if check.scope_note else ""
        parts.append(f"related tests: {', '.join(_counted([check]))}; whole suite not run{why}")
    parts += [f"{count_of(silent, 'check')} without a result"] if silent else []
    as_were = dict.fromkeys(check.as_they_were for check in known if check.as_they_were)
    headline = "; ".join([", ".join(parts), *map(as_they_were, as_were)])
    doubtful = any(map(_not_run, known)) or not all(map(confirms, as_were))
    return CheckSummary(headline, bool(bad), doubtful=doubtful)


def _not_run(check: CheckResult) -> int:
    """Return how many fewer tests ran than passed before, with the tests as they were if these differ."""
    tests, were = check.tests, check.as_they_were and check.as_they_were.tests
    if not (tests and tests.before and tests.after):
        return 0
    return max(tests.before.passed - (were or tests.after).ran, 0)


def _has_unknown_base(check: CheckResult) -> bool:
    """Whether the check fails, and what it, or its tests, did before the change is not known."""
    if check.after.state is not CheckState.FAILED or check.flaky:
        return False
    unread = check.tests and check.tests.after and check.tests.after.failed and not check.tests.before
    return check.before.state in _UNKNOWN or (check.before.state is CheckState.FAILED and bool(unread))


def verifies(check: CheckResult) -> bool:
    """Whether the check is evidence: it passed and, as far as known, ran a test; or it failed and some tests passed."""
    if check.after.state is CheckState.PASSED or check.flaky:
        return check.counts is None or check.counts.ran > 0
    return check.after.state is CheckState.FAILED and check.counts is not None and check.counts.passed > 0


def may_run_tests(command: str) -> bool:
    """Whether the command is not known to be only a linter or a type checker."""
    uses = uses_of(command)
    return not uses or not uses <= {Use.LINT, Use.TYPES}


def languages_of(command: str) -> set[str]:
    """Return the names of the languages whose programs a command names; empty if it may run any, as `make` does."""
    named = {part.ecosystem or "" for part in statements(command)}
    return named if named <= {one.name for one in ecosystems() if one.suffixes} else set()


def uses_of(command: str) -> set[Use]:
    """Return what the statements of a command are for, as far as known."""
    return {use for part in statements(command) for use in part.uses}


def _counted(checks: Sequence[CheckResult]) -> list[str]:
    """Return broken tests, new failing ones, how many pass, and checks without known tests."""
    parts = []
    if broken := sum(number_of(check.tests, "broken") for check in checks):
        parts.append(f"{_fail(broken, 'test')} that passed before")
    if new := sum(number_of(check.tests, "new_failing") for check in checks):
        parts.append(_fail(new, "new test"))
    if worse := sum(map(more_failing, checks)):
        parts.append(f"{_fail(worse, 'test', 'more ')} than before")
    with_tests = [check for check in checks if check.counts]
    counts = [check.counts for check in with_tests if check.counts]
    passed, failed = sum(one.passed for one in counts), sum(one.failed for one in counts)
    if passed + failed:
        kinds = (("mended", "fixed"), ("flaky", "flaky"))
        numbers = ((sum(number_of(check.tests, kind) for check in with_tests), word) for kind, word in kinds)
        of_them = ", ".join(f"{number:,} {word}" for number, word in numbers if number)
        more = f" ({of_them})" if of_them else ""
        verb = "passes" if passed + failed == 1 else "pass"
        parts.append(f"{passed:,} of {count_of(passed + failed, 'test')} {verb}{more}")
    if lost := sum(map(_not_run, checks)):
        parts.append(f"{count_of(lost, 'test')} that passed before did not run")
    alone = [check for check in checks if check not in with_tests]
    good = [check for check in alone if check.after.state is CheckState.PASSED or check.flaky]
    if broken := sum(check.before.state is CheckState.PASSED and check not in good for check in alone):
        parts.append(f"{_fail(broken, 'check')} that passed before")
    if good:
        noun = "other check" if with_tests else "check"
        part = f"{len(good):,} of {count_of(alone, noun)} {'passes' if len(good) == 1 else 'pass'}"
        flaky = sum(check.flaky for check in good)
        parts.append(f"{part} ({flaky:,} flaky)" if flaky else part)
    return parts


def _fail(number: int, noun: str, more: str = "") -> str:
    return f"{count_of(number, noun)} {more}{'fails' if number == 1 else 'fail'}"


def _unverified(outcome: Outcome, checks: Sequence[CheckResult]) -> CheckSummary:
    # The check that came nearest to evidence has the most useful reason.
    check = min(
        checks, key=lambda one: (not _ended_late(one), _STATE_ORDER.index(one.after.state)), default=None
    )
    by_files = next(iter(ecosystems_of(file.path for file in outcome.files)), named("general"))
    tool = (ecosystem_named(check.command) if check else None) or by_files
    words, advice = _NO_TEST, ("", "")
    add_test = f'checks: ["{tool.test}"]'
    if check is None:
        why = "no check is configured, and none was found in the repository"
        advice = (f"Add the command that runs your tests to {POLICY_FILE}", add_test)
        if outcome.request.options.get(NO_CHECKS) == "true":
            why, advice = "the request says that no check is to run", ("", "")
        return _unverified_summary(*words, why, *advice)
    title, state = f"`{check_title(check)}`", check.after.state
    why = f"{title}: {check.after.note or check.before.note or 'no reason is known'}"
    if _ended_late(check):
        words, advice = ("the tests did not end in time", "No test run ended"), _MORE_TIME
    elif state is CheckState.FAILED and check.before.state in _UNKNOWN:
        words = (
            "a check fails that did not end before the change",
            "Whether the change broke it is not known",
        )
        why = f"{title} fails with the change, and before it: {check.before.note or 'it was not run'}"
        advice = _MORE_TIME
    elif state is CheckState.FAILED:
        words = ("the check fails, as before", "Nothing is verified")
        unread = "no test could be read of the run before" if check.counts else "names no test that passes"
        why = f"{title} fails, as before the change, and {unread}"
    elif state is CheckState.PASSED and check.counts:
        why = f"{title} passed, and every test in it was skipped"
    elif state is CheckState.PASSED:
        why = f"{title} passed, and it names no test that ran"
        advice = (
            f"{_NAME_TESTS}, and its report",
            f'checks: [{{command: "{tool.test}", junit: "report.xml"}}]',
        )
    elif state is CheckState.NO_SOCKETS:
        why = f"the tests need a network, and the sandbox has none ({why})"
        advice = (f"Name a command that needs no network in {POLICY_FILE}", add_test)
    elif state is CheckState.NOT_RUNNABLE and NO_TESTS in why:
        advice = (_NAME_TESTS, add_test)
    elif state is CheckState.NOT_RUNNABLE and OTHER_CODE in why:
        words = ("the tests did not use the change", "Nothing is verified")
    elif state is CheckState.NOT_RUNNABLE and NOT_SHOWN not in why:
        advice = _install_advice(outcome, tool)
    return _unverified_summary(*words, why, *advice)


def _ended_late(check: CheckResult) -> bool:
    """Whether the check ran out of time, or would have, by its run before the change."""
    return check.after.state is CheckState.TIMED_OUT or (
        check.after.state is CheckState.NOT_RUN and bool(check.scope_note)
    )


def _install_advice(outcome: Outcome, tool: Ecosystem) -> tuple[str, str]:
    if not tool.egress:
        return f"Say in `setup:` of {POLICY_FILE} how what it needs is installed", ""
    if outcome.request.actor.tier is Tier.LOCAL:
        return "Install what the tests need in your checkout", tool.install
    return f"Add to {POLICY_FILE}", setup_line(tool)


def setup_line(tool: Ecosystem | None) -> str:
    """Return the policy line that installs what checks of an ecosystem usually need; empty if unknown."""
    if tool is None or not tool.egress:
        return ""
    return f'setup: [{{command: "{tool.install}", egress: [{tool.egress}]}}]'


def _unverified_summary(
    headline: str, lead: str, why: str, advice: str = "", remedy: str = ""
) -> CheckSummary:
    reason = cut_short(" ".join(printable(why).split()), _REASON)
    return CheckSummary(f"not verified: {headline}", False, sentence(f"{lead}: {reason}"), advice, remedy)


def ecosystem_named(command: str) -> Ecosystem | None:
    """Return the first whose programs a command names."""
    names = (part.ecosystem for part in statements(command))
    return next((named(name) for name in names if name and name != "general"), None)
