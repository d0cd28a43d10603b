"""Filters for untrusted text in our Markdown. The gate decides what may leave, `markdown.py` how it is rendered;
these combine the two."""

from __future__ import annotations

from bot.gate.additions import brings_in_unseen
from bot.gate.path_rules import protection, refusal
from bot.gate.secrets import withhold_if_secret
from bot.gate.text import break_commit_words, clean_line, clean_markdown
from bot.policy.protected import ProtectedFiles
from bot.publish.text import markdown

TAIL_LIMIT = 2_500


def safe_line(text: str, limit: int = 300) -> str:
    """One line of untrusted text, shown literally."""
    return markdown.plain(clean_line(_gated(text, limit), limit))


def safe_code(text: str, limit: int = 200) -> str:
    """An untrusted command or path as a code span. In code only what a commit message acts on has an effect."""
    return markdown.code(break_commit_words(_printable(_gated(text, limit), limit)))


def safe_markdown(text: str, limit: float) -> str:
    """Untrusted Markdown with every block closed, and without blocks that GitHub would offer to apply."""
    most = int(limit)
    cleaned = markdown.shortened(clean_markdown(_gated(text, most), 4 * most), most)
    return markdown.contained(cleaned)


def safe_answer(text: str, limit: int, rest: str) -> str:
    """Markdown by a model, whole if it has at most `limit` characters; else cut at a paragraph, and `rest`, which is
    Markdown of ours, says where the rest is."""
    whole = markdown.contained(clean_markdown(_gated(text, limit), 4 * limit))
    if len(whole) <= limit:
        return whole
    cut = whole[: limit - len(rest) - 20]
    end = max(cut.rfind("\n\n"), 0) or max(cut.rfind("\n"), 0) or len(cut)
    return f"{markdown.contained(cut[:end])}\n\n{rest}"


def safe_plain(text: str, limit: int) -> str:
    """Untrusted text for a place where no Markdown is rendered."""
    near = text[: 4 * limit + 1000]
    reason = withhold_if_secret(near)
    return f"({reason})" if reason else clean_markdown(near, limit)


def safe_html(text: str) -> str:
    """A command inside a tag, where a code span is none."""
    from html import escape

    # Inside a tag and not a code span, so live to whatever looks for mentions and keywords.
    return f"<code>{escape(clean_line(_gated(text, 200), 200)).replace('[', '&#91;')}</code>"


def safe_tail(text: str) -> str:
    """The end of a command's output, for a code block: without control characters, capped."""
    near = text[-2 * TAIL_LIMIT :]
    return break_commit_words(clean_tail(_gated(near, len(near))))


def clean_tail(text: str) -> str:
    printable = "".join(c for c in text if c == "\n" or c == "\t" or (c.isprintable() and c != "\ufeff"))
    return printable if len(printable) <= TAIL_LIMIT else "…" + printable[-TAIL_LIMIT:]


def _gated(text: str, limit: int) -> str:
    """`text`, or why it is withheld. Text far beyond what will be shown is cut first, since checking it takes time."""
    near = text[: 4 * limit + 1000]
    reason = withhold_if_secret(near)
    return f"({reason})" if reason else near


def _printable(text: str, limit: int) -> str:
    line = "".join(c if c.isprintable() else " " for c in text[: limit + 1])
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def suggestion_refusal(path: str, text: str, suggestion: str, protected: ProtectedFiles) -> str:
    """Why a suggestion may not be posted, as a clause; empty if it may. One click commits it."""
    if reason := refusal(path):
        return f"the path {reason}"
    if reason := protection(path, protected):
        return reason
    if withhold_if_secret(suggestion):
        return "it holds what looks like a credential"
    if brings_in_unseen(text, suggestion):
        return "it would bring in characters that do not show"
    return ""
