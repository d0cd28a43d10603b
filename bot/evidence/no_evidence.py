"""Why a check is no evidence. An environment that it needs cannot be shown: another Python or Node in its place would
run other code. Or its tests opened none of the changed sources: they ran an installed copy, a module of another build,
an older program. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from posixpath import basename

from bot.contracts.formatting import count_of
from bot.contracts.outcome import CheckState
from bot.contracts.plain_text import printable, printable_name
from bot.ecosystems.record import Ecosystem, Use
from bot.ecosystems.registry import ecosystems, ecosystems_of
from bot.ecosystems.test_files import role_of
from bot.evidence.check import NOT_SHOWN, OTHER_CODE, Check
from bot.evidence.reruns import CheckExecution
from bot.evidence.summary import languages_of, may_run_tests, uses_of
from bot.workspace.sandbox.confinement import EnvironmentFolder


def left_out_sentence(environment: EnvironmentFolder) -> str:
    """Return what is not shown, why, what that means and what to do, for people and the model."""
    return printable(
        f"{environment.path or environment.source} {NOT_SHOWN}: {environment.unshown}. Nothing takes its "
        "place, so checks that need it are not run. Install it anew in a folder that only you can write in."
    )


def left_out_note(environments: Iterable[EnvironmentFolder], command: str) -> str:
    """Return why a check does not run; empty if it needs none of `environments`. A script may need any of them."""
    languages = languages_of(command)
    for one in environments:
        name = basename(one.path)
        # One outside of the checkout has another name.
        tools = (tool for tool in ecosystems() if name in tool.folders or (not name and tool.environments))
        needed_by = {tool.name for tool in tools}
        if not languages or languages & needed_by:
            return left_out_sentence(one)
    return ""


_UNKNOWN = (
    "which files its tests open could not be watched, so it is not known whether they ran the changed code: raise "
    "fs.inotify.max_user_instances and fs.inotify.max_user_watches"
)


def sources(changed: Iterable[str], paths: Collection[str]) -> tuple[str, ...]:
    """Return the changed files that tests must open: sources of a known language in the tree, which has `paths`."""
    there = (path for path in changed if path in paths and ecosystems_of([path]))
    return tuple(path for path in there if role_of(path) is None)


def reasons(ran: Sequence[tuple[Check, CheckExecution]], changed: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the number of each check whose tests pass without having opened a changed source of its language, and the
    reason. `changed` are those `sources`, `ran` the checks of one round. A source that another check of the round
    opened counts as well, since a build need not read it again; one that a linter read does not. If a suite failed
    before its first test, the tests of another command, perhaps of one package, must have opened a source themselves.
    """
    tested = (execution.opened for check, execution in ran if may_run_tests(check.command))
    by_any = frozenset[str]().union(*filter(None, tested))
    languages = ecosystems_of(changed)
    # A command that tests fails, and no test that ran is known.
    failed = [pair for pair in ran if pair[1].run.state is CheckState.FAILED and not pair[1].counts_tests]
    one_is_silent = any(Use.TESTS in uses_of(check.command) for check, _ in failed)
    for number, (check, execution) in enumerate(ran):
        if execution.run.state is not CheckState.PASSED or not execution.counts_tests:
            continue
        named = languages_of(check.command)
        about = [one for one in languages if not named or one.name in named]
        opened = (execution.opened or frozenset()) if one_is_silent else by_any
        suffixes = tuple(suffix for one in about for suffix in one.suffixes)
        if about and not any(path.endswith(suffixes) for path in opened):
            yield number, _reason(about[0], changed) if execution.opened is not None else _UNKNOWN


def excused(execution: CheckExecution, reason: str) -> CheckExecution:
    """Return the execution as not runnable."""
    return CheckExecution(execution.run._replace(state=CheckState.NOT_RUNNABLE, note=reason))


def _reason(language: Ecosystem, changed: Sequence[str]) -> str:
    first, *more = (path for path in changed if path.endswith(language.suffixes))
    others = f" or {count_of(len(more), 'other changed file')}" if more else ""
    hint = f". {language.copies}" if language.copies else ""
    return f"{OTHER_CODE} {printable_name(first)}{others}: they run other code, or none of it{hint}"
