"""The removed and added lines of an edit, in the form that the gate reads from a patch."""

import difflib

from bot.gate.weaker_tests import Line


def changed_lines(before: str, after: str) -> tuple[list[Line], list[Line]]:
    """Removed lines with their old numbers, and added lines with their new numbers."""
    old, new = before.split("\n"), after.split("\n")
    removed: list[Line] = []
    added: list[Line] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            removed += [Line(number + 1, old[number].encode()) for number in range(a, b)]
            added += [Line(number + 1, new[number].encode()) for number in range(c, d)]
    return removed, added
