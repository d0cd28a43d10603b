"""Fill the repository's own pull-request template.

If the template has a heading for one of our parts, the part replaces the placeholder lines below it. Comments and
checkboxes stay as they stand: they are for people, and only a person can tick a box. So does a part with a note that it
is for people alone ("HUMAN ONLY", "AI must not write here"), with everything under its heading. A template without a
heading for the change is appended to our text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from bot.publish.body.order_and_footer import PARTS, blocks, joined

TEMPLATE_LIMIT = 12_000

_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*$")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LEADING_COMMENT = re.compile(rf"\s*{_COMMENT.pattern}", re.DOTALL)
_CHECKBOX = re.compile(r"^\s*[-*+] \[[ xX]\]")
_FENCE = re.compile(r"^ {0,3}(```|~~~)")
# A part that names either is left alone, whatever it says of them: that is safe, and no list of phrases is complete.
_FOR_PEOPLE = re.compile(
    r"\bhumans?\b(?![- ](?:readable|friendly))|\b(?:people|persons?|maintainers?|reviewers?)\W{0,3}only\b"
    r"|\bby hand\b|\bown words\b|\b(?:AI|LLMs?|(?:chat)?GPT|Copilot|Claude|Gemini|language models?|bots?|robots?"
    r"|(?:coding|autonomous) agents?|(?:auto|machine)\W?generated|automated tools?)\b",
    re.IGNORECASE,
)

# The part for a heading, by a word in it. The first match wins, so the more specific words come first.
_WORDS = {
    "closing": r"issues?|tickets?|fix(?:es)?|closes?|resolves|related|references?|links?",
    "evidence": r"evidence|test(?:s|ed|ing)?|checks?|verif\w+|validat\w+|qa",
    "asked": r"why|motivation|context|background|problem|reason",
    "change": r"what|description|summary|changes?|overview|proposed|solution|details",
}
_NO_LEVEL = 7
_CHECKLIST = r"check\s?-?lists?|todo|to do"


class _Section(NamedTuple):
    """A heading's line, empty before the first one, and the text under it. `for_people`: it is for people only."""

    heading: str
    text: str
    for_people: bool = False

    @property
    def level(self) -> int:
        return len(self.heading) - len(self.heading.lstrip("#"))

    @property
    def meaning(self) -> str:
        words = _HEADING.match(self.heading)
        if words is None or self.for_people or _has_word(words.group(1), _CHECKLIST):
            return ""
        return next((part for part, words_of in _WORDS.items() if _has_word(words.group(1), words_of)), "")


def fill_template(template: str, parts: Mapping[str, str], scale: float = 1.0) -> str:
    """Return the template with our parts. Any text is a template; `scale` below 1 cuts a long one."""
    sections = list(_marked(_sections(template[: int(TEMPLATE_LIMIT * scale)])))
    positions: dict[str, int] = {}
    for index, section in enumerate(sections):
        if section.meaning:
            positions.setdefault(section.meaning, index)
    if "change" not in positions:
        return blocks(joined(parts), "---", *(_filled(section, None) for section in sections))
    ours = {index: parts[part] for part, index in positions.items()}
    filled = [_filled(section, ours.get(index)) for index, section in enumerate(sections)]
    left = [name for name in PARTS if name not in positions]
    above = left.index("look")
    return blocks(joined(parts, left[:above]), *filled, joined(parts, left[above:]))


def _marked(sections: Iterable[_Section]) -> Iterator[_Section]:
    """Mark what is for people: a section with such a note, and those below its heading; above all headings, all."""
    level, is_announced = _NO_LEVEL, False
    for section in sections:
        is_below = is_announced or level < section.level
        is_noted = _FOR_PEOPLE.search(f"{section.heading}\n{section.text}") is not None
        if not is_below:
            level = section.level if is_noted else _NO_LEVEL
        yield section._replace(for_people=is_noted or is_below)
        # A note at the end of a section, right above the next heading, is about that one too.
        *_, last = [None, *_COMMENT.finditer(section.text)]
        is_announced = (
            last is not None
            and _FOR_PEOPLE.search(last.group()) is not None
            and bool(section.text[: last.start()].strip())
            and not section.text[last.end() :].strip()
        )


def _filled(section: _Section, ours: str | None) -> str:
    if ours is None:
        return blocks(section.heading, section.text)
    # What stays of a section: the comments at its beginning, and further comments and checkboxes.
    text, begin = section.text, 0
    while match := _LEADING_COMMENT.match(text, begin):
        begin = match.end()
    unfilled: list[str] = []
    position = begin
    for comment in _COMMENT.finditer(text, begin):
        unfilled += [*_checkboxes(text[position : comment.start()]), comment.group()]
        position = comment.end()
    unfilled += _checkboxes(text[position:])
    return blocks(section.heading, text[:begin], ours, "\n".join(unfilled))


def _checkboxes(text: str) -> Iterator[str]:
    """Yield the checkboxes of a text, each with the indented lines below it."""
    inside = False
    for line in text.splitlines():
        is_box = _CHECKBOX.match(line) is not None
        inside = is_box or (inside and line.startswith((" ", "\t")) and bool(line.strip()))
        if inside:
            yield line


def _sections(template: str) -> Iterable[_Section]:
    """Split the template at headings. Open fences and comments are closed, so that they do not hold our text."""
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
