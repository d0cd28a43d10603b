"""A check, its command, the classification of one run of it, and the reasons why a run is no evidence. Pure.

A check that could not run, or that failed only for lack of a network, says nothing about the change. The same is true
of one that would test other code than the change: a Python package is installed by the path of the repository, and the
sandbox cannot show the tree at that path.

A command is changed so that it reports its tests, or runs only some of them; neither effect nor exit code change.
Options are added only to plain commands of known runners; any other command gets variables.
"""

import re
from collections.abc import Callable, Collection, Sequence
from itertools import chain
from typing import NamedTuple

from bot.contracts.outcome import CheckRun, CheckState
from bot.ecosystems.record import Ecosystem
from bot.ecosystems.registry import ecosystem_of, ecosystems, named
from bot.ecosystems.test_command import CheckCommand, Related, is_plain, plain_words
from bot.policy.check_settings import CHECK_TIMEOUT


class Check(NamedTuple):
    """A command of the repository whose exit code is evidence. `timeout` is in seconds. `junit` are paths or
    patterns of its reports, if the policy names them. A `fallback` runs only if no check before it counted tests."""

    name: str
    command: str
    timeout: float = CHECK_TIMEOUT
    detected: bool = False
    junit: tuple[str, ...] = ()
    fallback: bool = False


TAIL_LIMIT = 4_000
NO_TESTS = "it found no tests"
MISSING = "a tool or dependency is missing here: "
OTHER_CODE = "its tests never opened"
NOT_SHOWN = "is not shown to commands"
_LINE_LIMIT = 200

_EXIT_CODE = re.compile(r"\[exit code \d+\]")
_EXIT_NOT_FOUND = 127
_EXIT_NOT_EXECUTABLE = 126
_EXIT_NO_TESTS = 5

# Messages of a shell about a missing program. In the output of a failing test they mean nothing.
_NO_PROGRAM = re.compile("not found|Permission denied|cannot execute|make.*: No such file or directory")
# Messages of `make` about its recipe.
_MAKE_ERRORS = ("Error 126", "Error 127")

_NO_SOCKETS = re.compile(
    r"""Network\ is\ unreachable
    | Temporary\ failure\ in\ name\ resolution
    | Name\ or\ service\ not\ known
    | \bEAI_AGAIN\b
    | getaddrinfo\ ENOTFOUND
    | Could\ not\ resolve\ host
    | UnknownHostException
    | NameResolutionError
    | \bdns\ error\b
    | php_network_getaddresses
    | dial\ tcp:\ lookup
    | Address\ family\ not\ supported\ by\ protocol
    | Cannot\ assign\ requested\ address""",
    re.VERBOSE,
)


def classify_run(
    exit_code: int | None, output: str, duration: float, *, timed_out: bool = False, limit: str = ""
) -> CheckRun:
    """Classify one run. `output` is the end of its output, `duration` in seconds, `limit` the sandbox limit it hit."""
    tail = output[-TAIL_LIMIT:]
    if timed_out:
        return CheckRun(CheckState.TIMED_OUT, exit_code, duration, tail, f"stopped after {duration:.0f} s")
    if exit_code is None:
        return CheckRun(CheckState.NOT_RUN, None, duration, tail, f"it could not be run: {last_line(output)}")
    if _found_no_tests(exit_code, output):
        return CheckRun(CheckState.NOT_RUNNABLE, exit_code, duration, tail, NO_TESTS)
    if exit_code == 0:
        return CheckRun(CheckState.PASSED, exit_code, duration, tail)
    state, note = CheckState.FAILED, ""
    if limit:  # a failure, as with any other machine that is too small: an edit must not hide one behind it
        note = f"it met a limit of the sandbox: {limit}"
    elif missing := _missing_tool(exit_code, output):
        state, note = CheckState.NOT_RUNNABLE, f"{MISSING}{missing}"
    elif blocked := _line_with(_NO_SOCKETS, output):
        state, note = CheckState.NO_SOCKETS, f"the sandbox has no network: {blocked}"
    return CheckRun(state, exit_code, duration, tail, note)


def _found_no_tests(exit_code: int, output: str) -> bool:
    """Whether no test ran. unittest before Python 3.12 passes then; later ones and pytest fail."""
    matches = (re.findall(one.ran, output, re.MULTILINE) for one in ecosystems() if one.ran)
    counts = list(chain.from_iterable(matches))
    if counts and exit_code in (0, _EXIT_NO_TESTS):
        return all(count == "0" for count in counts)
    return exit_code == _EXIT_NO_TESTS and "no tests ran" in output


def _missing_tool(exit_code: int, output: str) -> str:
    """Return the line that names a missing tool, or an empty string."""
    if exit_code in (_EXIT_NOT_FOUND, _EXIT_NOT_EXECUTABLE) or any(sign in output for sign in _MAKE_ERRORS):
        return _line_with(_NO_PROGRAM, output) or last_line(output)
    absent = "|".join(text for one in ecosystems() for text in one.absent)
    return _line_with(re.compile(absent), output)


def _line_with(pattern: re.Pattern[str], output: str) -> str:
    """Return the first line that matches `pattern`."""
    lines = (line.strip() for line in output.splitlines() if pattern.search(line))
    return next(lines, "")[:_LINE_LIMIT]


def last_line(output: str) -> str:
    """Return the last line that the command itself printed."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not _EXIT_CODE.fullmatch(line)]
    return lines[-1][:_LINE_LIMIT] if lines else "it printed nothing"


def relative_paths(text: str, root: str) -> str:
    """Return `text` with paths below `root`, the absolute path of a tree, relative to it; `root` itself becomes `.`."""
    if root in ("", "/"):
        return text
    # At its start it is no part of a longer path, of an address or of a name; at its end neither.
    prefix = rf"(?<![\w./~-])(?:file://)?{re.escape(root.rstrip('/'))}"
    return re.sub(rf"{prefix}/?(?![\w/-]|[.@+]\w)", ".", re.sub(rf"{prefix}/(?=[\w.@+-])", "", text))


_ACCESS_DENIED = re.compile("[Pp]ermission denied|EACCES")


def denied_path(printed: str, folder: str) -> str:
    """The first path at `folder` that a check wanted and did not get, by what it printed; empty where there is none."""
    pattern = re.compile(rf"(?<![\w./~-]){re.escape(folder)}(?:/[^\s'\":,]*)?(?![\w.-])")
    lines = (line for line in printed.splitlines() if _ACCESS_DENIED.search(line))
    return next((match[0] for line in lines if (match := pattern.search(line))), "")


def denied_path_note(path: str) -> str:
    """Return why a check that failed to read `path` is no evidence."""
    advice = (one.moved[1] for one in ecosystems() if re.search(one.moved[0], path))
    remedy = next(advice, "a link or an installed package leads there. Install it without that")
    problem = f"it needs {path}, in the repository's own folder, which this sandbox does not show"
    return f"{problem}: {remedy}, or use bubblewrap"


MOST_RERUN_TESTS = 25
"""Tests that a rerun selects by name. With more, the whole check runs again."""

Read = Callable[[str], str | None]


def report_command(command: str, report: str) -> CheckCommand:
    """Return `command` with options that report its tests, if possible."""
    language, words = _language(command)
    if changed := language.report(command, words, report):
        return changed
    if language.name != "general" and not language.reporting:
        return CheckCommand(command)
    # For scripts and makefiles. Other programs ignore the variables.
    options = " ".join(
        f'{variable}="${{{variable}:-}} {value.format(report=report)}"'
        for one in ecosystems()
        for variable, value in one.reporting.items()
    )
    return CheckCommand(f"export {options}; {command}", report)


def rerun_command(command: str, failed: Collection[str], report: str) -> CheckCommand | None:
    """Return the command that runs only the tests that `failed`; `None` if the runner cannot select them."""
    language, words = _language(command)
    if not words or not 0 < len(failed) <= MOST_RERUN_TESTS:
        return None
    return language.rerun(command, words, failed, report) or None


def related_command(
    command: str, changed: Sequence[str], tests: Sequence[str], paths: Collection[str], read: Read
) -> str:
    """Return `command` for the tests related to the paths `changed`; empty if there are none. `tests` come from the
    tool host. Only files of the tree, `paths`, are named. `read` reads a file of the base."""
    language, words = _language(command)
    existing = [path for path in dict.fromkeys(changed) if path in paths and is_plain(path)]
    related = Related(existing, tests, paths, read)
    return language.related_command(command, words, related) or ""


def _language(command: str) -> tuple[Ecosystem, list[str]]:
    """Return the ecosystem of a plain command and its words; the general one and no words for any other."""
    words = plain_words(command)
    return named(ecosystem_of(words) or "general"), words
