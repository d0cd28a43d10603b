"""Report how a change weakens tests, as far as lines show it: test files deleted or emptied, tests removed, skipped or
without their assertions, fewer assertions.

A report blocks no change; reviewers see it. What only looks like an assertion is left to the round with the tests as
they were (`bot/evidence/base_tests.py`). All files are compared together, so that moved code is not reported.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bot.contracts.formatting import first_of
from bot.ecosystems.record import Suite
from bot.ecosystems.test_files import Role, named_as_test, role_of, suite_of

_LONGEST_NOTE = 500
# Bytes of one file and of all, and characters of a line; no written test is longer. A mebibyte takes up to 3 s.
_CONTENT_LIMIT = 512 << 10
_TOTAL_LIMIT = 4 << 20
_LINE_LIMIT = 300
_DELETED = "deletes a test file"
_EMPTIED = "removes all of a test file"
_UNREAD = "could not be read, so whether its tests prove less is not known"


class Line(NamedTuple):
    """A line that a patch removes (`number` is of the old file) or adds (of the new one)."""

    number: int
    text: bytes


def line_list(numbers: Sequence[int]) -> str:
    """Return `line 3`, or `lines 3, 5 and 2 more`."""
    return f"{'line' if len(numbers) == 1 else 'lines'} {first_of([*map(str, numbers)], 5)}"


_COMMENT = re.compile(r"^\s*(?://|/?\*).*|\s//\s.*")
_HASH_COMMENT = re.compile(r"^\s*(?:#|--).*|\s#\s.*")
_NAME = re.compile(r"(\w+)\s*\(")


class _Part(NamedTuple):
    """`kind` is `assertion`, `test` or `skip`. `test` is the test that contains it; two parts of a kind with the same
    `key` are equal."""

    kind: str
    test: str
    key: str
    line: int


def may_weaken_tests(path: str) -> bool:
    """Whether a change of `path` may weaken a test."""
    suite = suite_of(path)
    return role_of(path) in (Role.TEST, Role.DATA) or (suite is not None and suite.beside)


def weaker_tests(files: Mapping[str, tuple[bytes | None, bytes | None]]) -> dict[str, str]:
    """Return a note by path on each file whose tests were weakened. `files` has the old and new contents, `None` for
    a file that does not exist."""
    files = {path: sides for path, sides in files.items() if may_weaken_tests(path)}
    unread = set(_too_long(files))
    before, after = (
        {path: [] if path in unread else _parts(path, sides[side] or b"") for path, sides in files.items()}
        for side in (0, 1)
    )
    for path, (old, _) in files.items():
        suite = suite_of(path)
        if old is None and suite and suite.collected_by_name and not named_as_test(path):
            after[path] = []
    # What moved to another file is neither gone nor new.
    gone_anywhere = _counted(before.values()) - _counted(after.values())
    new_anywhere = _counted(after.values()) - _counted(before.values())
    notes: dict[str, str] = {}
    for path, (old, new) in files.items():
        removed = _without(before[path], after[path])
        gone = [part for part in removed if _take(gone_anywhere, part)]
        came = [part for part in _without(after[path], before[path]) if _take(new_anywhere, part)]
        if old is not None and not (new or b"").strip() and role_of(path) and (gone or not removed):
            notes[path] = _DELETED if new is None else _EMPTIED if old.strip() else ""
        elif path in unread:
            notes[path] = _UNREAD
        else:
            notes[path] = _note(gone, came, before[path], after[path])
    return {path: note[:_LONGEST_NOTE] for path, note in notes.items() if note}


def _too_long(files: Mapping[str, tuple[bytes | None, bytes | None]]) -> Iterator[str]:
    total = 0
    for path, sides in files.items():
        size = sum(len(side or b"") for side in sides) if suite_of(path) else 0
        total += size
        if size > 2 * _CONTENT_LIMIT or total > 2 * _TOTAL_LIMIT:
            yield path


def _parts(path: str, source: bytes) -> list[_Part]:
    suite = suite_of(path)
    if suite is None:
        return []
    comment = _HASH_COMMENT if suite.hash_comments else _COMMENT
    lines = [comment.sub("", line[:_LINE_LIMIT]) for line in source.decode(errors="replace").split("\n")]
    # Of a source file only what follows its first test belongs to the tests.
    return list(_read(lines, suite, inside=role_of(path) is None))


def _read(lines: Sequence[str], suite: Suite, *, inside: bool) -> Iterator[_Part]:
    test, unnamed = "", 0
    for number, line in enumerate(lines, 1):
        if not (key := "".join(line.split())):
            continue
        if match := re.search(suite.test, line):
            test = next(filter(None, match.groups()), "")
            unnamed = 0 if test else number
            if test:
                yield _Part("test", test, test, number)
        elif unnamed and line.lstrip()[:1] not in ("@", "[", "#") and (match := _NAME.search(line)):
            test = match[1]
            yield _Part("test", test, test, unnamed)
            unnamed = 0
        if inside and not test and not unnamed:
            continue
        if re.search(suite.skip, line):
            yield _Part("skip", test, f"{test} {key}", number)
        if re.search(suite.assertion, line):
            yield _Part("assertion", test, key, number)


def _counted(files: Iterable[Sequence[_Part]]) -> Counter[tuple[str, str]]:
    return Counter((part.kind, part.key) for parts in files for part in parts)


def _take(left: Counter[tuple[str, str]], part: _Part) -> bool:
    """Whether `left` has such a part; takes it from there."""
    key = (part.kind, part.key)
    left[key] -= 1
    return left[key] >= 0


def _without(parts: Sequence[_Part], others: Sequence[_Part]) -> list[_Part]:
    """Return the `parts` without a counterpart in `others`, each of which matches one."""
    there = _counted([others])
    return [part for part in parts if not _take(there, part)]


def _note(
    gone: Sequence[_Part], came: Sequence[_Part], before: Sequence[_Part], after: Sequence[_Part]
) -> str:
    remaining = {part.test for part in before if part.kind == "test"} & {part.test for part in after}
    proving = {part.test for part in after if part.kind == "assertion"}
    lost = {part.test for part in gone if part.kind == "assertion"} & remaining - proving
    bare = [part.line for part in after if part.kind == "test" and part.test in lost]
    clauses = (
        _net("removes {} assertion{} ({} before)", "assertion", gone, came),
        _net("removes {} test{} ({} before)", "test", gone, came),
        _net("skips {} test{} ({})", "skip", came, gone),
        _clause("has {} test{} without an assertion ({})", len(lost), bare),
    )
    return ", ".join(filter(None, clauses))


def _net(words: str, kind: str, more: Sequence[_Part], fewer: Sequence[_Part]) -> str:
    lines = [part.line for part in more if part.kind == kind]
    return _clause(words, len(lines) - sum(part.kind == kind for part in fewer), lines)


def _clause(words: str, number: int, lines: Sequence[int]) -> str:
    if number <= 0:
        return ""
    amount = "a" if number == 1 and words.startswith("skips") else number
    return words.format(amount, "s" if number > 1 else "", line_list(sorted(set(lines))))
