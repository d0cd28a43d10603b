"""Coverage of the changed lines: what several checks say of them together."""

from __future__ import annotations

import pytest

from bot.contracts.tested import Coverage, CoveredFile
from bot.evidence.coverage import MOST_FILES, Measured, together, why_missing


def test_a_line_that_one_check_ran_was_run() -> None:
    found = together(
        [
            Measured(("coverage.xml",), {"a.py": {1: True, 2: False, 3: False}}),
            Measured(("lcov.info",), {"a.py": {2: True}, "b.js": {1: False}}),
        ]
    )
    assert found is not None
    assert found.source == "coverage.xml, lcov.info"
    assert found.files == (CoveredFile("a.py", 3, 2, (3,)), CoveredFile("b.js", 1, 0, (1,)))
    assert (found.measured, found.covered, found.note) == (4, 2, "")


def test_where_there_is_none_nothing_is_said_unless_it_was_wanted() -> None:
    assert together([]) is None
    assert together([], "the policy names c.xml, and no check wrote it") == Coverage(
        "", note="the policy names c.xml, and no check wrote it"
    )


def test_a_report_that_could_not_be_read_is_said() -> None:
    assert together([Measured(note="coverage.xml is a link")], "x") == Coverage(
        "", note="coverage.xml is a link"
    )


def test_a_change_that_touches_nothing_measured_is_said() -> None:
    assert together([Measured(("coverage.xml",))]) == Coverage(
        "coverage.xml", note="no changed line is one that it measures"
    )


def test_files_and_lines_are_capped_and_figures_are_not() -> None:
    many = {f"{n:04}.py": dict.fromkeys(range(1, 2001), False) for n in range(MOST_FILES + 2)}
    found = together([Measured(("c",), many)])
    assert found is not None
    assert (len(found.files), found.note) == (MOST_FILES, "2 more files are left out")
    assert (found.files[0].measured, len(found.files[0].missed)) == (2000, 500)


@pytest.mark.parametrize(
    ("commands", "files", "said"),
    [
        (["pytest"], {}, ""),
        (["pytest --cov-report=xml"], {}, ""),
        (["pytest --cov=app"], {}, "a check asks for coverage, and left no report that is read here"),
        (["go test -coverprofile=c.out ./..."], {}, "a check asks for coverage"),
        (["coverage  run -m pytest"], {}, "a check asks for coverage"),
        (["npx c8 mocha"], {}, "a check asks for coverage"),
        (
            ["pytest"],
            {".coveragerc": ""},
            ".coveragerc configures coverage, and no check left a report of it",
        ),
        (
            ["pytest"],
            {"pyproject.toml": '[tool.coverage.run]\nsource = ["a"]\n'},
            "pyproject.toml configures",
        ),
        (["pytest"], {"pyproject.toml": "# coverage\n"}, ""),
        (["npm test"], {"package.json": '{"jest": {"collectCoverage": true}}'}, "package.json configures"),
        (["npm test"], {"package.json": '{"jest": {"collectCoverage": false}}'}, ""),
    ],
)
def test_coverage_is_missed_where_the_repository_asks_for_it(
    commands: list[str], files: dict[str, str], said: str
) -> None:
    assert why_missing(commands, (), files.get).startswith(said)
    assert bool(why_missing(commands, (), files.get)) == bool(said)


def test_what_the_policy_names_comes_first() -> None:
    assert (
        why_missing(["pytest --cov"], ("c.xml",), {}.get) == "the policy names c.xml, and no check wrote it"
    )
