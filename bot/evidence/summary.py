"""What the checks say of a change, in one headline, and in one sentence if they say nothing.

Pure, and plain text: reasons quote what commands of the repository printed, so whoever shows them escapes them. A
remedy never does: it is a line of ours for one of a few kinds of projects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bot.contracts.outcome import CheckResult, CheckState, Outcome
from bot.contracts.plain_text import printable
from bot.contracts.request import Tier
from bot.contracts.wording import count_of, sentence
from bot.environment.commands import Use, commands_of, use_of
from bot.environment.workflows import Script
from bot.evidence.compare import failing
from bot.evidence.judge import NO_TESTS
from bot.evidence.words import number_of

POLICY_FILE = ".github/agent.yml"
_REASON = 300
_MINUTES = 15
_NO_NETWORK = "the tests need a network, and the sandbox has none"


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """`headline` is empty if nothing changed: `20 of 20 tests pass (1 fixed)`, `2 tests fail that passed before, 18 of
    20 tests pass`, or `not verified: no test was run`. `failing`: a check speaks against the change. `unverified` is
    one sentence, `No test was run: ...`, and empty if there is evidence. `advice` says what to do about it, and
    `remedy` is the line to add or the command to run, for people to copy."""

    headline: str = ""
    failing: bool = False
    unverified: str = ""
    advice: str = ""
    remedy: str = ""

    @property
    def verified(self) -> bool:
        """False only for a change that no check says anything about."""
        return not self.unverified

    @property
    def help(self) -> str:
        """`advice` and `remedy` in one line."""
        return f"{self.advice}: {self.remedy}" if self.remedy else self.advice


@dataclass(frozen=True, slots=True)
class _Tool:
    """What is known of one kind of project: words of its commands, its sources, and what makes its tests run."""

    words: tuple[str, ...]
    suffixes: tuple[str, ...]
    check: str
    setup: str
    egress: str
    install: str


_TOOLS = (
    _Tool(
        ("pytest", "unittest", "python", "tox", "nox", "py.test"), (".py",), "python3 -m pytest",
        "python3 -m pip install -e . pytest", "python",
        "python3 -m venv .venv && .venv/bin/python -m pip install -e . pytest",
    ),
    _Tool(
        ("npm", "npx", "yarn", "pnpm", "node", "jest", "vitest", "mocha", "ava"),
        (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".vue"), "npm test", "npm ci", "node", "npm ci",
    ),
    _Tool(("go",), (".go",), "go test ./...", "go mod download", "go", "go mod download"),
    _Tool(("cargo",), (".rs",), "cargo test", "cargo fetch", "rust", "cargo fetch"),
)  # fmt: skip
_OTHER = _Tool((), (), "make test", "", "", "")


def summarize_checks(outcome: Outcome) -> CheckSummary:
    """Of a run that changed nothing there is nothing to say."""
    if not outcome.files:
        return CheckSummary()
    bad = failing(outcome.checks, outcome.request.instruction)
    known = [check for check in outcome.checks if check in bad or verifies(check)]
    tests = [check for check in outcome.checks if _runs_tests(check)]
    if not known:
        return _not_verified(outcome, outcome.checks)
    if tests and not bad and not any(check in known for check in tests):
        # A formatter that passes does not speak for tests that gave no result.
        summary = _not_verified(outcome, tests)
        return replace(summary, headline=", ".join([summary.headline, *_without_tests(known, "other ")]))
    silent = len(outcome.checks) - len(known)
    parts = [
        *_counted([check for check in known if not check.related]),
        *map(_related, filter(_is_related, known)),
    ]
    without = [f"{count_of(silent, 'check')} without a result"] if silent else []
    return CheckSummary(", ".join([*parts, *without]), bool(bad))


def verifies(check: CheckResult) -> bool:
    """Whether it says anything of the change: it passed and a test ran in it, if that is known, or it failed and some
    of its tests passed, so that it is known which."""
    counts = check.tests.after if check.tests else None
    if check.after.state is CheckState.PASSED or check.flaky:
        return counts is None or counts.passed + counts.failed > 0
    return check.after.state is CheckState.FAILED and counts is not None and counts.passed > 0


def _runs_tests(check: CheckResult) -> bool:
    """Whether tests were counted, or else the command is known to run some."""
    if check.tests is not None:
        return True
    return any(use_of(words) is Use.TESTS for words in _commands(check.command))


def _commands(text: str) -> Iterator[Sequence[str]]:
    """The words of each command in `text`, and of what `sh -c` is given."""
    for command in commands_of(Script(text), ""):
        words = command.words
        if len(words) > 2 and words[0].rpartition("/")[2] in ("sh", "bash") and words[1].endswith("c"):
            yield from _commands(words[2])
        elif words:
            yield words


def _is_related(check: CheckResult) -> bool:
    return bool(check.related)


def _related(check: CheckResult) -> str:
    counts = check.tests.after if check.tests else None
    if counts is not None and counts.passed and not counts.failed:
        fixed = _fixed([check])
        told = f"{counts.passed:,} passed{fixed}"
    else:
        told = ", ".join(_counted([check]))
    return f"related tests: {told}; whole suite not run{f': {check.scope_note}' if check.scope_note else ''}"


def _counted(checks: Sequence[CheckResult]) -> list[str]:
    """The worst first: tests that broke, new ones that fail, then how many pass, then checks without known tests."""
    parts = []
    if broken := sum(_number(check, "broken") for check in checks):
        parts.append(f"{count_of(broken, 'test')} {'fails' if broken == 1 else 'fail'} that passed before")
    if new := sum(_number(check, "new_failing") for check in checks):
        parts.append(f"{count_of(new, 'new test')} {'fails' if new == 1 else 'fail'}")
    with_tests = [check for check in checks if check.tests and check.tests.after]
    counts = [check.tests.after for check in with_tests if check.tests and check.tests.after]
    passed, failed = sum(one.passed for one in counts), sum(one.failed for one in counts)
    if passed + failed:
        parts.append(f"{passed:,} of {count_of(passed + failed, 'test')} pass{_fixed(with_tests)}")
    return [
        *parts,
        *_without_tests([check for check in checks if check not in with_tests], "other " if parts else ""),
    ]


def _without_tests(checks: Sequence[CheckResult], other: str) -> list[str]:
    good = [check for check in checks if check.after.state is CheckState.PASSED or check.flaky]
    passed, flaky = len(good), sum(check.flaky for check in good)
    broken = sum(check.before.state is CheckState.PASSED and check not in good for check in checks)
    parts = []
    if broken:
        parts.append(f"{count_of(broken, 'check')} {'fails' if broken == 1 else 'fail'} that passed before")
    if passed:
        named = count_of(len(checks), f"{other}check")
        said = f"{passed:,} of {named} {'passes' if passed == 1 else 'pass'}"
        parts.append(f"{said} ({flaky:,} flaky)" if flaky else said)
    return parts


def _fixed(checks: Sequence[CheckResult]) -> str:
    told = [
        (sum(_number(check, kind) for check in checks), word)
        for kind, word in (("mended", "fixed"), ("flaky", "flaky"))
    ]
    shown = [f"{number:,} {word}" for number, word in told if number]
    return f" ({', '.join(shown)})" if shown else ""


def _number(check: CheckResult, kind: str) -> int:
    return number_of(check.tests, kind) if check.tests else 0


def _not_verified(outcome: Outcome, checks: Sequence[CheckResult]) -> CheckSummary:
    check = min(checks, key=_how_near, default=None)
    tool = _tool_of(outcome, check)
    named = f'checks: ["{tool.check}"]'
    if check is None:
        why = "no check is configured, and none was found in the repository"
        return _not_run(why, f"Add the command that runs your tests to {POLICY_FILE}", named)
    said = f"`{check.command}`: {check.after.note or check.before.note or 'no reason is known'}"
    match check.after.state:
        case CheckState.TIMED_OUT | CheckState.NOT_RUN if (
            check.after.state is CheckState.TIMED_OUT or check.scope_note
        ):
            advice = f"If your tests take longer, give them more time in {POLICY_FILE}"
            minutes = f"budget: {{check_minutes: {_MINUTES}}}"
            return _silent("the tests did not end in time", "No test run ended", said, advice, minutes)
        case CheckState.FAILED:
            why = f"`{check.command}` fails, and no test in it is known to pass"
            return _silent("the check fails, as before", "Nothing is verified", why)
        case CheckState.PASSED:
            return _not_run(f"`{check.command}` passed, and every test in it was skipped")
        case CheckState.NO_SOCKETS:
            advice = f"Name a command that needs no network in {POLICY_FILE}"
            return _not_run(f"{_NO_NETWORK} ({said})", advice, named)
        case CheckState.NOT_RUNNABLE if NO_TESTS in said:
            return _not_run(said, f"Name the command that runs your tests in {POLICY_FILE}", named)
        case CheckState.NOT_RUNNABLE:
            return _not_run(said, *_to_install(outcome, tool))
        case _:
            return _not_run(said)


def _to_install(outcome: Outcome, tool: _Tool) -> tuple[str, str]:
    if not tool.setup:
        return f"Say in `setup:` of {POLICY_FILE} how what it needs is installed", ""
    if outcome.request.actor.tier is Tier.LOCAL:
        return "Install what the tests need in your checkout", tool.install
    return f"Add to {POLICY_FILE}", _setup_line(tool)


def setup_line(command: str) -> str:
    """The line of a policy that installs what a check with this command usually needs; empty if nothing is known."""
    return _setup_line(_tool_named(command) or _OTHER)


def _setup_line(tool: _Tool) -> str:
    return f'setup: [{{command: "{tool.setup}", egress: [{tool.egress}]}}]' if tool.setup else ""


def _not_run(why: str, advice: str = "", remedy: str = "") -> CheckSummary:
    return _silent("no test was run", "No test was run", why, advice, remedy)


def _silent(headline: str, lead: str, why: str, advice: str = "", remedy: str = "") -> CheckSummary:
    reason = " ".join(printable(why).split())[:_REASON]
    return CheckSummary(f"not verified: {headline}", False, sentence(f"{lead}: {reason}"), advice, remedy)


_NEAREST = (
    CheckState.TIMED_OUT, CheckState.FAILED, CheckState.PASSED, CheckState.NO_SOCKETS, CheckState.NOT_RUNNABLE,
    CheckState.NOT_RUN,
)  # fmt: skip


def _how_near(check: CheckResult) -> int:
    """The check that came nearest to saying something has the reason that helps."""
    return _NEAREST.index(check.after.state)


def _tool_of(outcome: Outcome, check: CheckResult | None) -> _Tool:
    """By the words of the command, else by what changed."""
    if check is not None and (tool := _tool_named(check.command)) is not None:
        return tool
    for tool in _TOOLS:
        if any(file.path.endswith(tool.suffixes) for file in outcome.files):
            return tool
    return _OTHER


def _tool_named(command: str) -> _Tool | None:
    words = {word.rpartition("/")[2].rstrip("0123456789.") for word in command.split()}
    return next((tool for tool in _TOOLS if words & set(tool.words)), None)
