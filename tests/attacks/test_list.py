"""The table of attacks in docs/security.md and the tests agree."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_ON_THE_PAGE = re.findall(
    r"^\| (A-\d{2,3}) \|.*\| ((?:`[^`]+`(?:, )?)+) \|$",
    (ROOT / "docs" / "security.md").read_text(),
    re.MULTILINE,
)
ATTACKS = [attack for attack, _ in _ON_THE_PAGE]


def test_the_page_on_security_names_every_attack_and_where_it_is_tried():
    assert sorted(set(ATTACKS), key=lambda name: int(name[2:])) == ATTACKS and ATTACKS[:61] == [
        f"A-{number:02}" for number in range(1, 62)
    ]
    for file in re.findall(r"`([^`]+)`", " ".join(files for _, files in _ON_THE_PAGE)):
        assert (ROOT / "tests" / file).is_file(), file


def test_every_attack_is_tried_by_a_test_that_bears_its_number():
    names = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    tried = {
        f"A-{number}"
        for name in re.findall(r"^def test((?:_a\d{2,3})+)_", names, re.MULTILINE)
        for number in re.findall(r"\d+", name)
    }
    assert sorted(set(ATTACKS) - tried) == []
