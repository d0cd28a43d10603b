"""From seconds to text."""

from tidytime.units import UNITS, find


def format_duration(seconds, parts=None, style="short"):
    """Write a duration with its largest units first, leaving out those that are zero.

    `parts` limits how many units are shown; smaller ones are dropped. Fractions of a second are rounded.
    `style` is "short" (`1h 30m`) or "long" (`1 hour 30 minutes`).
    """
    if style not in ("short", "long"):
        raise ValueError(f"unknown style {style!r}")
    if parts is not None and parts < 1:
        raise ValueError("parts must be at least 1")
    sign = "-" if seconds < 0 else ""
    remaining = abs(seconds)
    shown = []
    for unit in UNITS:
        if unit.seconds == 1:
            count = round(remaining)
        else:
            count, remaining = divmod(remaining, unit.seconds)
        if count:
            shown.append(unit.label(int(count), style))
    if not shown:
        return UNITS[-1].label(0, style)
    return sign + " ".join(shown[:parts])
