"""`Suite`: the tests of a language, by names of files and by lines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The tests of a language. `suffixes` are of source files, `tests` patterns of their names without the suffix.
    `settings` are patterns of the names of test runners' settings, `mixed` of those of settings beside others. `inside`
    matches tests in source files, which do not run by themselves if they are `optional`. With `beside` a source file
    may have all of its tests; with `collected_by_name` tests in files without such a name are not run. `assertion`,
    `skip` and `test` match lines, `test` the one where a test begins, whose name may follow on a later line. With
    `hash_comments` comments begin with `#`."""

    suffixes: str
    tests: str
    settings: str = ""
    mixed: str = ""
    inside: str = ""
    optional: bool = False
    beside: bool = False
    collected_by_name: bool = False
    assertion: str = (
        r"\bassert\w*|\bexpect\w*\s*\(|\.should\b|\b(?:EXPECT|ASSERT|CHECK|REQUIRE)(?:_\w+)?\s*\("
    )
    skip: str = (
        r"\b(?:skip|xfail|ignore|disabled|pending)\b\s*[(:]|\b(?:GTEST_SKIP|DISABLED_)"
        r"|\bmarkTest(?:Skipped|Incomplete)\b"
    )
    test: str = (
        r"\b(?:TEST|TEST_F|TEST_P|TEST_CASE|SCENARIO)\s*\(([^)]*)|^\s*(?:public\s+)?function\s+(test\w*)"
        r"|^@test\s+(.*)"
    )
    hash_comments: bool = False
