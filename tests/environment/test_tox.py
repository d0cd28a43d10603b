"""What tox, nox and hatch would install and run, read from their files."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bot.environment.detection import Read
from bot.environment.tox import ToolEnvironment, hatch_environment, nox_sessions, tox_environment
from bot.parsing.child import plain
from bot.parsing.parser import ParseError, Parser


def tox(command: str, **files: str) -> list[ToolEnvironment]:
    return tox_environment(command.split(), _reader(files))


def _reader(files: Mapping[str, str]) -> Read:
    return Read({name.replace("_", "."): text for name, text in files.items()}.get, _InThisProcess())


class _InThisProcess(Parser):
    def parse(self, function, text):
        try:
            return plain(function(text))
        except Exception as error:
            raise ParseError(str(error)) from error


def commands(found: list[ToolEnvironment]) -> list[str]:
    return [" ".join(words) for one in found for words in one.commands]


def installs(found: list[ToolEnvironment]) -> list[str]:
    return [argument for one in found for argument in one.install]


@pytest.mark.parametrize(
    ("command", "section", "runs"),
    [
        ("tox -e py3", "testenv:py{0-5,x}", ["pytest"]),
        ("tox -epy312-cov", "testenv:py312-{cov,nocov}", ["pytest"]),
        ("tox -e py9", "testenv:py{0-5}", []),
        ("tox -e lint,docs", "testenv:{lint,docs}", ["pytest", "pytest"]),
        ("tox -e py-tests", "testenv:3.12-tests", ["pytest"]),
        ("tox -e py-tests", "testenv:3.12-docs", []),
    ],
)
def test_an_environment_of_ini_is_found_by_its_pattern(command: str, section: str, runs: list[str]) -> None:
    assert commands(tox(command, tox_ini=f"[{section}]\ncommands = pytest\n")) == runs


@pytest.mark.parametrize(
    ("lines", "runs"),
    [
        ("cov: pytest --cov\n  !cov: pytest -q", ["pytest --cov"]),
        ("lint: ruff check\n  pytest", ["pytest"]),
        ("- pytest {posargs:-x}\n  ! false", ["pytest -x", "false"]),
        (
            "pytest --basetemp={envtmpdir}/a {env:WHERE:tests} {tty:-t}",
            ["pytest --basetemp=.tox-tmp/a tests"],
        ),
        ("pytest {env:WHERE}", []),
        ("pytest 'unclosed", []),
        ("{[base]commands}", ["make check"]),
        ("{envpython} -m pytest \\\n   -q", ["python -m pytest -q"]),
    ],
)
def test_commands_of_ini_are_filled_in(lines: str, runs: list[str]) -> None:
    text = f"[base]\ncommands = make check\n[testenv]\ncommands =\n  {lines}\n"
    assert commands(tox("tox -e py312-cov", tox_ini=text)) == runs


def test_dependencies_and_variables_of_ini_are_read() -> None:
    text = """[testenv]
deps =
  -r {toxinidir}/requirements/tests.txt
  -e ./plugin
  {env:UNKNOWN}
  --pre
  pytest>=8  # newer
dependency_groups = tests, docs
extras = fast
  small
setenv =
  A = 1
  B = {envdir}
  not a variable
commands = pytest
"""
    [found] = tox("tox", tox_ini=text)
    assert found.install == (
        "-e '.[fast,small]'", "-r ./requirements/tests.txt", "-e ./plugin", "'pytest>=8'",
        "--group tests", "--group docs",
    )  # fmt: skip
    assert found.environment == {"A": "1"}


@pytest.mark.parametrize(("folder", "runs"), [("docs", []), (".", ["pytest"]), ("{toxinidir}", ["pytest"])])
def test_commands_of_another_folder_are_left_out(folder: str, runs: list[str]) -> None:
    text = f"[testenv]\nskip_install = true\nchangedir = {folder}\ncommands = pytest\n"
    found = tox("tox", tox_ini=text)
    assert (commands(found), installs(found)) == (runs, [])


@pytest.mark.parametrize("text", ["", "no section", "[tool]\nx = 1\n", "[testenv]\n" + "# long\n" * 40_000])
def test_a_file_that_is_none_of_tox_selects_nothing(text: str) -> None:
    assert tox("tox", tox_ini=text) == []


def test_ini_within_toml_and_a_file_of_its_own_are_read() -> None:
    legacy = '[tool.tox]\nlegacy_tox_ini = """\n[testenv]\ncommands = pytest\n"""\n'
    assert commands(tox("tox", pyproject_toml=legacy)) == ["pytest"]
    assert tox("tox", pyproject_toml="[tool.tox]\nlegacy_tox_ini = 1\n") == []
    own = """[env_run_base]
deps = ["pytest", 1]
dependency_groups = ["tests"]
extras = ["fast"]
[env.py]
commands = [["pytest", "{posargs}", "{tox_root}/tests"], ["echo", "{env:NAME}"], "text"]
[env.lint]
skip_install = true
commands = "ruff"
"""
    found = tox("tox -e py,lint,none", tox_toml=own)
    assert commands(found) == ["pytest ./tests"]
    assert found[0].install == ("-e '.[fast]'", "pytest", "--group tests")
    assert found[1].install == ("pytest", "--group tests")


HATCH = """[tool.hatch.envs.default]
dependencies = ["pytest", "--pre"]
features = ["fast"]
[tool.hatch.envs.default.scripts]
check = ["cov -x {args:tests}", "cov"]
cov = "pytest --cov"
[tool.hatch.envs.docs]
detached = true
[tool.hatch.envs.docs.scripts]
build = "mkdocs build"
"""


@pytest.mark.parametrize(
    ("command", "runs", "installed"),
    [
        ("hatch run check", ["pytest --cov", "pytest --cov"], ["-e '.[fast]'", "pytest"]),
        ("hatch run docs:build", ["mkdocs build"], ["pytest"]),
        ("hatch -e docs run build", ["mkdocs build"], ["pytest"]),
        ("hatch run python -m pytest", ["python -m pytest"], ["-e '.[fast]'", "pytest"]),
        ("hatch test", ["pytest"], ["-e '.[fast]'", "pytest"]),
        ("hatch run", [], []),
        ("hatch build", [], []),
    ],
)
def test_scripts_of_hatch_are_followed(command: str, runs: list[str], installed: list[str]) -> None:
    found = hatch_environment(command.split(), _reader({"pyproject_toml": HATCH}))
    assert (commands(found), installs(found)) == (runs, installed)


NOX = """import nox
from nox import session

@nox.session(name="unit", python=["3.12"])
def tests_of_units(session):
    session.install("pytest", "-e", ".")
    session.run("pytest", "-q", *session.posargs)

@session
def tests(session):
    session.install(NAME)
    session.run(*COMMAND)
    session.log("x")
    print("x")

@other
@nox.session()
def lint(session):
    session.run_always("ruff", "check")

def helper(): pass
"""


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ("nox", []),
        ("nox -s unit", ["pytest -q"]),
        ("nox -s unit-3.12 lint", ["pytest -q", "ruff check"]),
        ("nox --session tests_of_units", ["pytest -q"]),
        ("nox -s none", []),
    ],
)
def test_sessions_of_nox_are_read(command: str, runs: list[str]) -> None:
    assert commands(nox_sessions(command.split(), _reader({"noxfile_py": NOX}))) == runs


@pytest.mark.parametrize("text", ["", "def (", "x = 1"])
def test_a_noxfile_that_cannot_be_read_has_no_sessions(text: str) -> None:
    assert nox_sessions(["nox"], _reader({"noxfile_py": text})) == []
