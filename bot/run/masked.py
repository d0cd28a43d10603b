"""An outcome without secrets, known ones and what looks like one: the journal's masking, for the bundle beside it.

The last net again: nothing in a workshop has a secret, unless a person went without the sandbox.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from bot.contracts.outcome import Outcome
from bot.gate.detect import Detector

_Value = TypeVar("_Value")


def masked(outcome: Outcome, detector: Detector) -> Outcome:
    """`outcome` with every text masked but the request's, which came from outside; it names what was masked."""
    clean = {
        field.name: _plain(getattr(outcome, field.name), detector)
        for field in fields(outcome)
        if field.name != "request"
    }
    return replace(outcome, **{**clean, "redactions": detector.names_hit})


def masked_value(value: _Value, detector: Detector) -> _Value:
    """Any value with every text in it masked."""
    clean: _Value = _plain(value, detector)
    return clean


def _plain(value: Any, detector: Detector) -> Any:
    if type(value) is str:
        return detector.kept(value)
    if type(value) is tuple:
        return tuple(_plain(item, detector) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{field.name: _plain(getattr(value, field.name), detector) for field in fields(value)}
        )
    return value
