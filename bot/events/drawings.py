"""Remove what GitHub draws without showing it: comments in diagrams, the source of maps, invisible parts of formulas.

Colours in a diagram are not checked.
"""

from __future__ import annotations

import re

FORMULA, DIAGRAM, MAP = "invisible formula", "diagram comment", "map source"

_MAPS = frozenset({"geojson", "topojson", "stl"})
_DIAGRAM = re.compile(
    r"%%\{(?:[^%]|%(?!%))*+(?:%%|\Z)|^[ \t>]*+---[ \t]*\n.*?^[ \t>]*+---[ \t]*\n"
    r"|^[ \t>]*+acc(?:Title|Descr)\s*+\{[^{}]*+\}"
    r"|^[ \t>]*+(?:%%|accTitle\b|accDescr\b|click\b)[^\n]*+\n?",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_GROUP = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}"
_WHITE = r"\{\s*+(?:white|snow|ivory|transparent|#f{3,8})\s*+\}"
_INVISIBLE = re.compile(
    rf"\\(?:[hv]?phantom|label|cssId|class|style)\s*+(?:{_GROUP}|\\?\w*+)|\\(?:text)?color\s*+{_WHITE}\s*+(?:{_GROUP}|[^$}}]*+)"
    r"|(?<!\\)%[^\n$]*+",
    re.IGNORECASE,
)
_MATH = re.compile(r"\$\$[^$]{1,10000}+\$\$|\$(?=\S)[^$\n]{1,2000}+(?<!\s)\$(?!\w)")


def drawn_code(language: str, code: str) -> tuple[str, str, int]:
    """Return a block of code as its drawing shows it, with the kind and the number of what is not shown."""
    if language in _MAPS:
        return "", MAP, 1 if code.strip() else 0
    if language == "mermaid":
        shown, count = _DIAGRAM.subn("", code)
        return shown, DIAGRAM, count
    if language == "math":
        shown, count = _INVISIBLE.subn("", code)
        return shown, FORMULA, count
    return code, "", 0


def drawn_formulas(text: str) -> tuple[str, int]:
    """Return `text`, in which code stands between NUL characters, without the invisible parts of its formulas, and the
    number of formulas that had any."""
    if "$" not in text:
        return text, 0
    count = 0

    def without_invisible(formula: re.Match[str]) -> str:
        nonlocal count
        shown, parts = _INVISIBLE.subn("", formula[0])
        count += parts > 0
        return shown

    parts = text.split("\0")
    parts[::2] = (_MATH.sub(without_invisible, part) for part in parts[::2])
    return "\0".join(parts), count
