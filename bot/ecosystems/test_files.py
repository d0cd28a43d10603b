"""The files of a repository that make up its tests: tests and their helpers, data that tests read, and settings of test
runners. Decided by the path alone, so that no content can hide a file. Each ecosystem has its own as `Suite`s."""

import re
from enum import StrEnum
from functools import cache

from bot.contracts.name_patterns import is_one_of
from bot.ecosystems.record import Suite
from bot.ecosystems.registry import ecosystems


class Role(StrEnum):
    """`TEST`: code that tests or that only tests use. `DATA`: fixtures, snapshots, golden files. `SETTINGS`: of a test
    runner. `MIXED`: settings of a test runner beside others."""

    TEST = "test"
    DATA = "data"
    SETTINGS = "settings"
    MIXED = "mixed"


_TEST_FOLDERS = "test tests spec specs e2e __test__ __tests__ *Test *Tests *.Test *.Tests"
_DATA_FOLDERS = (
    "testdata test-data test_data fixture fixtures __fixtures__ __mocks__ snapshot snapshots __snapshots__"
    " golden goldens cassettes"
)
_DATA_NAMES = "*.snap *.snapshot *.golden *.approved.* *.verified.* *.ambr"


@cache
def _suites() -> tuple[dict[str, Suite], str, str]:
    """Return the suites by suffix, and the patterns of settings and of mixed files."""
    suites = [suite for one in ecosystems() for suite in one.suites]
    by_suffix = {suffix: suite for suite in suites for suffix in suite.suffixes.split()}
    return by_suffix, " ".join(one.settings for one in suites), " ".join(one.mixed for one in suites)


def suite_of(path: str) -> Suite | None:
    """Return what is known of tests in the language of `path`, by its suffix."""
    return _suites()[0].get(path.rpartition(".")[2].lower())


def role_of(path: str) -> Role | None:
    """Return what `path` is among the tests of its repository, `None` for another file."""
    *folders, name = path.split("/")
    _, settings, mixed = _suites()
    if is_one_of(settings, name):
        return Role.SETTINGS
    suite = suite_of(name)
    in_data = any(map(_is_data_folder, folders)) or is_one_of(_DATA_NAMES, name)
    if in_data or any(map(_is_test_folder, folders)):
        return Role.TEST if suite and not in_data else Role.DATA
    if is_one_of(mixed, name):
        return Role.MIXED
    # A folder may have become a link or a file.
    if _is_test_folder(name) or _is_data_folder(name):
        return Role.DATA
    return Role.TEST if named_as_test(name) else None


def data_root(path: str) -> str:
    """Return the folder whose tests may read the data file `path`: what holds its outermost data folder."""
    *folders, _ = path.split("/")
    number = next((at for at, one in enumerate(folders) if _is_data_folder(one)), len(folders))
    return "/".join(folders[:number])


def loads_itself(name: str) -> bool:
    """Whether a test runner or the interpreter loads a file of this name by itself. `name` is in lower case."""
    return is_one_of(_suites()[1].lower(), name)


def named_as_test(path: str) -> bool:
    """Whether a source file has the name of a test, whatever its folder."""
    *_, name = path.split("/")
    suite = suite_of(name)
    return suite is not None and is_one_of(suite.tests, name.rpartition(".")[0])


def inner_tests(path: str, text: str) -> list[str]:
    """Return the tests within a source file: Rust's test modules, examples in documentation."""
    pattern = (suite := suite_of(path)) and suite.inside
    return [match[0] for match in re.finditer(pattern, text, re.MULTILINE)] if pattern else []


def _is_test_folder(name: str) -> bool:
    return is_one_of(_TEST_FOLDERS, name) or is_one_of(_TEST_FOLDERS, name.lower())


def _is_data_folder(name: str) -> bool:
    return is_one_of(_DATA_FOLDERS, name.lower())
