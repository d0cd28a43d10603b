"""Embed untrusted text in our Markdown, so that no code fence, tag or pipe in it breaks the text around it.

`gate/clean_text.py` decides what may leave (mentions, commands, secrets). The functions `safe_...` apply the gate and
escape; the others only escape.
"""

import re
from html import escape

from bot.gate.clean_text import break_commit_words, clean_line, clean_markdown
from bot.gate.links_and_markdown import code_blocks
from bot.gate.path_rules import protection, refusal
from bot.gate.secrets import withhold_if_secret
from bot.gate.suspicious_additions import brings_in_unseen
from bot.policy.protected_files import ProtectedFiles

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~]|^[#+=-])")
_ESCAPED = re.compile(r"\\([\\`*_\[\]<>|~#+=-])")
_NO_PROSE = re.compile(r"\s*(?:#|[-*+] |>|\d+[.)] |\||&lt;|    )")
_BIG_HEADING = re.compile(r"^( {0,3})#{1,2}(?=\s)")


def code(text: str) -> str:
    """Return a code span of one line that shows exactly `text`, with any backticks."""
    line = " ".join(text.split("\n"))
    if not line.strip():
        return "` `"
    fence = "`" * (_longest_ticks(line) + 1)
    padding = " " if line[0] in "` " or line[-1] in "` " else ""
    return f"{fence}{padding}{line}{padding}{fence}"


def cell(markdown: str) -> str:
    """Return one line of Markdown as a cell of a table. Pipes end a cell even inside code spans."""
    return " ".join(markdown.split()).replace("|", "\\|")


def plain(text: str) -> str:
    """Return one line that renders exactly as `text`."""
    # An entity would become its character: `&#64;ada` a mention, `Fixes &#35;9` a closing reference.
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()).replace("&", "&amp;"))


def unescaped(markdown: str) -> str:
    """Return the argument of `plain` from its result."""
    return _ESCAPED.sub(r"\1", markdown).replace("&amp;", "&")


def fenced(text: str) -> str:
    """Return a code block that no line of `text` can close."""
    fence = _fence_for(text)
    return f"{fence}text\n{text.rstrip()}\n{fence}"


def block(suggestion: str) -> str:
    """Return GitHub's suggestion block, which no line of the suggestion can close. An empty one removes the lines."""
    fence = _fence_for(suggestion)
    return "\n".join([f"{fence}suggestion", *([suggestion] if suggestion else []), fence])


def run_link(url: str) -> str:
    """Return the end of a line that links to the run; empty outside Actions."""
    return f" · [run]({url})" if url else ""


def quoted(markdown: str) -> str:
    """Return a block quote."""
    return "\n".join(f"> {line}".rstrip() for line in markdown.removesuffix("\n").split("\n"))


def contained(markdown: str) -> str:
    """Return self-contained Markdown from `clean_markdown`: open fences closed, headings below our own."""
    # The first line keeps its indentation, which may make it code.
    lines = markdown.strip("\n").rstrip().split("\n")
    parts: list[str] = []
    at, ending = 0, ""
    for block in code_blocks("\n".join(lines)):
        parts += [_BIG_HEADING.sub(r"\1###", line) for line in lines[at : block.start]]
        parts += lines[block.start : block.end]
        at = block.end
        closed = block.end - block.start > 1 and _closes(lines[block.end - 1], block.fence)
        ending = "" if closed or block.nested or block.end < len(lines) else block.fence
    parts += [_BIG_HEADING.sub(r"\1###", line) for line in lines[at:]]
    return "\n".join([*parts, *filter(None, [ending])])


def folded(markdown: str) -> str:
    """Return the first paragraph with the rest folded below; unchanged if the text does not begin with prose."""
    lead, _, rest = markdown.partition("\n\n")
    if not rest.strip() or _NO_PROSE.match(lead) or _FENCE.match(lead.partition("\n")[0]):
        return markdown
    return f"{lead}\n\n<details><summary>More</summary>\n\n{rest.strip()}\n\n</details>"


def shortened(text: str, limit: int) -> str:
    """Cut to at most `limit` characters, at a line's end if one is near, with a note."""
    if len(text) <= limit:
        return text
    note = "\n\n… (the rest is in the run's artifact)"
    cut = text[: max(limit - len(note), 0)]
    line_end = cut.rfind("\n")
    if line_end > len(cut) // 2:
        cut = cut[:line_end]
    return cut + note


def _closes(line: str, fence: str) -> bool:
    mark = line.strip()
    return len(line) - len(line.lstrip(" ")) <= 3 and len(mark) >= len(fence) and set(mark) == {fence[0]}


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _fence_for(text: str) -> str:
    return "`" * max(3, _longest_ticks(text) + 1)


TAIL_LIMIT = 2_500
# Characters. GitHub's limit is 65,536 for the whole comment, and one that was cut would delete the rest.
_LONGEST_SUGGESTION = 50_000


def safe_line(text: str, limit: int = 300) -> str:
    """Return one line of untrusted text, shown literally."""
    return plain(clean_line(_gated(text, limit), limit))


def safe_code(text: str, limit: int = 200) -> str:
    """Return an untrusted command or path as a code span. Words with an effect in a commit message are broken."""
    line = "".join(c if c.isprintable() else " " for c in _gated(text, limit)[: limit + 1])
    return code(break_commit_words(line if len(line) <= limit else f"{line[: limit - 1]}…"))


def safe_markdown(text: str, limit: float) -> str:
    """Return untrusted Markdown with every block closed, and without suggestions that GitHub would offer to apply."""
    most = int(limit)
    cleaned = shortened(clean_markdown(_gated(text, most), 4 * most), most)
    return contained(cleaned)


def safe_answer(text: str, limit: int, rest: str) -> str:
    """Return Markdown by a model. One over `limit` characters is cut at a line's end, and `rest` follows."""
    whole = contained(clean_markdown(_gated(text, limit), 4 * limit))
    if len(whole) <= limit:
        return whole
    cut = whole[: limit - len(rest) - 20]
    return f"{contained(cut.rpartition(chr(10))[0] or cut)}\n\n{rest}"


def safe_plain(text: str, limit: int) -> str:
    """Return untrusted text for a field that is not rendered as Markdown."""
    return clean_markdown(_gated(text, limit), limit)


def safe_html(text: str) -> str:
    """Return a command inside an HTML tag, where Markdown code spans do not work."""
    # This is no code span, so mentions and keywords would have an effect.
    return f"<code>{escape(clean_line(_gated(text, 200), 200)).replace('[', '&#91;')}</code>"


def safe_tail(text: str) -> str:
    """Return the end of a command's output for a code block, without control characters."""
    near = text[-2 * TAIL_LIMIT :]
    text = "".join(c for c in _gated(near, len(near)) if c in "\n\t" or (c.isprintable() and c != "\ufeff"))
    return break_commit_words(text if len(text) <= TAIL_LIMIT else "…" + text[-TAIL_LIMIT:])


def _gated(text: str, limit: int) -> str:
    """Return `text`, or why it is withheld. Text far beyond `limit` is cut first, since checking it takes time."""
    near = text[: 4 * limit + 1000]
    reason = withhold_if_secret(near)
    return f"({reason})" if reason else near


def suggestion_refusal(path: str, text: str, suggestion: str, protected: ProtectedFiles) -> str:
    """Return a clause why a suggestion, which one click commits, may not be posted; empty if it may."""
    if reason := refusal(path):
        return f"the path {reason}"
    if reason := protection(path, protected):
        return reason
    if withhold_if_secret(suggestion):
        return "it holds what looks like a credential"
    if brings_in_unseen(text, suggestion):
        return "it would bring in characters that do not show"
    if len(suggestion) > _LONGEST_SUGGESTION:
        return "it is longer than a comment may be"
    return ""
