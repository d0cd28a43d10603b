"""docs/complaints.md names a test for each complaint: it must be there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = re.findall(
    r"^\| (\d+) \|.*\| `(tests/\S+\.py)::(test_\w+)` \|$",
    (ROOT / "docs" / "complaints.md").read_text(),
    re.MULTILINE,
)


def test_there_are_twenty():
    assert [int(number) for number, _, _ in ROWS] == list(range(1, 21))


def test_each_names_a_test_that_is_there():
    missing = [
        f"{file}::{name}"
        for _, file, name in ROWS
        if not re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.MULTILINE)
    ]
    assert missing == []
