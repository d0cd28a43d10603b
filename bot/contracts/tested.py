"""Which tests a check ran and what became of them, and how much of the changed lines they reach."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TestCounts:
    """Of one run of one check."""

    __test__ = False  # for pytest, which collects what is called so

    passed: int = 0
    failed: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class TestChanges:
    """The tests of a check before and after the change, by name. The tuples hold those that are shown, `counts` how
    many there are of each by the name of the field.

    `broken` passed before and fail now, `mended` failed before and pass now; `appeared` and `vanished` were run on one
    side only, the latter "did not run", never "fixed". `flaky` both failed and passed on the same code; of them
    `newly_flaky` passed before the change. Of those that `appeared`, `new_failing` fail. `note` says what makes the
    comparison doubtful. `edited`: each one that was mended is in a test file that the change edits. `reasons` are
    pairs of a test that is newly failing and why, in one line of the runner's.
    """

    __test__ = False

    before: TestCounts | None = None
    after: TestCounts | None = None
    broken: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    appeared: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    source: str = ""
    note: str = ""
    newly_flaky: tuple[str, ...] = ()
    new_failing: tuple[str, ...] = ()
    edited: bool = False
    reasons: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CoveredFile:
    """Of the lines that the change added or rewrote in `path`: how many can be run, how many were, which were not."""

    path: str
    measured: int
    covered: int
    missed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of the changed lines, after the change. `source` is the report it was read from; `note` why there is none."""

    source: str
    files: tuple[CoveredFile, ...] = ()
    note: str = ""

    @property
    def measured(self) -> int:
        return sum(file.measured for file in self.files)

    @property
    def covered(self) -> int:
        return sum(file.covered for file in self.files)
