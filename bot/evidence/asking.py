"""How a check is asked to name its tests: what is added to a command, or put in its environment, that changes neither
what it does nor what its exit code means. People read the command as it stands in the policy.

Pure. A command is only added to where it is one plain command of a runner that is known here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass

MOST_AGAIN = 25
"""Tests that are named to a runner for a second run; more are run with all the others."""

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
class Asked:
    """What is run for a check. `report` is the file in the temporary folder that pytest writes, empty for none;
    `sure` where it is the report of all that runs. `own` is the report that the command itself names."""

    command: str
    report: str = ""
    sure: bool = False
    own: str = ""


def asked(command: str, report: str) -> Asked:
    """`command` such that its tests are named, where that can be had."""
    words = plain_words(command)
    if words is None:
        return _by_environment(command, report)
    if (place := pytest_at(words)) is not None:
        return _of_pytest(command, words[place + 1 :], report)
    if unittest_at(words) is not None:
        verbose = any(word in ("-v", "--verbose", "-q", "--quiet") for word in words)
        return Asked(command if verbose else f"{command.rstrip()} -v")
    if words[:2] == ["go", "test"] and not {"-v", "-json", "--json", "-bench"}.intersection(words):
        return Asked(command.replace("go test", "go test -v", 1))  # else it names only tests that fail
    if words and (words[0].rpartition("/")[2] in _OTHER_RUNNERS):
        return Asked(command)
    return _by_environment(command, report)


def again(command: str, failed: Collection[str], report: str, *, fresh: bool = False) -> Asked | None:
    """What is run for those that `failed` alone; `None` if the runner cannot be told. `fresh`: it is another tree than
    the one in which they have just run, so that nothing there remembers them."""
    words = plain_words(command)
    if words is None or not 0 < len(failed) <= MOST_AGAIN:
        return None
    if (place := pytest_at(words)) is not None:
        return _again_by_pytest(command, words[place + 1 :], failed, report, fresh=fresh)
    if unittest_at(words) is not None:
        if not all(re.fullmatch(_UNITTEST_NAME, name) for name in failed):
            return None
        return asked(" ".join((command.rstrip(), *(f"-k {name}" for name in sorted(failed)))), report)
    if words[:2] == ["go", "test"] and not any(word.startswith(("-run", "--run", "-args")) for word in words):
        # Of `example.com/app.TestAdd/one_two` the function is run again, with all below it.
        functions = {name.rpartition(".")[2].partition("/")[0] for name in failed}
        if all(re.fullmatch(_GO_TEST, function) and function.startswith("Test") for function in functions):
            return Asked(f"{command.rstrip()} -run '^({'|'.join(sorted(functions))})$'")
    return None


def _again_by_pytest(
    command: str, rest: list[str], failed: Collection[str], report: str, *, fresh: bool
) -> Asked | None:
    if fresh:
        # By the names of functions: what else a report says of a test is no argument of pytest's.
        functions = {name.rpartition("::")[2].partition("[")[0] for name in failed}
        plain = all(re.fullmatch(_TEST_FUNCTION, function) for function in functions)
        if not plain or any(word.startswith(("-k", "--lf", "--ff", "--last-failed")) for word in rest):
            return None
        return asked(f"{command.rstrip()} -k '{' or '.join(sorted(functions))}'", report)
    if "no:cacheprovider" in " ".join(rest) or any(
        word in ("--lf", "--ff", "--last-failed") for word in rest
    ):
        return None
    return asked(f"{command.rstrip()} --lf --lfnf=none", report)


def _of_pytest(command: str, rest: list[str], report: str) -> Asked:
    for number, word in enumerate(rest):
        if re.match(_REPORT, word):
            own = word.partition("=")[2] or "".join(rest[number + 1 : number + 2])
            return Asked(command, own=own if _is_inside(own) else "")
    # Where a file cannot be collected the others are still run: it ends with 1 and not with 2, which is as much of a
    # failure, and the tests of the others are known.
    more = f'--junitxml="$TMPDIR/{report}" --continue-on-collection-errors'
    return Asked(f"{command.rstrip()} {more}", report, sure=True)


def _by_environment(command: str, report: str) -> Asked:
    """For scripts and makefiles: pytest reads a variable, and what is not pytest leaves it alone."""
    options = f"PYTEST_ADDOPTS=\"${{PYTEST_ADDOPTS:-}} --junitxml='$TMPDIR/{report}'\""
    return Asked(f"export {options}; {command}", report)


def plain_words(command: str) -> list[str] | None:
    """The words of a command that is one program with its arguments; `None` for whatever else a shell may do."""
    if re.search(_SHELL, command):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    while words and re.match(_ASSIGNMENT, words[0]):
        words.pop(0)
    return None if not words or "--" in words else words


def pytest_at(words: list[str]) -> int | None:
    """Where in a command pytest stands; `None` where it is not what is run."""
    for place, word in enumerate(words):
        if word.rpartition("/")[2] not in ("pytest", "py.test"):
            continue
        before = words[:place]
        if not before or (before[-1] == "run" and len(before) == 2 and before[0] in _CARRIERS):
            return place
        if before[-1] == "-m":
            return place if _is_python(before[:-1]) else None
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


def unittest_at(words: list[str]) -> int | None:
    """Where `-m` of `-m unittest` stands; `None` if it is not what is run."""
    for place in range(1, len(words) - 1):
        if words[place : place + 2] == ["-m", "unittest"]:
            return place if _is_python(words[:place]) else None
    return None


def _is_inside(path: str) -> bool:
    return bool(path) and not path.startswith(("/", "~")) and ".." not in path.split("/")
