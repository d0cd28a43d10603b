"""docs/outcome.schema.json: what is written fits it, and what the reader refuses for its shape does not."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bot.contracts.errors import UsageError
from bot.contracts.evidence import CheckerComparison, Coverage, ServerUse
from bot.contracts.outcome import CheckResult, Outcome
from bot.publish.bundle.read import as_text, outcome_schema, parse_outcome
from bot.publish.bundle.write import OUTCOME as FILE
from bot.publish.bundle.write import Bundle, write_bundle
from tests.publish.test_body import FULL
from tests.publish.test_bundle import TAMPERED
from tests.publish.test_evidence_values import TYPES
from tests.support.outcomes import EVIDENCE, OUTCOME, make_outcome

PUBLISHED = Path(__file__).parents[2] / "docs" / "outcome.schema.json"


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads(PUBLISHED.read_text(encoding="utf-8")))


def errors(validator: Draft202012Validator, data: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(data)]


def test_the_published_schema_is_the_one_of_the_code() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == as_text(), "run `make schema`"
    Draft202012Validator.check_schema(outcome_schema())


@pytest.mark.parametrize(
    "outcome",
    [OUTCOME, FULL, EVIDENCE],
    ids=["plain", "full", "evidence"],
)
def test_a_bundles_outcome_fits(outcome: Outcome, validator: Draft202012Validator, tmp_path: Path) -> None:
    write_bundle(Bundle(tmp_path, outcome, b"", b"", "m"))
    assert errors(validator, json.loads((tmp_path / FILE).read_bytes())) == []


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.from_type(CheckResult), max_size=1),
    st.lists(st.from_type(CheckerComparison), max_size=1),
    st.lists(st.from_type(ServerUse), max_size=1),
    st.none() | st.from_type(Coverage),
)
def test_any_evidence_fits(
    validator: Draft202012Validator,
    checks: list[CheckResult],
    diagnostics: list[CheckerComparison],
    servers: list[ServerUse],
    coverage: Coverage | None,
) -> None:
    outcome = make_outcome(
        checks=tuple(checks), diagnostics=tuple(diagnostics), servers=tuple(servers), coverage=coverage
    )
    data = json.loads(json.dumps(asdict(outcome)).replace("NaN", "0").replace("Infinity", "1"))
    assert errors(validator, data) == []


WRONG_SHAPES = {
    **TYPES,
    **{name: TAMPERED[name] for name in list(TAMPERED)[: list(TAMPERED).index("unknown tier") + 1]},
}


@pytest.mark.parametrize("name", WRONG_SHAPES)
def test_what_the_reader_refuses_for_its_shape_does_not_fit(
    name: str, validator: Draft202012Validator
) -> None:
    data = json.loads(json.dumps(asdict(EVIDENCE)))
    data["patch_sha256"] = "0" * 64
    parse_outcome(json.dumps(data).encode())
    assert errors(validator, data) == []
    WRONG_SHAPES[name](data)
    with pytest.raises(UsageError):
        parse_outcome(json.dumps(data).encode())
    assert errors(validator, data)
