"""Change a check's command so that it reports its tests, or runs only some of them. Neither effect nor exit code
change.

Options are added only to plain commands of known runners; any other command gets variables. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from bot.ecosystems.record import Ecosystem
from bot.ecosystems.registry import ecosystem_of, ecosystems, named
from bot.ecosystems.test_command import CheckCommand, Related, Rerun, is_plain, plain_words

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
    return language.rerun(command, words, Rerun(failed, report)) or None


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
