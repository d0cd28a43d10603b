"""Other people's text inside our Markdown: it may say anything, but it may not reach outside its place.

`bot/gate/text.py` decides what may leave (mentions, commands, secrets); this module decides how what may
leave is written down, so that no code fence, tag or pipe in it hides or breaks the parts around it.
"""

from __future__ import annotations

import re
from itertools import islice

from bot.gate.markdown import code_blocks

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~]|^[#+=-])")
_ESCAPED = re.compile(r"\\([\\`*_\[\]<>|~#+=-])")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_NO_PROSE = re.compile(r"\s*(?:#|[-*+] |>|\d+[.)] |\||&lt;|    )")
# Not behind a common abbreviation.
_SENTENCE = re.compile(
    r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<!\bvs\.)\s+(?![^\w\s]*/|```)(?=[A-Z`*_\"'(\[])"
)
_BIG_HEADING = re.compile(r"^( {0,3})#{1,2}(?=\s)")


def code(text: str) -> str:
    """A code span of one line that shows exactly `text`, with any backticks in it."""
    line = " ".join(text.split("\n"))
    if not line.strip():
        return "` `"
    fence = "`" * (_longest_run(line, "`") + 1)
    padding = " " if line[0] in "` " or line[-1] in "` " else ""
    return f"{fence}{padding}{line}{padding}{fence}"


def cell(markdown: str) -> str:
    """One line of Markdown as a cell of a table. Pipes end a cell even inside code spans."""
    return " ".join(markdown.split()).replace("|", "\\|")


def plain(text: str) -> str:
    """One line that renders as the characters it has."""
    # An entity would become its character: `&#64;ada` a mention, `Fixes &#35;9` a closing reference.
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()).replace("&", "&amp;"))


def unescaped(markdown: str) -> str:
    """What `plain` was given."""
    return _ESCAPED.sub(r"\1", markdown).replace("&amp;", "&")


def fenced(text: str) -> str:
    """A code block that nothing in `text` can close."""
    fence = "`" * max(3, _longest_run(text, "`") + 1)
    return f"{fence}text\n{text.rstrip()}\n{fence}"


def quoted(markdown: str) -> str:
    """A block quote."""
    return "\n".join(f"> {line}".rstrip() for line in markdown.removesuffix("\n").split("\n"))


def contained(markdown: str) -> str:
    """Markdown that ends where it ends: open fences closed, no live HTML, no heading above our own."""
    # The first line keeps its indentation, which may make it code.
    text = markdown.strip("\n").rstrip()
    lines = text.split("\n")
    parts: list[str] = []
    at, ending = 0, ""
    for block in code_blocks(text):
        parts += [_BIG_HEADING.sub(r"\1###", _without_tags(line)) for line in lines[at : block.start]]
        parts += lines[block.start : block.end]
        at = block.end
        closed = block.end - block.start > 1 and _closes(lines[block.end - 1], block.fence)
        ending = "" if closed or block.nested else block.fence
    if at >= len(lines) and ending:
        return "\n".join([*parts, ending])
    return "\n".join([*parts, *(_BIG_HEADING.sub(r"\1###", _without_tags(line)) for line in lines[at:])])


def folded(markdown: str) -> str:
    """The first two sentences, and the rest folded below them; as it is if it begins with no sentence."""
    lead = ""
    for block in markdown.split("\n\n"):
        if _FENCE.match(block.partition("\n")[0]):
            break
        if not _NO_PROSE.match(block):
            lead = _two_sentences(block)
            break
    rest = markdown.removeprefix(lead).strip()
    if not lead or not rest:
        return markdown
    return f"{lead}\n\n<details><summary>More</summary>\n\n{rest}\n\n</details>"


def shortened(text: str, limit: int, rest: str = "the rest is in the run's artifact") -> str:
    """At most `limit` characters, cut at a line's end where one is near, and saying so."""
    if len(text) <= limit:
        return text
    note = f"\n\n… ({rest})"
    cut = text[: max(limit - len(note), 0)]
    line_end = cut.rfind("\n")
    if line_end > len(cut) // 2:
        cut = cut[:line_end]
    return cut + note


def _two_sentences(paragraph: str) -> str:
    """Up to the end of the second sentence that ends outside of code, links and brackets."""
    ends = (
        end.start()
        for end in _SENTENCE.finditer(paragraph)
        if (before := paragraph[: end.start()]).count("`") % 2 == 0
        and before.count("(") == before.count(")")
        and before.count("[") == before.count("]")
        and before.count("**") % 2 == 0
    )
    return paragraph[: next(islice(ends, 1, None), len(paragraph))].strip()


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return (
        len(line) - len(line.lstrip(" ")) <= 3 and len(stripped) >= len(fence) and set(stripped) == {fence[0]}
    )


def _without_tags(line: str) -> str:
    """`<` before a tag's name becomes `&lt;`, except in code spans, where it would show as written.

    Escaped backticks and table cells make other spans than the pattern sees; such a line has none for us.
    """
    if "\\`" in line or "|" in line:
        return _TAG.sub("&lt;", line)
    parts: list[str] = []
    end = 0
    for span in _CODE_SPAN.finditer(line):
        parts += [_TAG.sub("&lt;", line[end : span.start()]), span.group()]
        end = span.end()
    return "".join([*parts, _TAG.sub("&lt;", line[end:])])


def _longest_run(text: str, character: str) -> int:
    return max((len(run) for run in re.findall(f"{re.escape(character)}+", text)), default=0)
