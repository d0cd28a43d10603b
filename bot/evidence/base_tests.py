"""Compare the base's tests on the changed source with the runs before and after the change. Pure.

A change can make tests pass by editing them, what they import, what they read, or what sets their runner up. With all
of that as the base has it, the same source must pass the same tests.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from bot.contracts.outcome import CheckState, TestsAsTheyWere
from bot.ecosystems.checker import is_in
from bot.ecosystems.test_files import Role, data_root, inner_tests, role_of, suite_of
from bot.evidence.reruns import CheckExecution
from bot.evidence.tests import MOST_NAMES, NameCounts, SuiteResult, contains_test, flaky_tests

NO_TIME = "no time left"
_MOST_FILES = 20
_SHORTEST_TITLE = 3
_SEPARATOR = re.compile(r"::|[.#>›»]")
_RAN = frozenset({CheckState.PASSED, CheckState.FAILED})


class ChangedSuite(NamedTuple):
    """What a change does to the tests of the repository. `put_back` are the paths that are as on the base in the run,
    `mixed` those that are not. `edited` are the texts on the base of edited test files by path, `others` the base's
    other test files, `data` the changed data files. `inside` are source files whose own tests are edited."""

    put_back: tuple[str, ...]
    mixed: tuple[str, ...] = ()
    edited: Mapping[str, str] = {}
    data: tuple[str, ...] = ()
    others: Collection[str] = ()
    inside: tuple[str, ...] = ()


def changed_suite(
    changed: Sequence[str],
    renamed: Collection[str],
    base: Mapping[str, str],
    head: Mapping[str, str],
    base_paths: Collection[str],
) -> ChangedSuite:
    """Sort the paths of a change. `renamed` are old paths, `base` and `head` the texts of changed files."""
    roles = {path: role_of(path) for path in changed}
    edited = {
        path: text
        for path, text in base.items()
        if roles[path] is Role.TEST and (path in head or path in renamed)
    }
    return ChangedSuite(
        put_back=tuple(path for path, role in roles.items() if role not in (None, Role.MIXED)),
        mixed=tuple(path for path, role in roles.items() if role is Role.MIXED),
        edited=edited,
        data=tuple(path for path, role in roles.items() if role is Role.DATA),
        others=[path for path in base_paths if path not in edited and role_of(path) is Role.TEST],
        inside=tuple(
            path
            for path, role in roles.items()
            if role is None and inner_tests(path, base.get(path, "")) != inner_tests(path, head.get(path, ""))
        ),
    )


def suite_of_check(suite: ChangedSuite, *executions: CheckExecution) -> ChangedSuite:
    """Return `suite` without the tests in source files that a check does not run: examples in Python's documentation
    run only if a run names them."""
    names = {name for one in executions if one.suite for name in one.suite.tests}

    def may_run(path: str) -> bool:
        own = suite_of(path)
        return not (own and own.optional) or any(contains_test(path, name) for name in names)

    return suite._replace(inside=tuple(filter(may_run, suite.inside)))


def compare(
    before: CheckExecution, after: CheckExecution, run: CheckExecution, suite: ChangedSuite
) -> TestsAsTheyWere:
    """Return the result of `run`, the base's tests on the changed source."""
    mixed, inside = suite.mixed[:_MOST_FILES], suite.inside[:_MOST_FILES]
    result = TestsAsTheyWere(run.run, run.counts, mixed=mixed, inside=inside)
    if note := _no_result(before, run):
        return result._replace(note=note)
    if before.suite is None or run.suite is None:  # the exit code alone
        return result
    kinds = _kinds(before.suite, after.suite, run, suite, flaky_tests(before.suite, before.rerun_suite))
    counts = tuple((kind, len(names)) for kind, names in kinds.items() if names)
    listed = {kind: tuple(names[:MOST_NAMES]) for kind, names in kinds.items()}
    return result._replace(counts=counts, **listed)  # type: ignore[arg-type]  # the kinds are fields of names


def confirmed_tests(run: CheckExecution, result: TestsAsTheyWere) -> frozenset[str]:
    """Return the tests that the change fixed if they failed before: those that pass in `run`, and none if some of the
    tests in it may be the change's."""
    suite = None if result.note or result.inside else run.suite
    return frozenset(filter(suite.passes, suite.tests)) if suite else frozenset()


def _no_result(before: CheckExecution, run: CheckExecution) -> str:
    """Return why the run cannot be compared; empty if it can."""
    if run.run.state not in _RAN and not (run.suite and run.suite.tests):
        return run.run.note or "it gave no result"
    if before.suite is None and run.suite is None:
        return ""
    if before.suite is None or run.suite is None or not run.suite.source or not before.suite.source:
        return f"no tests could be read {'of the run' if before.suite else 'before the change'}"
    if before.suite.source != run.suite.source or not (before.suite.named and run.suite.named):
        return "the tests of the two runs cannot be compared by name"
    if not run.suite.whole and run.run.state is not CheckState.PASSED and not run.suite.failed:
        return "the run failed, and names no test"
    return ""


def _kinds(
    before: SuiteResult,
    after: SuiteResult | None,
    run: CheckExecution,
    suite: ChangedSuite,
    flaky: Collection[str],
) -> dict[str, list[str]]:
    assert run.suite is not None
    fields = ("failed", "expectation_changed", "unconfirmed", "not_comparable")
    kinds: dict[str, list[str]] = {field: [] for field in fields}
    flaky = {*flaky, *flaky_tests(run.suite, run.rerun_suite)}
    none = NameCounts()
    now = after.tests if after else {}
    for name in sorted({*before.tests, *run.suite.failed}.difference(flaky)):
        old, new = before.tests.get(name, none), run.suite.tests.get(name, none)
        if before.whole and name not in before.tests:
            continue  # a module that cannot be loaded: its tests did not run
        worse = new.failed > old.failed
        if worse or (new.failed and now.get(name, none).passed and not now[name].failed):
            changed = _expectation_changed(name, suite)
            kinds["expectation_changed" if changed else "failed" if worse else "unconfirmed"].append(name)
        elif run.suite.whole and old.passed + old.failed > new.passed + new.failed:
            kinds["not_comparable"].append(name)
    return kinds


def _expectation_changed(name: str, suite: ChangedSuite) -> bool:
    """Whether the change edits the file of a test or data beside it. Some runners do not name the file: then the test
    is in the edited file that has its title, and any changed data may be its own."""
    if any(contains_test(path, name) for path in suite.edited):
        return True
    own = [path for path in suite.others if _is_in_name(path, name) and contains_test(path, name)]
    roots = {data_root(path) for path in suite.data}
    if own:
        return any(is_in(path, root) for path in own for root in roots)
    title = " ".join(_SEPARATOR.split(name.partition(" (")[0])[-1].split()[-2:])
    titled = len(title) >= _SHORTEST_TITLE and any(title in text for text in suite.edited.values())
    return titled or bool(suite.data)


def _is_in_name(path: str, name: str) -> bool:
    """Whether the test `name` may be in the file: a quick look, since there may be thousands of files."""
    stem = re.findall(r"\w+", path.rpartition(".")[0])[-1:]
    return path.endswith("_test.go") or (bool(stem) and stem[0] in name)
