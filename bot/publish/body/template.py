"""Fill the repository's own pull-request template.

If the template has a heading for one of our parts, the part replaces the text below it (hint comments, placeholder
lines). Everything else of the template is unchanged; checkboxes stay unticked, since only a person can tick them. A
template without a heading for the change is appended to our text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

TEMPLATE_LIMIT = 12_000

_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*$")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CHECKBOX = re.compile(r"^\s*[-*+] \[[ xX]\]")
_FENCE = re.compile(r"^ {0,3}(```|~~~)")

# The part for a heading, by a word in it. The first match wins, so the more specific words come first.
_WORDS = {
    "closing": r"issues?|tickets?|fix(?:es)?|closes?|resolves|related|references?|links?",
    "evidence": r"evidence|test(?:s|ed|ing)?|checks?|verif\w+|validat\w+|qa",
    "asked": r"why|motivation|context|background|problem|reason",
    "change": r"what|description|summary|changes?|overview|proposed|solution|details",
}
_CHECKLIST = r"check\s?-?lists?|todo|to do"


# The parts of a body in their order, each with our heading.
PARTS = {
    "alert": "",
    "asked": "",
    "change": "What changed",
    "look": "Look at first",
    "evidence": "Evidence",
    "files": "Files",
    "remarks": "Remarks",
    "closing": "",
    "run": "",
}


def joined(parts: Mapping[str, str], names: Iterable[str] = PARTS) -> str:
    """Return the body for a repository without a template. `parts` are texts by the names of `PARTS`; any may be
    empty."""
    return _blocks(
        *(
            f"### {PARTS[name]}\n\n{parts[name]}" if PARTS[name] and parts[name] else parts[name]
            for name in names
        )
    )


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading's line (empty for the text before the first heading) and the text under it."""

    heading: str
    text: str

    @property
    def meaning(self) -> str:
        words = _HEADING.match(self.heading)
        if words is None or _has_word(words.group(1), _CHECKLIST):
            return ""
        return next((part for part, words_of in _WORDS.items() if _has_word(words.group(1), words_of)), "")


def fill_template(template: str, parts: Mapping[str, str], scale: float = 1.0) -> str:
    """Return the template with our parts. Any text is a template; `scale` below 1 cuts a long one."""
    sections = list(_sections(template[: int(TEMPLATE_LIMIT * scale)]))
    positions: dict[str, int] = {}
    for index, section in enumerate(sections):
        if section.meaning:
            positions.setdefault(section.meaning, index)
    if "change" not in positions:
        return _blocks(joined(parts), "---", *(_filled(section, None) for section in sections))
    ours = {index: parts[part] for part, index in positions.items()}
    filled = [_filled(section, ours.get(index)) for index, section in enumerate(sections)]
    left = [name for name in PARTS if name not in positions]
    above = left.index("look")
    return _blocks(joined(parts, left[:above]), *filled, joined(parts, left[above:]))


def _filled(section: _Section, ours: str | None) -> str:
    if ours is None:
        return _blocks(section.heading, section.text)
    return _blocks(section.heading, ours, "\n".join(_checkboxes(section.text)))


def _checkboxes(text: str) -> Iterable[str]:
    """Return the checkboxes of a section that we fill, without hint comments."""
    return (line for line in _COMMENT.sub("", text).splitlines() if _CHECKBOX.match(line))


def _sections(template: str) -> Iterable[_Section]:
    """Split the template. Open fences and comments are closed, so that they do not include our text after them."""
    heading, lines, fence, commented = "", list[str](), "", False
    for line in template.splitlines():
        if not commented and (match := _FENCE.match(line)):
            fence = "" if fence == match.group(1) else fence or match.group(1)
        if not fence and not commented and _HEADING.match(line):
            yield _Section(heading, "\n".join(lines))
            heading, lines = line.strip(), []
            continue
        if not fence:
            commented = (
                line.rfind("<!--") > line.rfind("-->") if "<!--" in line else commented and "-->" not in line
            )
        lines.append(line)
    yield _Section(heading, "\n".join([*lines, *filter(None, (fence, "-->" if commented else ""))]))


def _has_word(heading: str, words: str) -> bool:
    return re.search(rf"\b(?:{words})\b", heading, re.IGNORECASE) is not None


def _blocks(*texts: str) -> str:
    return "\n\n".join(text.strip() for text in texts if text.strip())
