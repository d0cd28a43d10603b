"""Find the known word that is nearest to a misspelled one."""

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the word of `known` nearest to `word`, or ""."""
    return next(iter(difflib.get_close_matches(word[:100], list(known), n=1)), "")


def meant(word: str, known: Iterable[str]) -> str:
    """Return the word of `known` that `word` is with at most one letter added, dropped, changed, or swapped with its
    neighbour; "" if there is none."""
    return next((one for one in known if _is_slip(word, one)), "")


def _is_slip(word: str, known: str) -> bool:
    same = next(
        (at for at, (a, b) in enumerate(zip(word, known, strict=False)) if a != b), min(len(word), len(known))
    )
    slip, rest = word[same:], known[same:]
    return rest[1:] in (slip, slip[1:]) or slip[1:] == rest or (slip[1::-1], slip[2:]) == (rest[:2], rest[2:])
