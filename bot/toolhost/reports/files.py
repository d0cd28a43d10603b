"""Find report files by name or pattern, tell new ones from old ones, read them with limits, and stream XML."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from xml.parsers import expat

from bot.contracts.regular_files import read_regular
from bot.contracts.tools import ToolFailure
from bot.toolhost import listing

MIB = 1024 * 1024
LARGEST = 64 * MIB
MOST_BYTES = 128 * MIB
"""Bytes of all reports of one check, so that they are read within seconds."""

MOST_FILES = 2_000
_SPECIAL = "*?[{"

Stamp = list[int]
"""Inode, size, and the times of the last changes of content and inode, in nanoseconds: it changes with every write."""


class ReportError(Exception):
    """A report cannot be read. The message is a clause for people, without the file's name."""


def find(root: Path, patterns: Iterable[str]) -> dict[str, Stamp]:
    """The files, links and other entries that match `patterns`, relative to `root`, each with its stamp."""
    stamps: dict[str, Stamp] = {}
    for name in (name for pattern in patterns for name in _matching(root, pattern)):
        with suppress(OSError):
            of = os.lstat(root / name)
            if not stat.S_ISDIR(of.st_mode) and len(stamps) < MOST_FILES:
                stamps[name] = [of.st_ino, of.st_size, of.st_mtime_ns, of.st_ctime_ns]
    return stamps


def read(path: Path, folder: Path, largest: int = LARGEST) -> bytes:
    """All of a regular file beneath `folder`. Raises `ReportError` for anything else, and never waits."""
    real = os.path.realpath(path.parent)
    real_folder = os.path.realpath(folder)
    if real != real_folder and not real.startswith(real_folder.rstrip("/") + "/"):
        raise ReportError("lies behind a link that leads out of the repository")
    try:
        content = read_regular(path, largest + 1)
    except OSError as error:
        irregular = error.errno == errno.EINVAL
        raise ReportError(
            "is not a regular file" if irregular else f"cannot be read: {error.strerror}"
        ) from error
    if len(content) > largest:
        raise ReportError(f"is larger than {largest // MIB} MiB")
    return content


def _matching(root: Path, pattern: str) -> Iterator[str]:
    """The files that match, relative to `root`. `**` is through no link."""
    plain = pattern.removeprefix("./")
    if not any(sign in plain for sign in _SPECIAL):
        yield plain
        return
    try:
        for one in listing.expand_braces(plain):
            for path in root.glob(f"{one}/*" if one.endswith("**") else one):
                yield path.relative_to(root).as_posix()
    except (ToolFailure, ValueError, NotImplementedError):
        return  # a pattern that matches nothing here


_PIECE = 8 * MIB
"""Bytes fed at once. Large, since expat before 2.6 scans an incomplete token from its start with each piece."""


def parse(
    content: bytes,
    begin: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None],
    text: Callable[[str], None],
) -> None:
    """Call `begin` and `end` for each element, by its name without a namespace. Raises `ReportError`.

    What XML forbids, such as control characters in a test's output, is left out. A document type with declarations of
    its own is refused, since it may declare entities; one that only names a file is ignored, and the file is never
    fetched.
    """
    try:
        _feed(_parser(), content)
    except ReportError:
        # A document in UTF-8 without these characters, as they are or as references.
        document = _DECLARATION.sub("", content.decode("utf-8", "replace").lstrip("\ufeff"), count=1)
        content = _REFERENCE.sub(_allowed_reference, _FORBIDDEN.sub("", document)).lstrip().encode()
    parser = _parser()
    parser.StartElementHandler = lambda name, attributes: begin(name.rpartition(":")[2], attributes)
    parser.EndElementHandler = lambda name: end(name.rpartition(":")[2])
    parser.CharacterDataHandler = text
    _feed(parser, content)


def _parser() -> expat.XMLParserType:
    def doctype(name: str, system: str | None, public: str | None, has_internal_subset: int) -> None:
        if has_internal_subset:
            raise ReportError("declares a document type of its own, and such reports are not read")

    def entity(*_: object) -> None:
        raise ReportError("declares entities, and such reports are not read")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = entity
    return parser


def _feed(parser: expat.XMLParserType, content: bytes) -> None:
    try:
        view = memoryview(content)
        for start in range(0, len(view), _PIECE):
            parser.Parse(view[start : start + _PIECE], False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise ReportError(f"is no XML: {expat.ErrorString(error.code)} in line {error.lineno}") from error
    except (ValueError, LookupError, UnicodeError) as error:
        raise ReportError("is in an encoding that is not read here") from error
    except RecursionError as error:
        raise ReportError("is nested too deeply") from error


_DECLARATION = re.compile(r"\s*<\?xml\s[^>]*\?>")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9a-fA-F]+)|([0-9]+));")


def _allowed_reference(match: re.Match[str]) -> str:
    digits = match[1] or match[2]
    code = int(digits, 16 if match[1] else 10) if len(digits) < 9 else 0
    return "" if code > 0x10FFFF or _FORBIDDEN.match(chr(code)) else match[0]
