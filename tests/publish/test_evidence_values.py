"""Evidence in a bundle that no run could have made: refused, with the field's name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest

from bot.contracts.errors import UsageError
from bot.contracts.evidence import Coverage, CoveredFile
from bot.contracts.outcome import Outcome
from bot.publish.bundle.read import parse_outcome
from bot.publish.bundle.validate import MAX_LISTED, outcome_error
from tests.support.outcomes import EVIDENCE, problem

RUFF = EVIDENCE.diagnostics[0]
STATED = replace(EVIDENCE, patch_sha256="0" * 64)


def with_ruff(**fields: Any) -> Outcome:
    return replace(STATED, diagnostics=(replace(RUFF, **fields),))


def with_tests(**fields: Any) -> Outcome:
    (check,) = EVIDENCE.checks
    assert check.tests is not None
    return replace(STATED, checks=(replace(check, tests=replace(check.tests, **fields)),))


WRONG = {
    "a checker's count is negative": (with_ruff(new_count=-1), "diagnostics"),
    "a time is not a number": (with_ruff(before=replace(RUFF.before, duration=float("nan"))), "diagnostics"),
    "a line is negative": (with_ruff(new=(problem(-3),)), "diagnostics.new.line: a number"),
    "too many problems": (with_ruff(new=(problem(),) * (MAX_LISTED + 1)), "diagnostics.new: 2,001"),
    "too many checkers": (replace(STATED, diagnostics=(RUFF,) * 101), "diagnostics: over 100"),
    "too many checks": (replace(STATED, checks=EVIDENCE.checks * 2_001), "checks: 2,001"),
    "a count of tests is negative": (with_tests(counts=(("mended", -2),)), "checks.tests.counts: a number"),
    "more lines covered than there are": (
        replace(STATED, coverage=Coverage("c", (CoveredFile("a.py", 1, 2),))),
        "coverage.files",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_evidence_that_cannot_be_is_refused_with_its_field(name: str) -> None:
    outcome, field = WRONG[name]
    assert outcome_error(outcome).startswith(field)


def test_what_a_run_says_is_taken_as_it_was_written() -> None:
    assert outcome_error(STATED) == ""
    assert parse_outcome(json.dumps(asdict(STATED)).encode()) == STATED


TYPES: dict[str, Callable[[dict[str, Any]], object]] = {
    "an answer that is none": lambda o: o["diagnostics"][0]["before"].update(answer="clean"),
    "a line as text": lambda o: o["diagnostics"][0]["new"][0].update(line="3"),
    "a field nobody knows": lambda o: o["coverage"].update(html="<b>"),
    "coverage as a list": lambda o: o.update(coverage=[]),
}


@pytest.mark.parametrize("name", TYPES)
def test_evidence_of_another_shape_is_refused(name: str) -> None:
    data = json.loads(json.dumps(asdict(STATED)))
    TYPES[name](data)
    with pytest.raises(UsageError, match=r"^outcome\.json is not a valid outcome: "):
        parse_outcome(json.dumps(data).encode())
