"""Format numbers, durations and errors for people."""

import signal
from collections.abc import Sequence, Sized


def count_of(many: int | Sized, noun: str) -> str:
    """Return `1 turn` or `1,204 tokens`; for a collection, the number of its items."""
    number = many if isinstance(many, int) else len(many)
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def first_of(names: Sequence[str], most: int) -> str:
    """Return the first `most` of `names`, and the number of the others."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def duration(seconds: float) -> str:
    """Return `4.0 s` or `2 min 5 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def money(usd: float, places: int = 2) -> str:
    """Return `$0.06`, with four places `$0.0560`. A positive amount never rounds to zero: `under $0.01`."""
    least = 10.0**-places
    return f"under ${least:.{places}f}" if 0 < usd < least / 2 else f"${usd:,.{places}f}"


def exit_text(exit_code: int) -> str:
    """Return `exit 3`, or `killed by SIGSEGV` for the negative code of `subprocess`."""
    return f"exit {exit_code}" if exit_code >= 0 else f"killed by {signal_name(-exit_code)}"


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def cut_short(text: str, most: int) -> str:
    """Return `text`, or its words up to `most` characters with a mark of omission."""
    return text if len(text) <= most else f"{text[: most - 2].rsplit(' ', 1)[0]} …"


def sentence(text: str) -> str:
    """Return a clause as a sentence. A name or an address at its start keeps its case."""
    first = text.split(" ", 1)[0]
    begun = text[:1].upper() + text[1:] if first.isalpha() else text
    return begun if not begun or begun[-1] in ".!?…" else f"{begun}."
