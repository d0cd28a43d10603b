"""The page on commands and events, against what intake really knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.contracts.request import Verb
from bot.events.command import OPTIONS, parse_command
from bot.events.event import READERS

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
EXAMPLES = re.findall(r"^/agent .*$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_a_command(example: str) -> None:
    command = parse_command(example)
    assert command is not None
    assert command.problem == ""


def test_every_verb_has_its_row() -> None:
    assert [verb for verb in Verb if not re.search(rf"^\| `{verb}[ `]", PAGE, re.MULTILINE)] == []


def test_every_option_has_its_row() -> None:
    assert [name for name in OPTIONS if not re.search(rf"^\| .*`--{name}[ `]", PAGE, re.MULTILINE)] == []


def test_every_event_has_its_row() -> None:
    assert [
        name for name in (*READERS, "push") if not re.search(rf"^\| .*`{name}`", PAGE, re.MULTILINE)
    ] == []
