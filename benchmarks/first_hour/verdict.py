"""Judge the runs of a repository, and print the table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

MODES = ("no policy", "init")
_NEAR = 0.05


class Row(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def slug(self) -> str: ...
    @property
    def language(self) -> str: ...


def verdict(expected: int | None, runs: Mapping[str, Any]) -> str:
    """`right`, `green for a broken change` (the worst), `red for a harmless change`, `another count` or
    `not verified`. `expected` is the count in the plain shell."""
    harmless, breaking = runs["harmless"], runs["breaking"]
    if "stop_reason" in breaking and not _is_red(breaking) and "not verified" not in breaking["headline"]:
        return "green for a broken change"
    if _is_red(harmless):
        return "red for a harmless change"
    if not _is_red(breaking):
        return "not verified"
    return "right" if expected and counted(expected, harmless) == (expected, expected) else "another count"


def _is_red(result: Mapping[str, Any]) -> bool:
    return result.get("stop_reason") == "checks_failing"


def counted(expected: int | None, result: Mapping[str, Any]) -> tuple[int, int]:
    """The tests before and after of the check, or of all together, that come nearest to `expected`; a count within 5 %
    is `expected`."""
    aim = expected or 0
    pairs = [
        tuple((check.get(side) or {}).get("tests") or 0 for side in ("before", "after"))
        for check in result.get("checks", ())
    ] or [(0, 0)]
    pairs.append((sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)))
    best = min(pairs, key=lambda pair: max(abs(number - aim) for number in pair))
    return tuple(aim if abs(number - aim) <= _NEAR * aim else number for number in best)  # type: ignore[return-value]


def table(rows: Iterable[Row], results: Path) -> str:
    """Markdown. Counts are before/after the harmless change; seconds are to the first tool result and from the last
    word to the result, without the checks."""
    lines = [
        "| repository | language | tests in the shell | no policy | counts | s | `init` | counts | s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        plain, run = read(results, row.slug, "plain"), read(results, row.slug, "run")
        expected = plain.get("as it is", {}).get("tests")
        cells = [cell for mode in MODES for cell in _cells(expected, run.get(mode))]
        lines.append(f"| {' | '.join([row.name, row.language, str(expected or '–'), *cells])} |")
    return "\n".join(lines)


def _cells(expected: int | None, runs: Mapping[str, Any] | None) -> list[str]:
    if runs is None:
        return ["not measured", "", ""]
    harmless = runs["harmless"]
    before, after = counted(expected, harmless)
    seconds = [str(harmless.get(key, "–")) for key in ("first_tool_result", "last_word_to_result")]
    return [verdict(expected, runs), f"{before}/{after}", " / ".join(seconds)]


def read(results: Path, slug: str, kind: str) -> dict[str, Any]:
    """What `kind` of measurement wrote of a repository; empty if it was not made."""
    file = results / f"{slug}.{kind}.json"
    data: dict[str, Any] = json.loads(file.read_text()) if file.is_file() else {}
    return data
