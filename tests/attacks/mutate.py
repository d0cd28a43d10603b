"""Switch each defence off in turn and see that its attack gets through: `make attacks-mutate`.

The list is the table of `tests/attacks/README.md`. A mutation changes one line of the work tree, runs the tests of
its row, and puts the file back, whatever happens. A row whose tests still pass is a survivor: a defence that nothing
proves.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = Path(__file__).with_name("README.md")
_CODE = re.compile(r"(`+)(.+?)\1")
_FAILED = 1
_LIMIT = 900.0
"""Seconds; a test that hangs without its defence has missed it."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """`old` stands in `file` once and is replaced by `new`; then at least one of `tests` must fail. `rows` are the
    numbers that it is about."""

    rows: str
    tests: tuple[str, ...]
    file: str
    old: str
    new: str


def mutations(text: str) -> Iterator[Mutation]:
    """The rows of the table: attack, tests, file, line, what it becomes."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != 5 or not cells[0].startswith("A-"):
            continue
        tests, file, old, new = (
            [code.strip().replace("\\|", "|") for _, code in _CODE.findall(cell)] for cell in cells[1:]
        )
        yield Mutation(cells[0], tuple(tests), file[0], old[0], new[0] if new else "")


def survives(mutation: Mutation) -> str:
    """Why the mutation counts as a survivor; empty where its tests fail as they must. The file is put back."""
    path = ROOT / mutation.file
    before = path.read_text()
    if before.count(mutation.old) != 1:
        return f"the line stands in {mutation.file} {before.count(mutation.old)} times"
    try:
        path.write_text(before.replace(mutation.old, mutation.new))
        code, said = _run(mutation.tests)
    finally:
        path.write_text(before)
    if code == _FAILED:
        return ""
    return (
        "its tests pass without it" if code == 0 else f"its tests could not be run (exit code {code}): {said}"
    )


def _run(tests: Sequence[str]) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    try:
        completed = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return _FAILED, "it ran out of time"
    return completed.returncode, " ".join(completed.stdout.decode(errors="replace").split()[-30:])


def play(mutations: Sequence[Mutation], about: str) -> int:
    """Try them, or those of the rows that the command line names. The exit code: 1 where one survives."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("only", nargs="*", help="rows to look at, such as A-40 or S-001 (default: all)")
    only = set(parser.parse_args().only)
    signal.signal(
        signal.SIGTERM, lambda number, frame: sys.exit(128 + number)
    )  # so that the file is put back
    rows = [row for row in mutations if not only or only & set(row.rows.split(", "))]
    changed = subprocess.run(
        ["git", "status", "--porcelain", "--", *{row.file for row in rows}],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    if changed:
        print(f"These files are changed, and would be hard to put back if this were killed:\n{changed}")
        return 2
    survivors = 0
    for number, row in enumerate(rows, 1):
        started = time.monotonic()
        why = survives(row)
        survivors += bool(why)
        verdict = f"SURVIVES: {why}" if why else "killed"
        took = time.monotonic() - started
        print(
            f"{number:3}/{len(rows)} {row.rows:8} {took:5.1f} s  {row.file}: {row.old!r}: {verdict}",
            flush=True,
        )
    print(f"{len(rows)} mutations, {survivors} survivors")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(play(list(mutations(README.read_text())), __doc__ or ""))
