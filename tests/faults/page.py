"""Write the table of `docs/reliability.md` from the rows: `python -m tests.faults.page`."""

from __future__ import annotations

import re
from pathlib import Path

from tests.faults.rows import ROWS
from tests.faults.scene import Row

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
_TABLE = re.compile(r"(?<=<!-- table -->\n).*(?=<!-- end of table -->)", re.DOTALL)


def page(text: str) -> str:
    """`text` with the table as the rows have it."""
    return _TABLE.sub(lambda _: table(), text)


def table() -> str:
    causes = list(dict.fromkeys(row.cause for row in ROWS))
    lines = [f"{len(ROWS)} cases of {len(causes)} kinds of trouble.", ""]
    for cause in causes:
        rows = [row for row in ROWS if row.cause == cause]
        lines += [
            f"### {cause}",
            "",
            "| what | where | exit | where the change is |",
            "| --- | --- | --- | --- |",
        ]
        alike: dict[tuple[str, str, str], list[str]] = {}
        for row in rows:
            alike.setdefault((row.fault, _exit(row), row.work), []).append(row.point)
        lines += [
            f"| {fault} | {_joined(points)} | {exit} | {work} |"
            for (fault, exit, work), points in alike.items()
        ]
        lines.append("")
    return "\n".join(lines)


def _exit(row: Row) -> str:
    return "killed" if row.exit < 0 else str(row.exit)


def _joined(points: list[str]) -> str:
    """Points in one line; those that are of one verb name it once."""
    verbs: dict[str, list[str]] = {}
    for point in points:
        verb, _, rest = point.partition(", ")
        verbs.setdefault(verb, []).append(rest)
    return "; ".join(f"{verb}: {', '.join(rest)}" if any(rest) else verb for verb, rest in verbs.items())


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
