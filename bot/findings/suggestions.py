"""Suggestions: what anchored lines should become, as GitHub's block and as an edit of the file's text.

A suggestion replaces exactly the lines it stands on, on the right side; GitHub applies nothing else.
"""

from __future__ import annotations

import re
from dataclasses import replace

from bot.contracts.pulls import Side
from bot.contracts.review import Finding

_BACKTICKS = re.compile("`+")
_SHORTEST_FENCE = 3


def settled(finding: Finding) -> Finding:
    """`finding` with its suggestion as it will be posted, or without one that could not be applied or changes
    nothing. `text` must be what the anchored lines say."""
    if finding.suggestion is None:
        return finding
    suggestion = finding.suggestion.replace("\r\n", "\n").removesuffix("\n")
    applies = finding.side is Side.RIGHT and finding.line > 0 and "\r" not in suggestion
    changes = suggestion != finding.text.replace("\r\n", "\n")
    return replace(finding, suggestion=suggestion if applies and changes else None)


def block(suggestion: str) -> str:
    """GitHub's suggestion block, which nothing in the suggestion can close. Empty removes the lines."""
    longest = max((len(run) for run in _BACKTICKS.findall(suggestion)), default=0)
    fence = "`" * max(_SHORTEST_FENCE, longest + 1)
    return f"{fence}suggestion\n{suggestion}{'' if not suggestion else chr(10)}{fence}"


def applied(content: str, finding: Finding) -> str | None:
    """`content` with the suggestion in place of its lines, each keeping the file's line end; `None` where the
    lines do not say what the finding was made on, or there is no suggestion."""
    if finding.suggestion is None:
        return None
    lines = content.split("\n")
    first, last = finding.start_line or finding.line, finding.line
    if not 0 < first <= last <= len(lines) - content.endswith("\n"):
        return None
    old = lines[first - 1 : last]
    if [line.rstrip() for line in old] != [line.rstrip() for line in finding.text.split("\n")]:
        return None
    end = "\r" if old[0].endswith("\r") else ""
    new = [line + end for line in finding.suggestion.split("\n")] if finding.suggestion else []
    return "\n".join([*lines[: first - 1], *new, *lines[last:]])
