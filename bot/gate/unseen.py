"""Characters that nobody sees on a page and a program reads all the same: turned lines, fillers in names, hidden data.

What it names in a diff is shown to a reviewer, and nothing is refused for it: a test of such characters has them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from bot.gate.text import is_seen
from bot.gate.weakened import Line

_LINES_NAMED = 5
_KINDS_NAMED = 4
_ALL_SEEN = re.compile(rb"[\t -~]*")
# Where these belong: after an emoji or a letter of a script that joins, once each, and between a digit and a key's rim.
_JOINERS = "\u200c\u200d\ufe0f"
_JOINING = re.compile(rf"(?<=[^\x00-\x7f{_JOINERS}])\ufe0f?[\u200c\u200d]?|(?<=[0-9#*])\ufe0f(?=\u20e3)")
_MARK = "\ufeff"


def unseen(removed: Iterable[Line], added: Iterable[Line]) -> str:
    """A clause that names the characters that do not show, with their lines; "" where there are no more than before."""
    old, new = _found(removed), _found(added)
    more = {char: lines for char, lines in new.items() if len(lines) > len(old.get(char, ()))}
    if not more:
        return ""
    named = [f"{_name(char)} ({_where(lines)})" for char, lines in sorted(more.items())[:_KINDS_NAMED]]
    rest = f" and {len(more) - _KINDS_NAMED} other kinds" if len(more) > _KINDS_NAMED else ""
    return f"adds characters that do not show: {', '.join(named)}{rest}"


def brings_in_unseen(before: str, after: str) -> bool:
    """Whether `after` has more of a character that does not show than `before`."""
    return bool(_unseen_in(after) - _unseen_in(before))


def _found(lines: Iterable[Line]) -> dict[str, list[int]]:
    """By character, the number of its line, once for each time it is there."""
    found: dict[str, list[int]] = {}
    for line in lines:
        if _ALL_SEEN.fullmatch(line.text):
            continue
        text = line.text.decode(errors="replace")
        for char, times in _unseen_in(text.removeprefix(_MARK) if line.number == 1 else text).items():
            found.setdefault(char, []).extend([line.number] * times)
    return found


def _unseen_in(text: str) -> Counter[str]:
    left = _JOINING.sub("", text.replace("\r\n", "\n").removesuffix("\r").replace("\f", ""))
    return Counter({char: left.count(char) for char in set(left) if char in _JOINERS or not is_seen(char)})


def _name(char: str) -> str:
    return f"U+{ord(char):04X}"


def _where(numbers: Iterable[int]) -> str:
    lines = list(dict.fromkeys(numbers))
    shown = ", ".join(map(str, lines[:_LINES_NAMED]))
    more = f" and {len(lines) - _LINES_NAMED} more" if len(lines) > _LINES_NAMED else ""
    return f"{'line' if len(lines) == 1 else 'lines'} {shown}{more}"
