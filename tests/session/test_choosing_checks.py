"""Which checks run, and for how long, as a request says."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.checkout.clone import Source, check_out
from bot.contracts.errors import UsageError
from bot.evidence.check import Check
from bot.session.context.base import chosen_checks, detected_at
from tests.session.conftest import Cli
from tests.session.test_environment_run import fixed
from tests.support.fix_script import shell
from tests.support.repositories import make_repository

CHECKS = (
    Check("Unit tests", "pytest"),
    Check("lint", "ruff check ."),
    Check("pytest", "pytest", fallback=True),
)
POLICY = """\
version: 1
diagnostics: {checkers: []}
checks: [{name: Unit tests, command: 'true'}, {name: lint, command: 'false'}]
"""


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["Unit tests", "lint", "pytest"]),
        ({"no-checks": "true"}, []),
        ({"check": "Unit tests"}, ["Unit tests"]),
        ({"check": "unit-tests"}, ["Unit tests"]),
        ({"check": "LINT"}, ["lint"]),
    ],
)
def test_a_request_chooses_checks_by_name(options: dict[str, str], names: list[str]) -> None:
    assert [check.name for check in chosen_checks(CHECKS, options)] == names


def test_a_fallback_that_is_chosen_runs() -> None:
    assert not chosen_checks(CHECKS, {"check": "pytest"})[0].fallback


def test_a_name_that_no_check_has_is_an_error_with_those_there_are() -> None:
    with pytest.raises(
        UsageError, match=r"no check `tests` here\. There are: `Unit tests`, `lint`, `pytest`"
    ):
        chosen_checks(CHECKS, {"check": "tests"})


def test_at_a_terminal(cli: Cli, tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "app", {"a": "1\n", ".github/agent.yml": POLICY})
    outcome = fixed(
        cli, repo, "auto", shell("echo 2 > a"), options=("--check", "lint", "--check-minutes", "3")
    )
    assert [check["name"] for check in outcome["checks"]] == ["lint"]
    outcome = fixed(cli, repo, "auto", shell("echo 3 > a"), options=("--no-checks",))
    assert outcome["checks"] == []


@pytest.mark.checkers
@pytest.mark.parametrize(("options", "are_compared"), [((), True), (("--no-checks",), False)])
def test_no_checks_are_no_checkers_either(
    cli: Cli, tmp_path: Path, options: tuple[str, ...], are_compared: bool
) -> None:
    repo = make_repository(tmp_path / "app", {"a.py": "one = 1\n", "ruff.toml": ""})
    outcome = fixed(cli, repo, "auto", shell("echo 'two = 2' >> a.py"), options=options)
    assert bool(outcome["diagnostics"]) is are_compared


def test_the_options_are_those_of_the_users_own_build_and_no_link_is_followed(tmp_path: Path) -> None:
    """As of catchorg/Catch2, which builds its tests with an option only."""
    files = {"CMakeLists.txt": 'enable_testing()\noption(DEV "Tests" OFF)\n', ".gitignore": "build\n"}
    repo = make_repository(tmp_path / "app", files)
    cache = repo / "build/CMakeCache.txt"
    cache.parent.mkdir()
    cache.write_text("DEV:BOOL=ON\n")
    (tmp_path / "run").mkdir()
    checkout = check_out(Source(str(repo / ".git"), "HEAD"), tmp_path / "run")
    assert ["-DDEV=ON" in check.command for check in detected_at(checkout, repo).checks] == [True]
    assert ["-DDEV=ON" in check.command for check in detected_at(checkout).checks] == [False]
    cache.symlink_to(cache.rename(tmp_path / "elsewhere"))
    assert ["-DDEV=ON" in check.command for check in detected_at(checkout, repo).checks] == [False]
