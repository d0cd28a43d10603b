"""Separate what a command's author wrote from what they quoted: `>`, e-mail replies and forwarded messages, signatures.

Mail programs write in many languages, so the rules go by form and not by words.
"""

import re
from collections.abc import Sequence

_ADDRESS = re.compile(r"[^\s<>@]+@[^\s<>@]+\.\w")
_DATE = re.compile(r"\b(?:19|20)\d\d\b|(?<!\d)(?:19|20)\d\d年|\b\d{1,2}[./-]\d{1,2}[./-]\d{2}\b")
_CLOCK = re.compile(r"\d{1,2}[:.h]\d\d(?!\d)")
_ATTRIBUTION_END = re.compile(r"[:：][\s*_]*$")
_MAX_ATTRIBUTION = 3
# `-- ` before a signature; `-----Original Message-----` in any language; the line above Outlook's header.
_DIVIDER = re.compile(r"--\s*|_{8,}\s*|[*\s]*[-_=]{4,}\s*[^\W_].*[-_=]{4,}[*\s]*")
# `Von: Eve`, also in bold or with the full-width colon.
_HEADER = re.compile(r"[*_\s]{0,4}[^\W\d_][^:：]{0,24}[:：]")
_FENCE = re.compile(r" {0,3}(?:```|~~~)")


def split_quotation(text: str) -> tuple[str, str]:
    """Return the author's own words and what they quoted, each line of it after `> `. The rest of a message without
    `>` counts as quoted from its header, attribution or divider on."""
    lines = text.split("\n")
    own: list[str] = []
    quoted: list[str] = []
    in_quotation = in_code = False
    number = 0
    while number < len(lines):
        line = lines[number]
        in_code ^= not in_quotation and _FENCE.match(line) is not None
        taken = 0 if in_code or number == 0 else _message_start(lines, number)
        if taken:
            quoted += lines[number : number + taken]
            number += taken
            continue
        in_quotation = not in_code and (
            line.lstrip().startswith(">") or (in_quotation and bool(line.strip()))
        )
        (quoted if in_quotation else own).append(line)
        number += 1
    marked = (line if line.lstrip().startswith(">") else f"> {line}" for line in quoted)
    return "\n".join(own).strip(), "\n".join(marked).strip()


def _message_start(lines: Sequence[str], number: int) -> int:
    """Return how many lines from `number` on are another message or lead to a quotation; 0 for none."""
    remaining = len(lines) - number
    if _DIVIDER.fullmatch(lines[number]) or _is_header(lines, number):
        return remaining
    attribution = _attribution(lines, number)
    if not attribution:
        return 0
    text = " ".join(lines[number : number + attribution])
    following = next((line for line in lines[number + attribution :] if line.strip()), "")
    if following.lstrip().startswith(">"):
        return attribution if any(one.search(text) for one in (_ADDRESS, _DATE, _CLOCK)) else 0
    dated = _DATE.search(text) and _CLOCK.search(text)
    return remaining if following and (_ADDRESS.search(text) or dated) else 0


def _attribution(lines: Sequence[str], number: int) -> int:
    """Return the length of a paragraph at `number` that is short and ends with a colon; 0 for any other text."""
    if lines[number - 1].strip() and number > 1:
        return 0
    for length in range(1, _MAX_ATTRIBUTION + 1):
        last = number + length - 1
        if last >= len(lines) or not lines[last].strip():
            return 0
        if _ATTRIBUTION_END.search(lines[last]):
            return length
    return 0


def _is_header(lines: Sequence[str], number: int) -> bool:
    """Whether a message's header begins there: lines of a label and a value, among them the time of sending."""
    length = 0
    while number + length < len(lines) and _HEADER.match(lines[number + length]):
        length += 1
    text = "\n".join(lines[number : number + length])
    dated, timed = _DATE.search(text), _CLOCK.search(text)
    return (length >= 2 and bool(dated and timed)) or (
        length >= 3 and bool(_ADDRESS.search(text) and (dated or timed))
    )
