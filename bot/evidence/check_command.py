"""Add options to a check's command, or variables to its environment, so that it reports its tests. Neither effect nor
exit code change.

Options are added only to plain commands of known runners.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass

MOST_RERUN_TESTS = 25
"""Tests that a rerun selects by name. With more, the whole check runs again."""

# Compiled where they are used, and not at each start of the program.
_SHELL = r"[;&|<>()$`\\\n#!{}]"
_ASSIGNMENT = r"[A-Za-z_][A-Za-z0-9_]*="
_PYTHON = r"(?:.*/)?python[\d.]*"
_CARRIERS = frozenset({"uv", "poetry", "pdm", "pipenv", "hatch", "rye"})
_OTHER_RUNNERS = frozenset(
    {"go", "cargo", "npm", "npx", "yarn", "pnpm", "node", "jest", "vitest", "mocha", "deno", "bun"}
)
_REPORT = r"--junit-?xml(?:=|\Z)"
_GO_TEST = r"[A-Za-z_][A-Za-z0-9_]*"
_TEST_FUNCTION = r"(?a:test\w*)"
_UNITTEST_NAME = r"(?a:\w+(?:\.\w+)+)"


@dataclass(frozen=True, slots=True)
class CheckCommand:
    """The command that runs for a check. `report` is the file in the temporary folder that pytest writes, or empty;
    `complete`: it covers all tests of the run. `own_report` is the report that the command itself names."""

    command: str
    report: str = ""
    complete: bool = False
    own_report: str = ""


def report_command(command: str, report: str) -> CheckCommand:
    """Return `command` with options that report its tests, if possible."""
    words = plain_words(command)
    if words is None:
        return _report_by_environment(command, report)
    if (index := pytest_index(words)) is not None:
        return _report_by_pytest(command, words[index + 1 :], report)
    if unittest_index(words) is not None:
        verbose = any(word in ("-v", "--verbose", "-q", "--quiet") for word in words)
        return CheckCommand(command if verbose else f"{command.rstrip()} -v")
    if words[:2] == ["go", "test"] and not {"-v", "-json", "--json", "-bench"}.intersection(words):
        return CheckCommand(command.replace("go test", "go test -v", 1))  # else it names only tests that fail
    if words and (words[0].rpartition("/")[2] in _OTHER_RUNNERS):
        return CheckCommand(command)
    return _report_by_environment(command, report)


def rerun_command(
    command: str, failed: Collection[str], report: str, *, fresh: bool = False
) -> CheckCommand | None:
    """Return the command that runs only the tests that `failed`; `None` if the runner cannot select them. `fresh`: the
    tree is not the one of the first run, so it has no cache of failed tests."""
    words = plain_words(command)
    if words is None or not 0 < len(failed) <= MOST_RERUN_TESTS:
        return None
    if (index := pytest_index(words)) is not None:
        return _rerun_by_pytest(command, words[index + 1 :], failed, report, fresh=fresh)
    if unittest_index(words) is not None:
        if not all(re.fullmatch(_UNITTEST_NAME, name) for name in failed):
            return None
        return report_command(
            " ".join((command.rstrip(), *(f"-k {name}" for name in sorted(failed)))), report
        )
    if words[:2] == ["go", "test"] and not any(word.startswith(("-run", "--run", "-args")) for word in words):
        # Of `example.com/app.TestAdd/one_two` the function is run again, with all below it.
        functions = {name.rpartition(".")[2].partition("/")[0] for name in failed}
        if all(re.fullmatch(_GO_TEST, function) and function.startswith("Test") for function in functions):
            return CheckCommand(f"{command.rstrip()} -run '^({'|'.join(sorted(functions))})$'")
    return None


def _rerun_by_pytest(
    command: str, rest: list[str], failed: Collection[str], report: str, *, fresh: bool
) -> CheckCommand | None:
    if fresh:
        # By the names of functions: what else a report says of a test is no argument of pytest's.
        functions = {name.rpartition("::")[2].partition("[")[0] for name in failed}
        plain = all(re.fullmatch(_TEST_FUNCTION, function) for function in functions)
        if not plain or any(word.startswith(("-k", "--lf", "--ff", "--last-failed")) for word in rest):
            return None
        return report_command(f"{command.rstrip()} -k '{' or '.join(sorted(functions))}'", report)
    if "no:cacheprovider" in " ".join(rest) or any(
        word in ("--lf", "--ff", "--last-failed") for word in rest
    ):
        return None
    return report_command(f"{command.rstrip()} --lf --lfnf=none", report)


def _report_by_pytest(command: str, rest: list[str], report: str) -> CheckCommand:
    for index, word in enumerate(rest):
        if re.match(_REPORT, word):
            path = word.partition("=")[2] or "".join(rest[index + 1 : index + 2])
            return CheckCommand(command, own_report=path if _is_inside(path) else "")
    # Where a file cannot be collected the others are still run: it ends with 1 and not with 2, which is as much of a
    # failure, and the tests of the others are known.
    options = f'--junitxml="$TMPDIR/{report}" --continue-on-collection-errors'
    return CheckCommand(f"{command.rstrip()} {options}", report, complete=True)


def _report_by_environment(command: str, report: str) -> CheckCommand:
    """Use the variables that pytest and go read, for scripts and makefiles. Other programs ignore them."""
    options = f"PYTEST_ADDOPTS=\"${{PYTEST_ADDOPTS:-}} --junitxml='$TMPDIR/{report}'\""
    options += ' GOFLAGS="${GOFLAGS:-} -v"'
    return CheckCommand(f"export {options}; {command}", report)


def plain_words(command: str) -> list[str] | None:
    """Return the words of a command that is one program with arguments; `None` if it needs a shell."""
    if re.search(_SHELL, command):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    while words and re.match(_ASSIGNMENT, words[0]):
        words.pop(0)
    return None if not words or "--" in words else words


def pytest_index(words: list[str]) -> int | None:
    """Return the index of pytest in a command, `None` if the command does not run it."""
    for index, word in enumerate(words):
        if word.rpartition("/")[2] not in ("pytest", "py.test"):
            continue
        prefix = words[:index]
        if not prefix or (prefix[-1] == "run" and len(prefix) == 2 and prefix[0] in _CARRIERS):
            return index
        if prefix[-1] == "-m":
            return index if _is_python(prefix[:-1]) else None
        return None
    return None


def _is_python(words: list[str]) -> bool:
    """`python3`, `uv run python`, `coverage run`, `python -m coverage run`, their options apart."""
    names = [word for word in words if not word.startswith("-")]
    if len(names) > 1 and names[0] in _CARRIERS and names[1] == "run":
        names = names[2:]
    if names and re.fullmatch(_PYTHON, names[0]):
        names = names[1:]
        return not names or names == ["coverage", "run"]
    return [name.rpartition("/")[2] for name in names] == ["coverage", "run"]


def unittest_index(words: list[str]) -> int | None:
    """Return the index of `-m` in `-m unittest`, `None` if the command does not run it."""
    for index in range(1, len(words) - 1):
        if words[index : index + 2] == ["-m", "unittest"]:
            return index if _is_python(words[:index]) else None
    return None


def _is_inside(path: str) -> bool:
    return bool(path) and not path.startswith(("/", "~")) and ".." not in path.split("/")
