"""The list of mutations is about every attack, and names tests and lines that are there."""

from __future__ import annotations

import re

import pytest

from tests.attacks.mutate import README, ROOT, Mutation, mutations

ROWS = list(mutations(README.read_text()))
_ON_THE_PAGE = re.findall(
    r"^\| (A-\d\d) \|.*\| ((?:`[^`]+`(?:, )?)+) \|$",
    (ROOT / "docs" / "security.md").read_text(),
    re.MULTILINE,
)
ATTACKS = [attack for attack, _ in _ON_THE_PAGE]


def named(row: Mutation) -> str:
    return f"{row.rows} {row.file} {row.old}"


def test_every_attack_has_a_row() -> None:
    attacks = {attack for row in ROWS for attack in re.findall(r"A-\d\d", row.rows)}
    assert sorted(set(ATTACKS) ^ attacks) == []


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_a_row_names_a_line_and_tests_that_are_there(row: Mutation) -> None:
    assert (ROOT / row.file).read_text().count(row.old) == 1
    assert row.new != row.old
    assert row.tests
    for test in row.tests:
        file, _, name = test.partition("::")
        text = (ROOT / file).read_text()
        assert not name or re.search(rf"^def {re.escape(name.partition('[')[0])}\(", text, re.MULTILINE)


def test_the_page_on_security_names_every_attack_and_where_it_is_tried() -> None:
    assert sorted(set(ATTACKS)) == ATTACKS and ATTACKS[:61] == [f"A-{number:02}" for number in range(1, 62)]
    for file in re.findall(r"`([^`]+)`", " ".join(files for _, files in _ON_THE_PAGE)):
        assert (ROOT / "tests" / file).is_file(), file


def test_every_attack_is_tried_by_a_test_that_bears_its_number() -> None:
    names = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    tried = {
        f"A-{number}"
        for name in re.findall(r"^def test((?:_a\d\d)+)_", names, re.MULTILINE)
        for number in re.findall(r"\d\d", name)
    }
    assert sorted(set(ATTACKS) - tried) == []


def test_a_row_is_read_as_it_is_written() -> None:
    text = '| A-40 | `tests/x.py::test_a` `tests/y.py` | `bot/x.py` | `a \\| b == "c"` | `True` |\n| attack | x |\n'
    assert list(mutations(text)) == [
        Mutation("A-40", ("tests/x.py::test_a", "tests/y.py"), "bot/x.py", 'a | b == "c"', "True")
    ]
