"""Which tests are related to changed files: by name, and by who imports them."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.ecosystems.registry import named
from tests.support.files import write_files

PYTHON = {
    "src/shop/__init__.py": "from .money import cents\n",
    "src/shop/money.py": "def cents(x): return x\n",
    "src/shop/cart.py": "from . import money\n",
    "tests/test_cart.py": "import shop.cart\n",
    "tests/test_public.py": "from shop import cents\n",
    "tests/test_money_rounding.py": "pass\n",
    "tests/test_relative.py": "from . import test_other\n",
    "tests/test_other.py": "import os\n",
    "tests/test_broken.py": "def (:\n",
    "tests/unit/conftest.py": "",
    "tests/unit/test_u.py": "",
    ".venv/lib/test_money.py": "import shop.money\n",
}


def found(folder: Path, files: Mapping[str, str], *changed: str, kind: str = "python") -> list[str]:
    write_files(folder, files)
    find = named(kind).related
    assert find is not None
    return find(folder, changed)


def test_a_named_pipe_holds_nothing_up(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.py")
    assert found(tmp_path, {"a.py": "", "test_a.py": ""}, "a.py") == ["test_a.py"]


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        (["src/shop/money.py"], ["tests/test_money_rounding.py", "tests/test_public.py"]),
        (["src/shop/cart.py"], ["tests/test_cart.py"]),
        (["tests/test_other.py"], ["tests/test_other.py"]),
        (["tests/unit/conftest.py"], ["tests/unit/test_u.py"]),
        (["README.md", "src/shop/gone.py"], []),
    ],
)
def test_tests_of_python_by_name_and_by_import(tmp_path: Path, changed: list[str], tests: list[str]):
    assert sorted(found(tmp_path, PYTHON, *changed)) == sorted(tests)


@pytest.mark.parametrize(
    "statement",
    [
        "import os, a", "import os; import a", "from a import x; y = 1",
        "from a import (  # words\n    x,\n    y as z,\n)", "from a import x, \\\n    y",
        "def f():\n    from a import (\n        x,\n    )", "if 1:\n\timport a",
        "try: pass\nfinally: 0\nimport a as b",
    ],
)  # fmt: skip
def test_an_import_is_read_however_it_is_written(tmp_path: Path, statement: str):
    assert found(tmp_path, {"a.py": "", "test_x.py": f"{statement}\n"}, "a.py") == ["test_x.py"]


def test_of_tests_as_near_those_in_the_nearest_folder_come_first(tmp_path: Path):
    files = {f"{folder}/test_x.py": "import core.add\n" for folder in ("a/tests", "core/tests", "z/tests")}
    tests = found(tmp_path, {"core/add.py": "", **files}, "core/add.py")
    assert tests[0] == "core/tests/test_x.py"


def test_a_file_that_no_parser_survives_costs_nothing(tmp_path: Path):
    deep = {
        "a.py": "",
        "test_a.py": "import a\n",
        "deep.py": f"x = {'(' * 5000}1{')' * 5000}\n",
        "nul.py": "\0",
    }
    assert found(tmp_path, deep, "a.py") == ["test_a.py"]


def test_links_are_not_followed(tmp_path: Path):
    (tmp_path / "test_link.py").symlink_to("/etc/passwd")
    assert found(tmp_path, {"a.py": ""}, "test_link.py") == []


def test_crates_by_the_nearest_manifest(tmp_path: Path):
    files = {
        "Cargo.toml": "[workspace]\nmembers = ['crates/*']\n",
        "crates/a/Cargo.toml": "[package]\nname = 'alpha'\n",
        "crates/a/src/lib.rs": "",
    }
    assert found(tmp_path, files, "crates/a/src/lib.rs", "top.rs", kind="rust") == ["alpha"]
