#!/usr/bin/env python3
"""List conflicts that are still marked in files, as `file:first-last: ours | theirs`.

usage: conflict_markers.py [FILE_OR_FOLDER...]

A marker that has lost its partner is listed too, as `file:line: ... without ...`. Exit code 0: none, 1: there are some,
2: a path is not there. Standard library only.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence

MARKER = re.compile(rb"^(<{7}|\|{7}|={7}|>{7})(?:[ \t](.*))?$")
PASSED_OVER = {".git", "node_modules", ".venv", "venv", "__pycache__"}
MAX_BYTES = 16 * 1024 * 1024


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", default=["."], metavar="FILE_OR_FOLDER")
    options = parser.parse_args(arguments)
    found = 0
    for path in options.paths:
        if not os.path.exists(path):
            print(f"{path}: no such file or folder", file=sys.stderr)
            return 2
        for file in files(path):
            for line in conflicts(content(file)):
                found += 1
                print(f"{os.path.normpath(file)}:{line}")
    return 1 if found else 0


def files(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(set(folders) - PASSED_OVER)
        yield from (os.path.join(folder, name) for name in sorted(names))


def content(file: str) -> list[bytes]:
    """Its lines; none for what is no text, is a link or is too large to be a source."""
    if os.path.islink(file) or not os.path.isfile(file) or os.path.getsize(file) > MAX_BYTES:
        return []
    with open(file, "rb") as opened:
        data = opened.read()
    return [] if b"\0" in data[:8192] else data.splitlines()


def conflicts(lines: Iterable[bytes]) -> Iterator[str]:
    """A line of seven equal signs counts only between the other two: headings are underlined that way."""
    start, ours, middle = 0, "", False
    for number, line in enumerate(lines, 1):
        found = MARKER.match(line)
        if found is None:
            continue
        kind, name = found[1][:1], (found[2] or b"").decode(errors="replace").strip()
        if kind == b"<":
            if start:
                yield f"{start}: <<<<<<< without >>>>>>>"
            start, ours, middle = number, name, False
        elif kind == b"=":
            middle = bool(start)
        elif kind == b">":
            if start and middle:
                yield f"{start}-{number}: {ours or 'ours'} | {name or 'theirs'}"
            else:
                yield f"{number}: >>>>>>> without <<<<<<<"
            start = 0
    if start:
        yield f"{start}: <<<<<<< without >>>>>>>"


if __name__ == "__main__":
    sys.exit(main())
