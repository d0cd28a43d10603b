"""What one run of a check means, read from its exit code and output.

A check that could not run, or that failed only because the sandbox has no network, says nothing about the
change. Such runs are marked and never counted as evidence.
"""

from __future__ import annotations

import re

from bot.contracts.outcome import CheckRun, CheckState

TAIL_LIMIT = 4_000
NO_TESTS = "it found no tests"
_LINE_LIMIT = 200

_EXIT_CODE = re.compile(r"\[exit code \d+\]")
_NOT_FOUND = 127
_NOT_EXECUTABLE = 126
_EXIT_NO_TESTS = 5
_UNITTEST_COUNT = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)

# Where a shell found no program to run; in the output of a test that failed otherwise these words say nothing.
_NO_PROGRAM = re.compile("not found|Permission denied|cannot execute|make.*: No such file or directory")
# As `make` says it of its recipe.
_INNER = ("Error 126", "Error 127")

# What a package manager brings. A path (`Cannot find module './parse'`) is the repository's own and a failure.
_MISSING = re.compile(
    r"""No\ such\ file\ or\ directory:\ 'python
    | No\ module\ named\ (?:pytest|unittest)
    | python[\d.]*:\ No\ module\ named\ \w+$
    | ModuleNotFoundError:\ No\ module\ named
    | npm\ (?:ERR!|error)\ [Mm]issing\ script
    | Cannot\ find\ (?:module|package)\ '[^./]
    | no\ required\ module\ provides\ package
    | failed\ to\ download\ from
    | no\ matching\ package\ named""",
    re.VERBOSE | re.MULTILINE,
)

_NO_SOCKETS = re.compile(
    r"""Network\ is\ unreachable
    | Temporary\ failure\ in\ name\ resolution
    | Name\ or\ service\ not\ known
    | getaddrinfo\ (?:EAI_AGAIN|ENOTFOUND)
    | Could\ not\ resolve\ host
    | dial\ tcp:\ lookup
    | Address\ family\ not\ supported\ by\ protocol
    | Cannot\ assign\ requested\ address""",
    re.VERBOSE,
)


def judge_run(
    exit_code: int | None, output: str, duration: float, *, timed_out: bool = False, limit: str = ""
) -> CheckRun:
    """Classify one run. `output` is the end of what it printed; `duration` is in seconds; `limit` is the one of the
    sandbox that it met."""
    tail = output[-TAIL_LIMIT:]
    if timed_out:
        return CheckRun(CheckState.TIMED_OUT, exit_code, duration, tail, f"stopped after {duration:.0f} s")
    if exit_code is None:
        return CheckRun(CheckState.NOT_RUN, None, duration, tail, f"it could not be run: {last_line(output)}")
    if _found_no_tests(exit_code, output):
        return CheckRun(CheckState.NOT_RUNNABLE, exit_code, duration, tail, NO_TESTS)
    if exit_code == 0:
        return CheckRun(CheckState.PASSED, exit_code, duration, tail)
    if (
        limit
    ):  # a failure, as it is with any other machine that is too small: an edit must not hide one behind it
        note = f"it met a limit of the sandbox: {limit}"
        return CheckRun(CheckState.FAILED, exit_code, duration, tail, note)
    if missing := _missing(exit_code, output):
        note = f"a tool or dependency is missing here: {missing}"
        return CheckRun(CheckState.NOT_RUNNABLE, exit_code, duration, tail, note)
    if blocked := _line_with(_NO_SOCKETS, output):
        note = f"the sandbox has no network: {blocked}"
        return CheckRun(CheckState.NO_SOCKETS, exit_code, duration, tail, note)
    return CheckRun(CheckState.FAILED, exit_code, duration, tail)


def _found_no_tests(exit_code: int, output: str) -> bool:
    """Green or red, it says nothing: unittest before Python 3.12 passes without a test, later and pytest fail."""
    counts = _UNITTEST_COUNT.findall(output)
    if counts and exit_code in (0, _EXIT_NO_TESTS):
        return all(count == "0" for count in counts)
    return exit_code == _EXIT_NO_TESTS and "no tests ran" in output


def _missing(exit_code: int, output: str) -> str:
    """The line that names what is missing; empty where nothing is."""
    if exit_code in (_NOT_FOUND, _NOT_EXECUTABLE) or any(end in output for end in _INNER):
        return _line_with(_NO_PROGRAM, output) or last_line(output)
    return _line_with(_MISSING, output)


def _line_with(sign: re.Pattern[str], output: str) -> str:
    """The first line in which `sign` stands."""
    lines = (line.strip() for line in output.splitlines() if sign.search(line))
    return next(lines, "")[:_LINE_LIMIT]


def last_line(output: str) -> str:
    """The last line that the command itself printed."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not _EXIT_CODE.fullmatch(line)]
    return lines[-1][:_LINE_LIMIT] if lines else "it printed nothing"
