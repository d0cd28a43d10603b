"""How the tests of a Python command are reported, run again and narrowed: pytest and unittest."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from bot.ecosystems.checker import is_in
from bot.ecosystems.registry import unwrapped
from bot.ecosystems.test_command import (
    MOST_PATHS,
    CheckCommand,
    Related,
    Rerun,
    command_line,
    is_plain,
    plain_words,
)

_REPORT = r"--junit-?xml(?:=|\Z)"
_UNITTEST_NAME = r"(?a:\w+(?:\.\w+)+)"
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:/[A-Za-z_][A-Za-z0-9_]*)*\.py\Z")
# Options of pytest that take the next word, beside those written with `=`.
_OPTIONS_WITH_VALUE = frozenset(
    {"-k", "-m", "-n", "-p", "-o", "-c", "-W", "-r", "--rootdir", "--ignore", "--cov", "--deselect"}
)
_LAST_FAILED = ("--lf", "--ff", "--last-failed")


def report(command: str, words: list[str], report_file: str) -> CheckCommand | None:
    if (index := _pytest_index(words)) is not None:
        return _report_by_pytest(command, words[index + 1 :], report_file)
    if _index(words, "unittest") is not None:
        verbose = any(word in ("-v", "--verbose", "-q", "--quiet") for word in words)
        return CheckCommand(command if verbose else f"{command.rstrip()} -v")
    return None


def rerun(command: str, words: list[str], wanted: Rerun) -> CheckCommand | None:
    selected = _selected(command, words, wanted)
    return report(selected, plain_words(selected), wanted.report) if selected else None


def _selected(command: str, words: list[str], wanted: Rerun) -> str:
    if (index := _pytest_index(words)) is not None:
        return _rerun_by_pytest(command, words[index + 1 :], wanted)
    if _index(words, "unittest") is not None and all(
        re.fullmatch(_UNITTEST_NAME, name) for name in wanted.failed
    ):
        return " ".join((command.rstrip(), *(f"-k {name}" for name in sorted(wanted.failed))))
    return ""


def related_command(command: str, words: list[str], related: Related) -> str:
    tests = [path for path in dict.fromkeys(related.tests) if path in related.paths and is_plain(path)][
        :MOST_PATHS
    ]
    if (index := _pytest_index(words)) is not None:
        arguments, named_paths = _without_paths(words[index + 1 :], related.paths)
        tests = [test for test in tests if not named_paths or any(is_in(test, path) for path in named_paths)]
        return command_line(command, index, [*arguments, *tests]) if tests else ""
    modules = [test for test in tests if _MODULE.match(test)]
    index = _index(words, "unittest")
    if index is None or not modules:
        return ""
    options = [
        word for word in words[index + 1 :] if word in ("-v", "-q", "-b", "-f", "--verbose", "--buffer")
    ]
    if len(options) < len(words) - index - 1:
        return ""
    named = [module.removesuffix(".py").replace("/", ".") for module in modules]
    return command_line(command, index, [*options, *named])


def _without_paths(words: Sequence[str], paths: Collection[str]) -> tuple[list[str], list[str]]:
    """Split words into others and those that name files or folders of the repository."""
    folders = {path[:index] for path in paths for index, letter in enumerate(path) if letter == "/"}
    other: list[str] = []
    named_paths: list[str] = []
    for previous, word in zip(("", *words), words, strict=False):
        name = word.partition("::")[0].strip("/").removeprefix("./")
        is_path = (
            not word.startswith("-")
            and previous not in _OPTIONS_WITH_VALUE
            and (name in paths or name in folders)
        )
        (named_paths if is_path else other).append(name if is_path else word)
    return other, named_paths


def _rerun_by_pytest(command: str, rest: list[str], wanted: Rerun) -> str:
    if "no:cacheprovider" in " ".join(rest) or any(word in _LAST_FAILED for word in rest):
        return ""
    return f"{command.rstrip()} --lf --lfnf=none"


def _report_by_pytest(command: str, rest: list[str], report_file: str) -> CheckCommand:
    for index, word in enumerate(rest):
        if re.match(_REPORT, word):
            path = word.partition("=")[2] or "".join(rest[index + 1 : index + 2])
            return CheckCommand(command, own_report=path if _is_inside(path) else "")
    # Where a file cannot be collected the others are still run: it ends with 1 and not with 2, which is as much of a
    # failure, and the tests of the others are known.
    options = f'--junitxml="$TMPDIR/{report_file}" --continue-on-collection-errors'
    return CheckCommand(f"{command.rstrip()} {options}", report_file, complete=True)


def _index(words: list[str], *programs: str) -> int | None:
    """Return the index of the program that a command runs, if it is one of `programs`."""
    inner = unwrapped(words)
    return len(words) - len(inner) if inner and inner[0] in programs else None


def _pytest_index(words: list[str]) -> int | None:
    return _index(words, "pytest", "py.test")


def _is_inside(path: str) -> bool:
    return bool(path) and not path.startswith(("/", "~")) and ".." not in path.split("/")
