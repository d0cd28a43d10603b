"""What is detected in a repository by the files at its base commit, without and with CI."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.environment.detect import detect
from bot.environment.scripts import statements
from tests.support.files import write_files

BUILD_AND_TEST = "cmake --build build -j 4 && ctest --test-dir build --output-on-failure"
TEST = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        import app\n"


def commands(files: Mapping[str, str | None]) -> list[str]:
    return [check.command for check in detect(files, lambda name: files.get(name)).checks]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, []),
        ({"README.md": "", "src/main.rs": ""}, []),
        ({"tests/__init__.py": "", "tests/test_a.py": "import unittest"}, ["python3 -m unittest"]),
        ({"test_a.py": "import unittest"}, ["python3 -m unittest"]),
        ({"tests/test_a.py": "import unittest"}, ["python3 -m unittest discover -s tests"]),
        ({"tests/test_a.py": "import pytest"}, ["python3 -m pytest -q"]),
        ({"tests/test_a.py": "import app\n\nasync def test_a(): pass\n"}, ["python3 -m pytest -q"]),
        ({"test_a.py": "import unittest\n\ndef test_suite(): pass\n"}, ["python3 -m unittest"]),
        ({"tests/test_a.py": "", "conftest.py": ""}, ["python3 -m pytest -q"]),
        ({"src/app/tests/test_a.py": "", "src/app/tests/conftest.py": ""}, ["python3 -m pytest -q"]),
        ({"a_test.py": "", "pyproject.toml": "[tool.pytest.ini_options]"}, ["python3 -m pytest -q"]),
        ({"a_test.py": "", "requirements-dev.txt": "pytest==9"}, ["python3 -m pytest -q"]),
        ({"pyproject.toml": "pytest"}, []),
        ({"package.json": '{"scripts": {"test": "node --test"}}'}, ["npm test"]),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, []),
        ({"package.json": '{"scripts": []}'}, []),
        ({"package.json": "[]"}, []),
        ({"package.json": "{"}, []),
        ({"package.json": "[" * 100_000}, []),
        ({"package.json": None}, []),
        ({"web/package.json": '{"scripts": {"test": "x"}}'}, []),
        ({"go.mod": ""}, ["go test ./..."]),
        ({"Cargo.toml": ""}, ["cargo test"]),
        ({"pom.xml": "<project/>"}, ["mvn -B test"]),
        ({"a.sln": ""}, ["dotnet test"]),
        ({"examples/a.sln": ""}, []),
        ({"CMakeLists.txt": "enable_testing()\n"}, [f"cmake -S . -B build && {BUILD_AND_TEST}"]),
        (
            {
                "CMakeLists.txt": 'enable_testing()\noption(DEV "Tests" OFF)\noption(DOCS "Docs" ON)\noption(X "x")\n',
                "build/CMakeCache.txt": "DEV:BOOL=ON\nCMAKE_GENERATOR:INTERNAL=Ninja\nDOCS:BOOL=ON\nX:BOOL=$(id)\n",
            },
            [f"cmake -S . -B build -G Ninja -DDEV=ON && {BUILD_AND_TEST}"],
        ),
        ({"Makefile": "all:\n\ntest: all\n\t./t\n"}, ["make test"]),
        ({".rspec": "", "spec/a_spec.rb": ""}, ["rspec"]),
        ({"Makefile": "all:\n\techo test:\n"}, []),
        ({"Makefile": "tests:\n"}, []),
        ({"Makefile": "test:\n", "go.mod": ""}, ["go test ./..."]),
        ({"go.mod": "", "package.json": '{"scripts": {"test": "x"}}', "test_a.py": ""},
         ["python3 -m unittest", "npm test", "go test ./..."]),
    ],
)  # fmt: skip
def test_what_is_detected(files: dict[str, str | None], expected: list[str]):
    assert commands(files) == expected


def test_of_thousands_of_tests_only_a_few_from_all_over_are_read():
    files = {f"p{number:04}/test_a.py": "import unittest" for number in range(5000)}
    read: list[str] = []

    def reading(name: str) -> str | None:
        read.append(name)
        return files.get(name)

    detect(files, reading)
    assert 4 < len(read) < 20
    assert read[-1] > "p4000"


@pytest.mark.parametrize("folder", ["", "tests/", "test/"])
@pytest.mark.parametrize("packaged", [True, False])
def test_the_detected_unittest_finds_the_tests_and_the_code(tmp_path: Path, folder: str, packaged: bool):
    files = {"app.py": "", f"{folder}test_app.py": TEST}
    if packaged and folder:
        files[f"{folder}__init__.py"] = ""
    write_files(tmp_path, files)
    [command] = commands(files)
    words = command.replace("python3", sys.executable).split()
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Ran 1 test in" in done.stderr


@pytest.mark.parametrize(
    ("manager", "extra", "install"),
    [
        ("pnpm@10.0.0", {"pnpm-lock.yaml": ""}, "pnpm install --frozen-lockfile"),
        ("pnpm@10.0.0", {}, "pnpm install --no-lockfile"),
        ("yarn@1.22.22", {}, "yarn install --no-lockfile"),
        ("yarn@4.1.0", {".yarnrc.yml": ""}, "yarn install"),
        ("yarn@4.1.0", {".yarnrc.yml": "", "yarn.lock": ""}, "yarn install --immutable"),
    ],
)
def test_an_install_is_frozen_only_if_there_is_a_lock_file(manager: str, extra: dict[str, str], install: str):
    package = {"packageManager": manager, "scripts": {"test": "ava"}, "devDependencies": {"ava": "6"}}
    files = {"package.json": json.dumps(package), **extra}
    [step] = detect(files, files.get).setup
    assert f"; then {install}; else" in step.command


# Scripts


BEYOND_THE_TABLE = ["{\U0010ffff", "{1\U000fffff..3}", "{1..\U0010ffff}", "{1..2\uffff}", "{\ud800"]


def test_no_letter_is_beyond_what_the_parsers_scanner_can_look_up():
    """In a process of its own: it was the end of it."""
    code = f"from bot.environment.scripts import statements\nfor c in {BEYOND_THE_TABLE!r} * 50: statements('ls ' + c)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_script_that_takes_the_parser_too_long_is_one_statement():
    script = "ls " + "[a;" * 2_700
    started = time.process_time()
    assert [one.text for one in statements(script)] == [script]
    assert time.process_time() - started < 3
