"""Suggestions: what anchored lines should become, settled and written as GitHub's block.

A suggestion replaces exactly the lines it stands on, on the right side; GitHub applies nothing else. Whether one
applies to the file and still parses is tried in the workshop (`try_suggestion`).
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
