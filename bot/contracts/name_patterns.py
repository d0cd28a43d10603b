"""Match file names against lists of patterns."""

import re
from fnmatch import translate
from functools import cache


def is_one_of(patterns: str, name: str) -> bool:
    """Whether `name` matches one of `patterns`, those of `fnmatch`, separated by white space. Case matters."""
    literal, pattern = _compiled(patterns)
    return name in literal or pattern.fullmatch(name) is not None


@cache
def _compiled(patterns: str) -> tuple[frozenset[str], re.Pattern[str]]:
    """Most are literal names, and compiling each of the others by itself takes several times as long."""
    globs = [pattern for pattern in patterns.split() if not {"*", "?", "["}.isdisjoint(pattern)]
    union = "|".join(map(translate, globs)) or "(?!)"  # without any, nothing matches
    return frozenset(patterns.split()).difference(globs), re.compile(union)
