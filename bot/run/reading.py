"""What a tool host says of a check's reports, checked by hand as if an enemy had said it, and made into values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.contracts.plain_text import printable
from bot.contracts.tested import TestCounts
from bot.evidence.coverage import Measured
from bot.evidence.tests import Reading, times_of

_STATES = ("passed", "failed", "skipped")
_MOST_NAMES = 100_000
_LONGEST = 400
_HIGHEST = 1 << 31
_MOST_SOURCES = 20
_MOST_REASONS = 2_000


class Unbelievable(ValueError):
    """The host's answer has not the shape that it should have."""


def reading_of(told: object) -> Reading | None:
    """The tests of one run; `None` where there were none to be read. Raises `Unbelievable`."""
    if told is None:
        return None
    said = _mapping(told)
    names = _mapping(said.get("names"))
    if set(names) - set(_STATES):
        raise Unbelievable("it knows other states than there are")
    lists = {state: _names(names.get(state, [])) for state in _STATES}
    if sum(map(len, lists.values())) > _MOST_NAMES:
        raise Unbelievable("it names too many tests")
    failed = frozenset(lists["failed"])
    explained = _mapping(said.get("reasons", {}))
    if len(explained) > _MOST_REASONS:
        raise Unbelievable("it explains too many tests")
    reasons = {_line(name): _line(why) for name, why in explained.items()}
    return Reading(
        source=_line(said.get("source")),
        tests=times_of(lists),
        counts=_counts(said.get("counts")),
        whole=_truth(said.get("whole")),
        named=_truth(said.get("named")),
        note=_line(said.get("note")),
        reasons={name: why for name, why in reasons.items() if name in failed},
    )


def measured_of(told: object, wanted: Mapping[str, frozenset[int]]) -> Measured:
    """Coverage of the `wanted` lines, and of no other. Raises `Unbelievable`."""
    said = _mapping(told)
    sources = said.get("sources")
    if not isinstance(sources, list) or len(sources) > _MOST_SOURCES:
        raise Unbelievable("its sources are no list")
    files: dict[str, dict[int, bool]] = {}
    for path, lines in _mapping(said.get("files")).items():
        if path not in wanted:
            raise Unbelievable("it measured a file that nobody asked about")
        of = _mapping(lines)
        covered, missed = _numbers(of.get("covered")), _numbers(of.get("missed"))
        if not (covered | missed) <= wanted[path] or covered & missed:
            raise Unbelievable("it measured lines that nobody asked about")
        files[path] = {line: line in covered for line in covered | missed}
    return Measured(tuple(map(_line, sources)), files, _line(said.get("note")), _truth(said.get("database")))


def stamps_of(told: object) -> dict[str, Any]:
    """What the host knows its files by: handed back to it as it is, and looked at by nobody else."""
    return dict(_mapping(told))


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Unbelievable("it is no object where one was due")
    return value


def _names(value: object) -> list[str]:
    if not isinstance(value, list):
        raise Unbelievable("its names are no list")
    return [_line(name) for name in value]


def _line(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise Unbelievable("a text is none, or too long")
    return value if value.isascii() and value.isprintable() else " ".join(printable(value).split())


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise Unbelievable("a yes or no is neither")
    return value


def _numbers(value: object) -> frozenset[int]:
    if not isinstance(value, list) or not all(type(number) is int for number in value):
        raise Unbelievable("its lines are no list of numbers")
    return frozenset(value)


def _counts(value: object) -> TestCounts | None:
    if value is None:
        return None
    said = _mapping(value)
    numbers = [said.get(state) for state in _STATES]
    if set(said) != set(_STATES) or not all(type(one) is int and 0 <= one < _HIGHEST for one in numbers):
        raise Unbelievable("its figures are no numbers of tests")
    return TestCounts(*(int(one) for one in numbers if one is not None))
