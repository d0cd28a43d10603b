"""Outcomes for tests: one whole run, with what a test cares about replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bot.contracts.messages import Usage
from bot.contracts.outcome import (
    ChangedFile,
    CheckResult,
    CheckRun,
    CheckState,
    Description,
    Outcome,
    Status,
    StopReason,
)
from bot.contracts.request import Actor, Request, Thread, Tier, Trigger, Verb

_ISSUE = "https://github.test/octo/hello/issues/7"

REQUEST = Request(
    verb=Verb.FIX,
    instruction="fix the rounding of totals",
    actor=Actor("ann", 5, Tier.MAINTAINER),
    repository="octo/hello",
    base_ref="main",
    clone_url="https://github.test/octo/hello.git",
    thread=Thread(7, "Totals are off by a cent", "See the invoice.", "bob", _ISSUE),
    trigger=Trigger("issue_comment", 11, f"{_ISSUE}#issuecomment-11", "2026-01-02T03:04:05Z"),
)

OUTCOME = Outcome(
    schema=1,
    version="0.1.0",
    status=Status.CHANGED,
    stop_reason=StopReason.END_TURN,
    reason="",
    request=REQUEST,
    base_sha="a" * 40,
    model="anthropic/example",
    sandbox="bubblewrap 0.8.0",
    started_at="2026-01-02T03:04:10Z",
    ended_at="2026-01-02T03:05:44Z",
    turns=6,
    usage=Usage(input=1200, cache_read=8000, output=345),
    cost=0.0421,
    description=Description(
        title="Round totals once, at the end",
        summary="Totals were rounded line by line. They are now summed exactly and rounded once.",
        notes="`Invoice.total` is the only caller.",
    ),
    checks=(
        CheckResult(
            "tests",
            "python3 -m unittest",
            CheckRun(CheckState.FAILED, 1, 0.41, "FAILED (failures=1)"),
            CheckRun(CheckState.PASSED, 0, 0.38, "OK"),
        ),
    ),
    files=(ChangedFile("invoice.py", "modified", "100644", "0" * 64, 3, 1),),
)


def make_outcome(**fields: Any) -> Outcome:
    return replace(OUTCOME, **fields)


def make_request(**fields: Any) -> Request:
    return replace(REQUEST, **fields)
