"""Where a change sets up checkers, types or coverage anew in a file that many things share, with the lines.

A file that belongs to one of them alone is in `rules`. What is named is shown to a reviewer, and nothing is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bot.gate.weakened import Line

_LINES_NAMED = 5
_TOOLS_NAMED = 4
# Bytes. Such a file is written by people.
_CONTENT_LIMIT = 256 << 10
_SHARED = frozenset({"pyproject.toml", "setup.cfg", "tox.ini", "cargo.toml"})
_HEADER = re.compile(rb"\s*+\[{1,2}\s*+([^\]\n]{1,200})\]")
_TOOL = re.compile(
    rb"(?:tool[.:])?\"?(ruff|mypy|ty|pyright|basedpyright|pylint|flake8|coverage|pytest|bandit|pyre|vulture)\b"
    rb"|(?:workspace\.)?(lints)\b"
)
_KEYS = re.compile(
    rb'\s*+"(coverageThreshold|collectCoverageFrom|coveragePathIgnorePatterns|testPathIgnorePatterns|eslintConfig|eslintIgnore'
    rb'|nyc|c8|xo|check-coverage)"\s*+:'
)


def set_up(path: str, removed: Iterable[Line], added: Iterable[Line], content: bytes | None) -> str:
    """A clause that names what is set up anew; "" where nothing is. `content` is the new file."""
    name = path.rpartition("/")[2].lower()
    if content is None or len(content) > _CONTENT_LIMIT:
        return ""
    old, new = _telling(removed), _telling(added)
    if name == "package.json":
        found = _by_key(new) or _by_key(old)
        return f"sets up {', '.join(list(found)[:_TOOLS_NAMED])} anew" if found else ""
    if name not in _SHARED:
        return ""
    after = content.split(b"\n")
    told = _by_tool(old, _before(after, removed, added), " before") | _by_tool(new, after)
    return ", ".join(list(told.values())[:_TOOLS_NAMED])


def _telling(lines: Iterable[Line]) -> list[Line]:
    """Those that are neither empty nor a comment."""
    return [line for line in lines if (text := line.text.strip()) and not text.startswith((b"#", b";"))]


def _by_key(lines: Sequence[Line]) -> dict[str, None]:
    return {found[1].decode(): None for line in lines if (found := _KEYS.match(line.text))}


def _before(after: Sequence[bytes], removed: Iterable[Line], added: Iterable[Line]) -> list[bytes]:
    """The old file: the new one without what was added, and with what was taken away back in its place."""
    new = {line.number for line in added}
    kept = iter([text for number, text in enumerate(after, 1) if number not in new])
    gone = {line.number: line.text for line in removed}
    old: list[bytes] = []
    for text in kept:
        while len(old) + 1 in gone:
            old.append(gone[len(old) + 1])
        old.append(text)
    while len(old) + 1 in gone:
        old.append(gone[len(old) + 1])
    return old


def _sections(text: Sequence[bytes]) -> list[str]:
    """For each line the tool whose section it is in, or begins; "" for any other."""
    tools: list[str] = []
    tool = ""
    for line in text:
        if header := _HEADER.match(line[:300]):
            found = _TOOL.match(header[1].strip())
            tool = next(filter(None, found.groups())).decode() if found else ""
        tools.append(tool)
    return tools


def _by_tool(lines: Iterable[Line], text: Sequence[bytes], when: str = "") -> dict[str, str]:
    """A clause for each tool in whose section some of the `lines` of `text` are."""
    sections = _sections(text)
    found: dict[str, list[int]] = {}
    for line in lines:
        if line.number <= len(sections) and (tool := sections[line.number - 1]):
            found.setdefault(tool, []).append(line.number)
    return {tool: f"sets up {tool} anew ({_where(numbers)}{when})" for tool, numbers in found.items()}


def _where(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:_LINES_NAMED]))
    more = f" and {len(numbers) - _LINES_NAMED} more" if len(numbers) > _LINES_NAMED else ""
    return f"{'line' if len(numbers) == 1 else 'lines'} {shown}{more}"
