"""The order and the headings of the parts of a pull request's body."""

from collections.abc import Iterable, Mapping

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
    """Return the body for a repository without a template. `parts` are texts by the names of `PARTS`, some empty."""
    heads = {name: f"### {title}\n\n" if title else "" for name, title in PARTS.items()}
    return blocks(*(heads[name] + parts[name] for name in names if parts[name]))


def blocks(*texts: str) -> str:
    """Return the texts that are not blank, a blank line between them."""
    return "\n\n".join(text.strip() for text in texts if text.strip())
