"""Coverage of the changed lines: what several checks say of them together."""

from bot.contracts.evidence import Coverage, CoveredFile
from bot.evidence.coverage import MOST_FILES, MeasuredCoverage, merge_coverage


def test_a_line_that_one_check_ran_was_run() -> None:
    coverage = merge_coverage(
        [
            MeasuredCoverage(("coverage.xml",), {"a.py": {1: True, 2: False, 3: False}}),
            MeasuredCoverage(("lcov.info",), {"a.py": {2: True}, "b.js": {1: False}}),
        ]
    )
    assert coverage is not None
    assert coverage.source == "coverage.xml, lcov.info"
    assert coverage.files == (CoveredFile("a.py", 3, 2, (3,)), CoveredFile("b.js", 1, 0, (1,)))
    assert (coverage.measured, coverage.covered, coverage.note) == (4, 2, "")


def test_where_there_is_none_nothing_is_said_unless_it_was_wanted() -> None:
    assert merge_coverage([]) is None
    assert merge_coverage([], "the policy names c.xml, and no check wrote it") == Coverage(
        "", note="the policy names c.xml, and no check wrote it"
    )


def test_a_report_that_could_not_be_read_is_said() -> None:
    assert merge_coverage([MeasuredCoverage(note="coverage.xml is a link")], "x") == Coverage(
        "", note="coverage.xml is a link"
    )


def test_a_change_that_touches_nothing_measured_is_said() -> None:
    assert merge_coverage([MeasuredCoverage(("coverage.xml",))]) == Coverage(
        "coverage.xml", note="no changed line is one that it measures"
    )


def test_files_and_lines_are_capped_and_figures_are_not() -> None:
    many = {f"{n:04}.py": dict.fromkeys(range(1, 2001), False) for n in range(MOST_FILES + 2)}
    coverage = merge_coverage([MeasuredCoverage(("c",), many)])
    assert coverage is not None
    assert (len(coverage.files), coverage.note) == (MOST_FILES, "2 more files are left out")
    assert (coverage.files[0].measured, len(coverage.files[0].missed)) == (2000, 500)
