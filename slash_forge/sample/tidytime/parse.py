"""From text to seconds."""

import re

from tidytime.units import find

_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*(?:,\s|and\s)?", re.IGNORECASE)


class DurationError(ValueError):
    """The text is not a duration; the message says where it stops making sense."""


def parse_duration(text):
    """Seconds, as a float. A leading minus makes the whole duration negative."""
    body = text.strip()
    sign = 1
    if body.startswith("-"):
        sign, body = -1, body[1:]
    if not body.strip():
        raise DurationError("empty duration")
    seconds = 0.0
    position = 0
    while position < len(body):
        part = _PART.match(body, position)
        if part is None:
            raise DurationError(f"cannot read {body[position:]!r} in {text!r}")
        unit = find(part[2])
        if unit is None:
            raise DurationError(f"unknown unit {part[2]!r} in {text!r}")
        seconds += float(part[1]) * unit.seconds
        position = part.end()
    return sign * seconds
