"""An outcome without the values of known secrets: the journal's masking, for what goes to the bundle beside it.

The last net again: nothing in a workshop has a secret, unless a person went without the sandbox.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from bot.contracts.outcome import Outcome
from bot.gate.redact import Redactor

_Value = TypeVar("_Value")


def masked(outcome: Outcome, redactor: Redactor) -> Outcome:
    """`outcome` with every text masked but the request's, which came from outside; it names what was masked."""
    clean = {
        field.name: _plain(getattr(outcome, field.name), redactor)
        for field in fields(outcome)
        if field.name != "request"
    }
    return replace(outcome, **{**clean, "redactions": redactor.names_hit})


def masked_value(value: _Value, redactor: Redactor) -> _Value:
    """Any value with every text in it masked."""
    clean: _Value = _plain(value, redactor)
    return clean


def _plain(value: Any, redactor: Redactor) -> Any:
    if type(value) is str:
        return redactor.text(value)
    if type(value) is tuple:
        return tuple(_plain(item, redactor) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{field.name: _plain(getattr(value, field.name), redactor) for field in fields(value)}
        )
    return value
