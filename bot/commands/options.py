"""Values of options that more than one verb takes. Defaults from the environment are read the same way."""

from __future__ import annotations

import argparse
import math

SANDBOXES = ("auto", "strict", "off")


def usd(text: str) -> float:
    """An amount of money above nought."""
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not (math.isfinite(amount) and amount > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount in USD, such as 2.50")
    return amount


def sandbox(text: str) -> str:
    """A name from `SANDBOXES`. `choices` would not look at a default that comes from the environment."""
    if text not in SANDBOXES:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(SANDBOXES)}")
    return text
