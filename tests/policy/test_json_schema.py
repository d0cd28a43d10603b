"""The published schema: it is the loader's own, says nothing that the loader does not, and editors can use it."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from bot.contracts.request import Tier
from bot.doctor.init_files import policy_text
from bot.environment.detection_result import Detection
from bot.policy.load import load_policy
from bot.policy.policy_error import PolicyError
from bot.policy.schema import schema, schema_text
from bot.policy.tiers_and_budget import default_tiers
from tests.docs.test_docs import blocks
from tests.policy import test_load, test_read_rules
from tests.policy.json_view import as_json

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "policy.md"
SCHEMA = ROOT / "docs" / "agent.schema.json"
sys.path.append(str(ROOT / ".ci"))
import policy_table  # noqa: E402

VALIDATOR = Draft202012Validator(schema())

EXAMPLES = [
    "",
    test_load.WHOLE,
    *(text for name in ("policy.md", "review.md") for text in blocks(ROOT / "docs" / name, "yaml")),
    *("rules:\n  - " + line + "\n" for line in test_read_rules.HOLDING),
    (ROOT / "slash_forge" / "sample" / ".github" / "agent.yml").read_text(),
]
"""Whole policies that load."""

MISTAKES = [*test_load.PROBLEMS, *("rules:\n  - " + line + "\n" for line in test_read_rules.PROBLEMS)]

# What only the loader can know, as docs/policy.md says: each of its messages that a schema cannot have.
LOADER_ONLY = re.compile(
    r"is given twice|listed twice|a second check has the name|is matched by its rule|is not matched by its rule"
    r"|starts this bot|folder inside the repository|never brought in"
    r"|braces are not expanded|once resolved|no empty names|stands for whole folders"
    r"|in quotes|found `0[0-9]+`|^not YAML|nested over|the tag "
)


def test_the_published_file_is_what_the_loader_reads_by():
    assert SCHEMA.read_text() == schema_text(), "run `make schema`"


def test_the_page_lists_every_key_as_the_loader_reads_it():
    assert PAGE.read_text().endswith(policy_table.as_table()), "run `make schema`"


def test_it_is_a_schema_of_its_dialect():
    Draft202012Validator.check_schema(json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize("text", EXAMPLES)
def test_what_loads_is_what_the_schema_takes(text: str):
    load_policy(text)
    assert [error.message for error in VALIDATOR.iter_errors(as_json(text))] == []


def _refused(text: str) -> list[str]:
    try:
        load_policy(text)
    except PolicyError as error:
        return [problem.message for problem in error.problems]
    return []


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_the_schemas_too_or_one_that_only_the_loader_can_know(text: str):
    messages = _refused(text)
    assert messages
    if all(LOADER_ONLY.search(message) for message in messages):
        return
    assert not VALIDATOR.is_valid(as_json(text)), messages


BOUNDED = [
    (path, one) for path, one in policy_table.every_key().items() if {"minimum", "maximum"} <= set(one)
]


def _document(path: str, value: Any) -> Any:
    """A policy that says only what is at `path`."""
    for name in reversed(path.split(".")):
        plain = {"<name>": "bot" if path.startswith("tiers") else "a/b"}.get(name, name.removesuffix("[]"))
        value = {plain: [value] if name.endswith("[]") else value}
    return value


@pytest.mark.parametrize("path", [path for path, _ in BOUNDED])
def test_a_bound_is_the_same_for_both(path: str):
    described = dict(BOUNDED)[path]
    for value in (
        described["minimum"],
        described["maximum"],
        described["minimum"] - 1,
        described["maximum"] + 1,
    ):
        out = not described["minimum"] <= value <= described["maximum"]
        document = _document(path, value)
        assert any("this should be" in message for message in _refused(json.dumps(document))) is out
        found = [error for error in VALIDATOR.iter_errors(document) if _says(error, "minimum", "maximum")]
        assert bool(found) is out


def _says(error: ValidationError, *validators: str) -> bool:
    return error.validator in validators or any(_says(one, *validators) for one in error.context or ())


def test_what_init_writes_names_the_schema_in_its_first_line():
    text = policy_text(Detection())
    assert text.splitlines()[0] == f"# yaml-language-server: $schema={schema()['$id']}"
    load_policy(text)


def test_the_pages_table_of_tiers_is_the_defaults():
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines()]
    found = {row[0]: row[3:] for row in rows if len(row) == 9 and row[0] in list(Tier)}
    fields = ("usd", "turns", "minutes", "commands", "output", "runs_a_day")
    for tier, settings in default_tiers().items():
        if tier is not Tier.LOCAL:
            assert found[tier] == [f"{getattr(settings, name):g}" for name in fields]
