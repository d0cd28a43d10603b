"""Report how a change weakens tests: assertions removed or made empty, tests removed or skipped, each with its line.

`python_tests` (syntax tree) or `other_tests` (tokens) parse the old and the new files. All files are compared
together, so that moved code is not reported. A report blocks no change; reviewers see it. The files are hostile and
the parsers are not hardened, so they run in one child process with limits of time and memory; a file that they cannot
parse is reported as such.
"""

from __future__ import annotations

import base64
import json
import re
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from bot.gate.python_tests import Part, Unreadable, parts_of_python

_KINDS = frozenset({"assertion", "test", "case", "skip", "bare"})
_LINES_NAMED = 5
_LONGEST_NOTE = 500
# Bytes of one side of a file; no written test is longer.
_CONTENT_LIMIT = 1 << 20
_SECONDS = 10
_MEMORY = 2 << 30
_DELETED = "deletes a test file"
_UNREAD = "could not be read as a program, so whether its tests prove less is not known"
_START = "import sys; sys.path[:0] = sys.argv[1:]; from bot.gate import weaker_tests; weaker_tests.main()"

_TEST_FOLDER = re.compile(r"(?:^|/)(?:tests?|specs?|__tests__)/")
_TEST_NAME = re.compile(
    r"(?:^|/)(?:test_[^/]*|tests?\.py|conftest\.py)$|[._-](?:tests?|spec)\.[^/]+$|_test\.[^/]+$|Tests?\.[a-z]+$"
)
# What runners of Python collect; other names may be set up, so those that were there before count as well.
_COLLECTED = re.compile(r"(?:^|/)(?:test[^/]*|[^/]*tests?)\.py$")
_SUFFIXES = frozenset(
    re.findall(
        r"\w+",
        "py pyi js jsx ts tsx mjs cjs mts cts vue svelte go rs java kt kts scala groovy cs rb rake c cc cpp cxx h hpp m"
        " mm php swift ex exs dart lua sh bats pl t",
    )
)


class Line(NamedTuple):
    """A line that a patch removes (`number` is of the old file) or adds (of the new one)."""

    number: int
    text: bytes


def line_list(numbers: Sequence[int]) -> str:
    """Return `line 3`, or `lines 3, 5 and 2 more`."""
    text = ", ".join(map(str, numbers[:_LINES_NAMED]))
    more = f" and {len(numbers) - _LINES_NAMED} more" if len(numbers) > _LINES_NAMED else ""
    return f"{'line' if len(numbers) == 1 else 'lines'} {text}{more}"


def may_weaken_tests(path: str) -> bool:
    """Whether a change of `path` may weaken a test. Rust keeps its tests beside what they test."""
    return _is_test(path) or path.endswith(".rs")


def weaker_tests(files: Mapping[str, tuple[bytes | None, bytes | None]]) -> dict[str, str]:
    """Return a note by path on each file whose tests were weakened. `files` has the old and new contents, `None` for
    a file that does not exist."""
    files = {path: sides for path, sides in files.items() if may_weaken_tests(path)}
    small = {
        path: [base64.b64encode(side).decode() if side is not None else None for side in sides]
        for path, sides in files.items()
        if path.rpartition(".")[2].lower() in _SUFFIXES
        and all(len(side or b"") <= _CONTENT_LIMIT for side in sides)
    }
    notes = _by_child(small) if small else {}
    for path, (_, new) in files.items():
        if path not in small and (new is None or path.rpartition(".")[2].lower() in _SUFFIXES):
            notes[path] = _DELETED if new is None else _UNREAD
    return notes


def _is_test(path: str) -> bool:
    return bool(
        _TEST_FOLDER.search(path)
        or (_TEST_NAME.search(path) and path.rpartition(".")[2].lower() in _SUFFIXES)
    )


def _by_child(files: Mapping[str, object]) -> dict[str, str]:
    folders = {
        Path(spec.origin).parents[1]
        for name in ("bot", "pygments")
        if (spec := find_spec(name)) and spec.origin
    }
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _START, *map(str, folders)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
    )
    try:
        output, _ = child.communicate(json.dumps(files).encode(), timeout=6 * _SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        output, _ = child.communicate()
    notes = dict.fromkeys(files, _UNREAD)
    if child.returncode == 0:
        notes |= json.loads(output)
    return {path: note[:_LONGEST_NOTE] for path, note in notes.items() if note}


def main() -> None:
    """The child: files as JSON on stdin, notes as JSON on stdout."""
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    files = {
        path: tuple(base64.b64decode(side) if side is not None else None for side in sides)
        for path, sides in json.load(sys.stdin).items()
    }
    json.dump(compared(files), sys.stdout)


def compared(files: Mapping[str, Sequence[bytes | None]]) -> dict[str, str]:
    """Return the notes of `weaker_tests`, parsed in this process; "" for a file without a weaker test."""
    notes: dict[str, str] = {}
    gone: dict[str, list[Part]] = {}
    came: dict[str, list[Part]] = {}
    tests: dict[str, set[str]] = {}
    for path, (old, new) in files.items():
        try:
            before = list(_parts(path, old, known=True))
            after = list(_parts(path, new, known=old is not None))
        except (Unreadable, RecursionError, MemoryError):
            notes[path] = _UNREAD
            continue
        gone[path], came[path] = _without(before, after), _without(after, before)
        tests[path] = {part.key for part in before if part.kind == "test"}.intersection(
            part.key for part in after if part.kind == "test"
        )
    for path in gone:
        elsewhere = [part for other, parts in came.items() if other != path for part in parts]
        left = _without(gone[path], elsewhere)
        taken = [part for other, parts in gone.items() if other != path for part in parts]
        whole = files[path][1] is None and (left or not gone[path]) and _is_test(path)
        notes[path] = _DELETED if whole else _note(left, _without(came[path], taken), tests[path])
    return notes


def _parts(path: str, source: bytes | None, *, known: bool) -> Sequence[Part]:
    """Parse in the child; `other_tests` is imported here, since only the child needs it."""
    from bot.gate.non_python_tests import parts_of_other

    if source is None:
        return ()
    if path.endswith((".py", ".pyi")):
        return parts_of_python(source, collected=known or bool(_COLLECTED.search(path)))
    return parts_of_other(path, source.decode(errors="replace"), inside=not _is_test(path))


def _without(parts: Iterable[Part], others: Iterable[Part]) -> list[Part]:
    """Return the `parts` without a counterpart in `others`, each of which matches one."""
    there = Counter((part.kind, part.key) for part in others)
    left = []
    for part in parts:
        if there[part.kind, part.key]:
            there[part.kind, part.key] -= 1
        else:
            left.append(part)
    return left


def _note(gone: Sequence[Part], came: Sequence[Part], tests: set[str]) -> str:
    """`tests` exist on both sides: an assertion added to one does not make up for one removed from another."""
    bare = {part.test for part in came if part.kind == "bare"}
    real = [part for part in came if part.kind != "test" or part.test not in bare]
    number, lines = 0, list[int]()
    for test in [*sorted(tests), ""]:
        lost, won = (
            [
                part
                for part in parts
                if part.kind == "assertion" and (part.test == test if test else part.test not in tests)
            ]
            for parts in (gone, came)
        )
        if (more := len(lost) - len(won)) > 0:
            number += more
            lines += [part.line for part in lost]
    clauses = [
        _clause("removes {} assertion{} ({} before)", number, lines),
        _net("removes {} test{} ({} before)", "test", gone, real),
        _net("removes {} case{} of a test ({} before)", "case", gone, came),
        _net("skips {} test{} ({})", "skip", came, gone),
        *(
            _net(f"has {{}} assertion{{}} {kind} ({{}})", kind, came, gone)
            for kind in dict.fromkeys(part.kind for part in came)
            if kind not in _KINDS
        ),
        _net("has {} test{} without an assertion ({})", "bare", came, gone),
    ]
    return ", ".join(filter(None, clauses))


def _net(words: str, kind: str, more: Sequence[Part], fewer: Sequence[Part]) -> str:
    lines = [part.line for part in more if part.kind == kind]
    return _clause(words, len(lines) - sum(part.kind == kind for part in fewer), lines)


def _clause(words: str, number: int, lines: Sequence[int]) -> str:
    if number <= 0:
        return ""
    amount = "a" if number == 1 and words.startswith("skips") else number
    return words.format(amount, "s" if number > 1 else "", line_list(sorted(set(lines))))
