"""docs/outcome.schema.json: what is written fits it, and what the reader refuses for its shape does not."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bot.contracts.outcome import Outcome
from bot.publish.bundle import OUTCOME as FILE
from bot.publish.bundle import Bundle, as_text, outcome_schema, write_bundle
from tests.publish.test_body import FULL
from tests.support.outcomes import EVIDENCE, OUTCOME

PUBLISHED = Path(__file__).parents[2] / "docs" / "outcome.schema.json"


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads(PUBLISHED.read_text(encoding="utf-8")))


def errors(validator: Draft202012Validator, data: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(data)]


def test_the_published_schema_is_the_one_of_the_code():
    assert PUBLISHED.read_text(encoding="utf-8") == as_text(), "run `make schema`"
    Draft202012Validator.check_schema(outcome_schema())


@pytest.mark.parametrize("outcome", [OUTCOME, FULL, EVIDENCE], ids=["plain", "full", "evidence"])
def test_a_bundles_outcome_fits(outcome: Outcome, validator: Draft202012Validator, tmp_path: Path):
    write_bundle(Bundle(tmp_path, outcome, b"", b"", "m"))
    assert errors(validator, json.loads((tmp_path / FILE).read_bytes())) == []
