#!/usr/bin/env python3
"""List the failing tests of JUnit XML reports, one a line: where, which test, the first line of its message.

usage: failing_tests.py REPORT.xml... [--limit N]

Reports as pytest, Jest, Go (gotestsum), Maven, Gradle and PHPUnit write them. Exit code 0: nothing failed, 1: something
did, 2: a report cannot be read. Standard library only.
"""

from __future__ import annotations

import argparse
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence

MAX_BYTES = 64 * 1024 * 1024


class ReportError(Exception):
    """A report that cannot be read, in words."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("reports", nargs="+", metavar="REPORT.xml")
    parser.add_argument("--limit", type=int, default=50, help="how many to list (default: 50)")
    options = parser.parse_args(arguments)
    failed: list[str] = []
    ran = 0
    for report in options.reports:
        try:
            for case in cases(report):
                ran += 1
                if (line := failure(case)) is not None:
                    failed.append(line)
        except ReportError as error:
            print(error, file=sys.stderr)
            return 2
    for line in failed[: options.limit]:
        print(line)
    if len(failed) > options.limit:
        print(f"... and {len(failed) - options.limit} more")
    print(f"{len(failed)} of {ran} tests failed")
    return 1 if failed else 0


def cases(report: str) -> Iterator[ElementTree.Element]:
    try:
        with open(report, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ReportError(f"{report}: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise ReportError(f"{report}: over {MAX_BYTES >> 20} MB")
    if b"<!ENTITY" in data:
        raise ReportError(f"{report}: it declares entities, which no test runner does")
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        raise ReportError(f"{report}: not XML: {error}") from error
    return root.iter("testcase")


def failure(case: ElementTree.Element) -> str | None:
    """`file:line name: message`, or None for a test that passed or was skipped."""
    for kind in ("failure", "error"):
        found = case.find(kind)
        if found is not None:
            return f"{place(case)}{name(case)}: {message(found) or kind}"
    return None


def place(case: ElementTree.Element) -> str:
    file, line = case.get("file"), case.get("line")
    if not file:
        return ""
    return f"{file}:{line} " if line else f"{file} "


def name(case: ElementTree.Element) -> str:
    return "::".join(part for part in (case.get("classname"), case.get("name")) if part) or "(no name)"


def message(found: ElementTree.Element) -> str:
    text = (found.get("message") or found.text or "").strip()
    return text.splitlines()[0].strip()[:200] if text else ""


if __name__ == "__main__":
    sys.exit(main())
