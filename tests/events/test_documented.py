"""The page on commands and events, against what intake really knows."""

import re
import sys
from pathlib import Path

import pytest

from bot.events.command import OPTIONS, parse_command
from bot.events.read_event import READERS

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / ".ci"))
import write_schema  # noqa: E402

PAGE = (ROOT / "docs" / "commands.md").read_text()
EXAMPLES = re.findall(r"^/agent .*$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_a_command(example: str):
    command = parse_command(example)
    assert command is not None
    assert command.problem == ""


def test_the_verbs_are_those_of_the_registry():
    assert write_schema.verb_table() in PAGE, "run `make schema`"


def test_every_option_has_its_row():
    assert [name for name in OPTIONS if not re.search(rf"^\| .*`--{name}[ `]", PAGE, re.MULTILINE)] == []


def test_every_event_has_its_row():
    assert [
        name for name in (*READERS, "push") if not re.search(rf"^\| .*`{name}`", PAGE, re.MULTILINE)
    ] == []
