#!/usr/bin/env python3
"""List the commands in the fenced blocks of Markdown files, one a line, as `file:line: command`.

usage: doc_commands.py FILE_OR_FOLDER... [--missing]

Blocks of the kinds console, shell, sh, bash, zsh and text without a kind count; where a block has prompts (`$ `, `> `),
only the lines with a prompt are commands, else all but comments. With --missing: relative links and images that lead
nowhere, as `file:line: target`. Exit code 0, with --missing 1 if there is one; 2 for a path that is not there.
Standard library only.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

KINDS = {"console", "shell", "sh", "bash", "zsh", "shell-session"}
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([\w-]*)")
PROMPT = re.compile(r"^\s*(?:\$|%|>)\s+(?=\S)")
LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
ELSEWHERE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//|#|/)", re.IGNORECASE)
PASSED_OVER = {".git", "node_modules", ".venv", "venv", "vendor", "__pycache__"}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", metavar="FILE_OR_FOLDER")
    parser.add_argument(
        "--missing", action="store_true", help="links that lead nowhere, in place of commands"
    )
    options = parser.parse_args(arguments)
    absent = [path for path in options.paths if not os.path.exists(path)]
    if absent:
        print(f"{absent[0]}: no such file or folder", file=sys.stderr)
        return 2
    found = 0
    for page in pages(options.paths):
        with open(page, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        for number, text in missing(page, lines) if options.missing else commands(lines):
            found += 1
            print(f"{page}:{number}: {text}")
    return 1 if options.missing and found else 0


def pages(paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        if os.path.isfile(path):
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(set(folders) - PASSED_OVER)
            yield from (
                os.path.join(folder, name) for name in sorted(names) if name.endswith((".md", ".markdown"))
            )


def commands(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    for start, kind, block in blocks(lines):
        prompted = any(PROMPT.match(line) for line in block)
        if kind not in KINDS and not (not kind and prompted):
            continue
        yield from joined(start, block, prompted)


def blocks(lines: Sequence[str]) -> Iterator[tuple[int, str, list[str]]]:
    """Each fenced block: the number of its first line, its kind, its lines. One that never ends goes to the end."""
    fence, kind, start = "", "", 0
    inside: list[str] = []
    for number, line in enumerate(lines, 1):
        found = FENCE.match(line)
        if not fence:
            if found:
                fence, kind, start, inside = found[1], found[2].lower(), number + 1, []
        elif found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
            yield start, kind, inside
            fence = ""
        else:
            inside.append(line)
    if fence:
        yield start, kind, inside


def joined(start: int, block: Sequence[str], prompted: bool) -> Iterator[tuple[int, str]]:
    """Commands with the lines put together that a backslash at the end continues."""
    whole, first = "", 0
    for number, line in enumerate(block, start):
        text = line.strip()
        if not whole:
            if prompted and not PROMPT.match(line):
                continue
            text = PROMPT.sub("", line).strip() if prompted else text
            if not text or text.startswith("#"):
                continue
            first = number
        if text.endswith("\\"):
            whole += text[:-1].rstrip() + " "
            continue
        yield first, whole + text
        whole = ""
    if whole:
        yield first, whole.strip()


def missing(page: str, lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    in_blocks = {n for start, _, block in blocks(lines) for n in range(start, start + len(block))}
    for number, line in enumerate(lines, 1):
        if number in in_blocks:
            continue
        for target in LINK.findall(line):
            path = unquote(target.partition("#")[0].partition("?")[0])
            if ELSEWHERE.match(target) or not path:
                continue
            if not os.path.exists(os.path.join(os.path.dirname(page), path)):
                yield number, target


if __name__ == "__main__":
    sys.exit(main())
